/**
 * How far each question got (docs/interface.md §2.11). Triggers write the rows of devices and channels
 * (migration 0024); this file has what else is written to them, and the reads.
 */

import { LIMITS } from "../../src/limits.ts";
import type { DeliveryStatus, Furthest } from "../../src/model/delivery.ts";
import { labelOfDevice, laneOf, mayChangeDevice } from "../devices.ts";
import { ofLiveKey } from "../keys.ts";
import { p, type Sql, sql } from "../sql.ts";
import { qb, rowOf, rowsOf, select, statement } from "../statement.ts";
import { PAGE, questionDeliveries } from "./schema.ts";

const text = (value: string) => sql.raw(`'${value}'`);
const most = sql.raw(LIMITS.deliveries_per_question);

/** An id as src/ids.ts makes them: its prefix and a UUIDv7 of the time `ms`. */
const newId = <P>(ms: Sql<P>) =>
  sql`'dlv_' || printf('%012x7', ${ms}) || substr(lower(hex(randomblob(10))), 2)`;

const COLUMNS = sql`question_id, target_id, id, lane, label, status, queued_at, sent_at, shown_at, opened_at`;
const PAGE_LABEL = "Open page";

/** The deliveries of a question, the first planned first; the caller has checked that the question exists. */
export const deliveriesOfQuestion = select(
  qb
    .select({
      id: questionDeliveries.id,
      lane: questionDeliveries.lane,
      target_id: questionDeliveries.target_id,
      label: questionDeliveries.label,
      status: questionDeliveries.status,
      reason: questionDeliveries.reason,
      queued_at: questionDeliveries.queued_at,
      sent_at: questionDeliveries.sent_at,
      shown_at: questionDeliveries.shown_at,
      opened_at: questionDeliveries.opened_at,
    })
    .from(questionDeliveries),
  sql`where question_id = ${p("question_id")} order by queued_at, target_id limit ${most}`,
);

export interface DeliveryRow {
  readonly id: string;
  readonly lane: string;
  readonly target_id: string;
  readonly label: string;
  readonly status: DeliveryStatus;
  readonly reason: string | null;
  readonly queued_at: number;
  readonly sent_at: number | null;
  readonly shown_at: number | null;
  readonly opened_at: number | null;
}

const of_question = sql`from question_deliveries where question_id = ${p("question_id")}`;
/** A row `c` of `channels` works, and gets questions. */
const ok = sql`c.state = 'ok' and exists (select 1 from json_each(c.sends) where value = 'questions')`;
const has_target = sql`exists (select 1 from push_targets t left join channels c on c.id = t.recipient_id
  where t.account_id = ${p("account_id")} and t.purpose = 'alert'
    and t.lane in (select value from json_each(${p("lanes")})) and (c.id is null or (${ok})))`;
const has_webhook = sql`exists (select 1 from channels c where c.account_id = ${p("account_id")}
  and c.type = 'webhook' and c.confirmed_at is not null and ${ok})`;
const has_page = sql`exists (select 1 from open_pages o join page_processes r on r.id = o.process_id
  where o.account_id = ${p("account_id")} and r.until > ${p("store_now", questionDeliveries.queued_at)})`;
const answers = sql`(select json_group_array(seconds) from (select (answered_at - created_at) / 1000.0 as seconds from questions
  where key_id = ${p("key_id")} and status = 'answered' order by created_at desc limit ${sql.raw(LIMITS.typical_answers)}))`;

/**
 * What the reach of a question of `key_id` follows from, as one row: when it was first sent, shown and
 * opened, whether a target in `lanes` (JSON list), a webhook or a page could be reached at `store_now` (seconds by
 * the store's clock), and the seconds (JSON list) of the key's last answers.
 */
export const reachFacts = statement(
  sql`select min(sent_at), min(shown_at), min(opened_at), ${has_target} or ${has_webhook} or ${has_page}, ${answers} ${of_question}`,
  {
    gives:
      rowOf<
        [
          sent_ms: number | null,
          shown_ms: number | null,
          opened_ms: number | null,
          reachable: 0 | 1,
          answers: string,
        ]
      >(),
  },
);

/** What became of a question that waited for a channel; `sent_ms`: null unless it was accepted. */
export const settleQuestion = statement(
  sql`update question_deliveries set status = ${p("status")}, reason = ${p("reason")}, sent_at = ${p("sent_ms")}
    where question_id = ${p("question_id")} and target_id = ${p("target_id")} and status = 'queued'`,
);

/** Questions of open pages: `rows` is a JSON list of ids and milliseconds. The first time counts. */
export const pagesWrote = statement(
  sql`insert into question_deliveries (${COLUMNS})
    select q.id, ${text(PAGE)}, ${newId(sql`(r.value ->> 1)`)}, ${text(PAGE)}, ${text(PAGE_LABEL)}, 'sent', r.value ->> 1, r.value ->> 1, null, null
    from json_each(${p("rows")}) r join questions q on q.id = r.value ->> 0 where true on conflict do nothing`,
  { synced: false },
);

/** How many of the newest `limit` deliveries got how far, by lane: ids sort by their time. */
export const furthestByLane = statement(
  sql`select lane, furthest, count(*) from (
      select lane, case when opened_at is not null then 'opened' when shown_at is not null then 'shown' else status end as furthest
      from question_deliveries order by question_id desc limit ${p("limit")})
    group by lane, furthest`,
  { gives: rowsOf<[lane: string, furthest: Furthest, deliveries: number]>() },
);

const own = sql`q.id = ${p("question_id")} and q.account_id = ${p("account_id")}
  and exists (select 1 from keys where keys.id = q.key_id and keys.deleted_at is null)`;

/** True in SQL for a page or a ticket (`device_id`: null), and for a device that the caller may change. */
const mayReceive = sql`(${p("device_id")} is null or ${mayChangeDevice})`;

/**
 * Takes a receipt for a target of the question, if it is the first of its kind: one of `shown_ms` and
 * `opened_ms` is the time, the other null.
 */
export const takeReceipt = statement(
  sql`update question_deliveries set shown_at = coalesce(shown_at, ${p("shown_ms")}), opened_at = coalesce(opened_at, ${p("opened_ms")})
    where question_id = ${p("question_id")} and target_id = ${p("target_id")}
      and ((shown_at is null and ${p("shown_ms")} is not null) or (opened_at is null and ${p("opened_ms")} is not null))
      and exists (select 1 from questions q where ${own}) and ${mayReceive}`,
);

const room = sql`(select count(*) ${of_question}) < ${most}`;
const RECEIVED = sql`'sent', ${p("now_ms")}, ${p("now_ms")}, ${p("shown_ms")}, ${p("opened_ms")}`;

/** The same for a page of which nothing is known yet. */
export const takePageReceipt = statement(
  sql`insert into question_deliveries (${COLUMNS})
    select q.id, ${text(PAGE)}, ${newId(p("now_ms"))}, ${text(PAGE)}, ${text(PAGE_LABEL)}, ${RECEIVED}
    from questions q where ${own} and ${room} on conflict do nothing`,
);

/** The same for a device that was registered after the question was asked. */
export const takeDeviceReceipt = statement(
  sql`insert into question_deliveries (${COLUMNS})
    select q.id, v.id, ${newId(p("now_ms"))}, ${laneOf(sql`v`)}, ${labelOfDevice(sql`v`)}, ${RECEIVED}
    from questions q join devices v on v.account_id = q.account_id and v.id = ${p("target_id")}
    where ${own} and ${room} and ${mayReceive} on conflict do nothing`,
);

/**
 * Rows for a question of the account and for a device that it has or had a delivery to, and whether the caller may
 * report for that.
 */
export const receiptGrounds = statement(
  sql`select exists (select 1 from questions where id = ${p("question_id")} and account_id = ${p("account_id")} and ${ofLiveKey("questions")}),
    exists (select 1 from devices where account_id = ${p("account_id")} and id = ${p("target_id")})
      or exists (select 1 ${of_question} and target_id = ${p("target_id")}),
    ${mayReceive}`,
  { gives: rowOf<[question: 0 | 1, target: 0 | 1, may_receive: 0 | 1]>() },
);
