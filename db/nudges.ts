/** Statements that ring a question again: once before it expires, or when the person wants to be reminded (§5.7.10). */

import { NOTIFICATION_LIMITS } from "../src/notification-limits.ts";
import { ofLiveKey } from "./keys.ts";
import { MERGED } from "./notify/merge.ts";
import { DELIVERY_COLUMNS } from "./notify/plan.ts";
import { stillPending } from "./questions.ts";
import { questions } from "./schema.ts";
import { p, sql } from "./store/sql.ts";
import { rowsOf, statement, updateSet } from "./store/statement.ts";

/** Questions that have been due for longest, from which a step takes some of each account. */
const WINDOW = 1_000;

const now = p("now", questions.nudge_at);
const due = sql`status = 'pending' and nudge_at is not null and nudge_at <= ${now} and ${ofLiveKey("questions")}`;

/** The questions that are due to ring again at `now`: accounts in turn, one question at a time, at most `limit`. */
export const dueNudges = statement(
  sql`select id from (
      select id, nudge_at, row_number() over (partition by account_id order by nudge_at) as place from (
        select id, account_id, nudge_at from questions where ${due} order by nudge_at limit ${sql.raw(WINDOW)}))
    order by place, nudge_at limit ${p("limit")}`,
  { returns: rowsOf<[id: string]>() },
);

/** Gives the questions `ids` (JSON list) that are still due the new `revision`. Of two processes, one gets each. */
export const claimNudges = statement(
  sql`update questions set nudge_at = null, revision = ${p("revision")}
    where id in (select value from json_each(${p("ids")})) and ${due}`,
);

/** True in SQL for a target `d` that gets questions, as far as its channel `c` says. */
export const takesQuestions = sql`(c.id is null or (c.state <> 'gone' and exists (select 1 from json_each(c.sends) where value = 'questions')))`;

/**
 * Plans the ring of the questions `ids` that {@link claimNudges} gave the `revision`. A reminder goes to all targets in
 * `lanes` (JSON list). A nudge needs enough time left and the account's setting, and goes to the targets on which the
 * question was not shown, or to all if there are none.
 */
export const planNudges = statement(
  sql`with t as materialized (
      select q.id, q.account_id, q.key_id, q.expires_at, q.remind_at is not null as is_reminder, d.recipient_id, d.lane,
        s.shown_at is not null as was_shown
      from json_each(${p("ids")}) e join questions q on q.id = e.value and q.revision = ${p("revision")}
        join accounts a on a.id = q.account_id and a.deleted_at is null
        join delivery_targets d on d.account_id = q.account_id and d.purpose = 'alert'
        left join channels c on c.id = d.recipient_id
        left join question_deliveries s on s.question_id = q.id and s.target_id = d.recipient_id
      where d.lane in (select value from json_each(${p("lanes")})) and ${takesQuestions} and q.expires_at > ${now}
        and (q.remind_at is not null or (a.nudges and q.expires_at >= ${now} + ${sql.raw(NOTIFICATION_LIMITS.nudge_left * 1000)})))
    insert into deliveries (${DELIVERY_COLUMNS})
    select account_id, recipient_id, 'question', id, key_id, null, id, lane, null,
      case when is_reminder then '["reminder"]' else '["nudge"]' end, 0, ${now}, expires_at, ${now}
    from t where is_reminder or not was_shown or not exists (select 1 from t o where o.id = t.id and not o.was_shown)
    ${MERGED}`,
);

/** Lets a pending question ring at `remind_at`, in place of any other time, if its reminder is still `before`. */
export const remindOfQuestion = statement(
  updateSet(
    questions,
    ["remind_at", "nudge_at", "revision"],
    sql`${stillPending} and expires_at > ${p("now", questions.expires_at)} and remind_at is ${p("before", questions.remind_at)}`,
  ),
);
