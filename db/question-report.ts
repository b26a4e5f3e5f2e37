/** The facts about how one question was delivered, for the administrator: ids, states and times, no content (§4.3.3). */

import { LIMITS } from "../src/limits.ts";
import { pageProcesses, questionDeliveries } from "./notify/schema.ts";
import { takesQuestions } from "./nudges.ts";
import { p, sql } from "./store/sql.ts";
import { rowOf, rowsOf, statement } from "./store/statement.ts";

/** Outcome records that one report has, at most. */
const RECORDS = 200;
/** Items of the agent that are searched for the answer: a few milliseconds. */
const ITEMS = 10_000;

type Ms = number | null;
type Text = string | null;

/** True in SQL if the account has a target in `lanes` (JSON list) that can ring for the question `q`. */
const canRing = sql`exists (select 1 from delivery_targets d left join channels c on c.id = d.recipient_id
  where d.account_id = q.account_id and d.purpose = 'alert' and d.lane in (select value from json_each(${p("lanes")})) and ${takesQuestions})`;

/** The question with its account and key, and when it rings again if it will; no row if there is none. */
export const reportedQuestion = statement(
  sql`select q.account_id, q.key_id, q.task_id, q.status, q.created_at, q.expires_at, q.answered_at, q.cancelled_at,
      case when (q.remind_at is not null or a.nudges) and ${canRing} then q.nudge_at end, q.remind_at, q.action is not null, q.answering_channel, c.type, q.answering_session, q.answered_by_api = 1,
      a.blocked_at, a.id is null or a.deleted_at is not null, k.id is null or k.deleted_at is not null
    from questions q left join accounts a on a.id = q.account_id left join keys k on k.id = q.key_id
      left join channels c on c.id = q.answering_channel
    where q.id = ${p("question_id")}`,
  {
    returns:
      rowOf<
        [
          account_id: string,
          key_id: string,
          task_id: Text,
          status: string,
          created_ms: number,
          expires_ms: number,
          answered_ms: Ms,
          cancelled_ms: Ms,
          rings_ms: Ms,
          remind_ms: Ms,
          asks_permission: 0 | 1,
          answered_by: Text,
          answered_by_type: Text,
          answered_from: Text,
          by_api: 0 | 1 | null,
          blocked_ms: Ms,
          account_is_gone: 0 | 1,
          key_is_gone: 0 | 1,
        ]
      >(),
  },
);

/**
 * Its targets: how far it got there, the state of the channel, the code of its last failure (`trouble`) if nothing was
 * accepted since, and what still waits in either queue. `is_tried`: an attempt is under way, until `due_ms` at most.
 */
export const reportedTargets = statement(
  sql`select d.target_id, d.lane, d.status, d.reason, d.queued_at, d.sent_at, d.shown_at, d.opened_at, d.failed_attempts,
      c.state, case when c.failures > 0 then c.error_code end, c.type = 'webhook' and c.confirmed_at is null,
      coalesce(q.due_at, max(m.due_at, coalesce(c.held_until, 0))), coalesce(q.lease, m.lease) is not null
    from question_deliveries d left join channels c on c.id = d.target_id
      left join deliveries q on q.account_id = ${p("account_id")} and q.recipient_id = d.target_id and q.kind = 'question' and q.subject = d.question_id
      left join webhook_messages m on m.channel_id = d.target_id and m.subject = d.question_id and m.type = 'question.created'
    where d.question_id = ${p("question_id")} limit ${sql.raw(LIMITS.deliveries_per_question)}`,
  {
    returns:
      rowsOf<
        [
          id: string,
          lane: string,
          status: string,
          reason: Text,
          queued_ms: number,
          sent_ms: Ms,
          shown_ms: Ms,
          opened_ms: Ms,
          failed_attempts: Text,
          state: Text,
          trouble: Text,
          unconfirmed: 0 | 1 | null,
          due_ms: Ms,
          is_tried: 0 | 1,
        ]
      >(),
  },
);

/** How its notifications ended, with those that rang again, as far as records are kept. */
export const reportedOutcomes = statement(
  sql`select r.recipient_id, r.outcome, r.reason, r.done_at
    from question_deliveries d cross join delivery_records r on r.account_id = ${p("account_id")} and r.recipient_id = d.target_id
      and r.kind = 'question' and r.about = d.question_id
    where d.question_id = ${p("question_id")} limit ${sql.raw(RECORDS)}`,
  {
    returns: rowsOf<[target_id: string, outcome: string, reason: Text, done_ms: number]>(),
  },
);

/** The channels that the account has now, and the lane that each is sent by; null for a webhook, or without a target. */
export const reportedChannels = statement(
  sql`select c.id, c.type, c.state, c.error_code, c.created_at, t.lane
    from channels c left join delivery_targets t on t.account_id = c.account_id and t.purpose = 'alert' and t.recipient_id = c.id and t.subject = ''
    where c.account_id = ${p("account_id")} and c.key_id is null order by c.created_at, c.id limit ${sql.raw(LIMITS.channels_per_account)}`,
  {
    returns:
      rowsOf<
        [id: string, type: string, state: string, error_code: Text, created_ms: number, lane: Text]
      >(),
  },
);

/** The lanes of the devices that take notifications (JSON list), and 1 if a page of the account is open at `now`. */
export const reportedDevices = statement(
  sql`select (select json_group_array(t.lane) from delivery_targets t where t.account_id = ${p("account_id")} and t.purpose = 'alert'
      and not exists (select 1 from channels c where c.id = t.recipient_id)),
    exists (select 1 from open_pages o join page_processes r on r.id = o.process_id
      where o.account_id = ${p("account_id")} and r.until > ${p("now", pageProcesses.until)})`,
  { returns: rowOf<[lanes: string, page: 0 | 1]>() },
);

/** The item with its answer among the newest in the inbox of the agent; no row if there is none. */
export const reportedItem = statement(
  sql`select received_at, read_at from (select question_id, type, received_at, read_at from items
      where key_id = ${p("key_id")} order by seq desc limit ${sql.raw(ITEMS)})
    where question_id = ${p("question_id")} and type = 'question.answered' limit 1`,
  { returns: rowOf<[received_ms: Ms, read_ms: Ms]>() },
);

/** Failed attempts that are kept of one delivery: the first and the newest ones. */
const ATTEMPTS = 10;
const kept = sql`coalesce(failed_attempts, '[]')`;

/** Notes a failed attempt to deliver a question. Beyond {@link ATTEMPTS}, the second one makes room. `at`: epoch seconds. */
export const noteFailedAttempt = statement(
  sql`update question_deliveries set failed_attempts = json_insert(
      case when json_array_length(${kept}) >= ${sql.raw(ATTEMPTS)} then json_remove(${kept}, '$[1]') else ${kept} end,
      '$[#]', json_array(${p("at", questionDeliveries.queued_at)}, ${p("reason")}))
    where question_id = ${p("question_id")} and target_id = ${p("target_id")}`,
);
