/**
 * How far each question got (§2.11). Triggers write the rows of devices and channels (docs/triggers.md);
 * this file has all other writes, and the reads.
 */

import { getTableColumns } from "drizzle-orm";
import { LIMITS } from "../../src/limits.ts";
import type { Furthest } from "../../src/model/delivery.ts";
import { labelOfDevice, laneOf, mayChangeDevice } from "../devices.ts";
import { ofLiveKey } from "../keys.ts";
import { p, type Sql, sql } from "../store/sql.ts";
import { qb, rowOf, rowsOf, select, statement } from "../store/statement.ts";
import { PAGE, questionDeliveries } from "./schema.ts";

const text = (value: string) => sql.raw(`'${value}'`);
const most = sql.raw(LIMITS.deliveries_per_question);

/** An id like those of src/ids.ts: the prefix and a UUIDv7 of the time `ms`. */
const newId = <P>(ms: Sql<P>) =>
  sql`'dlv_' || printf('%012x7', ${ms}) || substr(lower(hex(randomblob(10))), 2)`;

const COLUMNS = sql`question_id, target_id, id, lane, label, status, queued_at, sent_at, shown_at, opened_at`;
const PAGE_LABEL = "Open page";

const { question_id: _, failed_attempts: __, ...columns } = getTableColumns(questionDeliveries);
const rows = qb.select(columns).from(questionDeliveries);
export type DeliveryRow = Awaited<ReturnType<typeof rows.execute>>[number];

/** The deliveries of a question, the first planned first. */
export const deliveriesOfQuestion = select(
  rows,
  sql`where question_id = ${p("question_id")} order by queued_at, target_id limit ${most}`,
);

type Ms = number | null;
const of_question = sql`from question_deliveries where question_id = ${p("question_id")}`;
/** True if the channel `c` works and gets questions. */
const ok = sql`c.state = 'ok' and exists (select 1 from json_each(c.sends) where value = 'questions')`;
const has_target = sql`exists (select 1 from delivery_targets t left join channels c on c.id = t.recipient_id
  where t.account_id = ${p("account_id")} and t.purpose = 'alert'
    and t.lane in (select value from json_each(${p("lanes")})) and (c.id is null or (${ok})))`;
const has_webhook = sql`exists (select 1 from channels c where c.account_id = ${p("account_id")}
  and c.type = 'webhook' and c.confirmed_at is not null and ${ok})`;
const has_page = sql`exists (select 1 from open_pages o join page_processes r on r.id = o.process_id
  where o.account_id = ${p("account_id")} and r.until > ${p("store_now", questionDeliveries.queued_at)})`;
const answers = sql`(select json_group_array(seconds) from (select (answered_at - created_at) / 1000.0 as seconds from questions
  where key_id = ${p("key_id")} and status = 'answered' order by created_at desc limit ${sql.raw(LIMITS.typical_answers)}))`;

/**
 * The facts behind the reach of a question of `key_id`, as one row: when it was first sent, shown and opened;
 * whether a target in `lanes` (JSON list), a webhook or a page could be reached at `store_now` (seconds by the
 * store's clock); and how many seconds the key's last answers took (JSON list).
 */
export const reachFacts = statement(
  sql`select min(sent_at), min(shown_at), min(opened_at), ${has_target} or ${has_webhook} or ${has_page}, ${answers} ${of_question}`,
  { returns: rowOf<[sent: Ms, shown: Ms, opened: Ms, reachable: 0 | 1, answers: string]>() },
);

/** Settles the delivery of a question that is queued for a channel. `sent_ms`: null unless it was accepted. */
export const settleQuestion = statement(
  sql`update question_deliveries set status = ${p("status")}, reason = ${p("reason")}, sent_at = ${p("sent_ms")}
    where question_id = ${p("question_id")} and target_id = ${p("target_id")} and status = 'queued'`,
);

/**
 * Records that open pages got new questions. `rows`: a JSON list of pairs of a question's id and a time in
 * milliseconds. Only the first time of a question counts.
 */
export const recordPageDeliveries = statement(
  sql`insert into question_deliveries (${COLUMNS})
    select q.id, ${text(PAGE)}, ${newId(sql`(r.value ->> 1)`)}, ${text(PAGE)}, ${text(PAGE_LABEL)}, 'sent', r.value ->> 1, r.value ->> 1, null, null
    from json_each(${p("rows")}) r join questions q on q.id = r.value ->> 0 where true on conflict do nothing`,
  { synced: false },
);

/** Counts, by lane, how far the newest `limit` deliveries got. Ids sort by their time. */
export const furthestByLane = statement(
  sql`select lane, furthest, count(*) from (
      select lane, case when opened_at is not null then 'opened' when shown_at is not null then 'shown' else status end as furthest
      from question_deliveries order by question_id desc limit ${p("limit")})
    group by lane, furthest`,
  { returns: rowsOf<[lane: string, furthest: Furthest, deliveries: number]>() },
);

const own = sql`q.id = ${p("question_id")} and q.account_id = ${p("account_id")}
  and exists (select 1 from keys where keys.id = q.key_id and keys.deleted_at is null)`;

/** True in SQL for a page or a ticket (`device_id` is null), and for a device that the caller may change. */
const mayReceive = sql`(${p("device_id")} is null or ${mayChangeDevice})`;

/**
 * Records a receipt for a target of the question, if it is the first of its kind. One of `shown_ms` and `opened_ms` is
 * the time; the other is null.
 */
export const recordReceipt = statement(
  sql`update question_deliveries set shown_at = coalesce(shown_at, ${p("shown_ms")}), opened_at = coalesce(opened_at, ${p("opened_ms")})
    where question_id = ${p("question_id")} and target_id = ${p("target_id")}
      and ((shown_at is null and ${p("shown_ms")} is not null) or (opened_at is null and ${p("opened_ms")} is not null))
      and exists (select 1 from questions q where ${own}) and ${mayReceive}`,
);

const room = sql`(select count(*) ${of_question}) < ${most}`;
const RECEIVED = sql`'sent', ${p("now_ms")}, ${p("now_ms")}, ${p("shown_ms")}, ${p("opened_ms")}`;

/** Records the receipt of a page that has no row yet; parameters as for {@link recordReceipt}. */
export const recordPageReceipt = statement(
  sql`insert into question_deliveries (${COLUMNS})
    select q.id, ${text(PAGE)}, ${newId(p("now_ms"))}, ${text(PAGE)}, ${text(PAGE_LABEL)}, ${RECEIVED}
    from questions q where ${own} and ${room} on conflict do nothing`,
);

/** Records the receipt of a device that was registered after the question; parameters as for {@link recordReceipt}. */
export const recordDeviceReceipt = statement(
  sql`insert into question_deliveries (${COLUMNS})
    select q.id, v.id, ${newId(p("now_ms"))}, ${laneOf(sql`v`)}, ${labelOfDevice(sql`v`)}, ${RECEIVED}
    from questions q join devices v on v.account_id = q.account_id and v.id = ${p("target_id")}
    where ${own} and ${room} and ${mayReceive} on conflict do nothing`,
);

/**
 * What a receipt depends on, as one row of 0 or 1: the account has the question; it has the target, now or by a
 * delivery; and the caller may report for it.
 */
export const receiptFacts = statement(
  sql`select exists (select 1 from questions where id = ${p("question_id")} and account_id = ${p("account_id")} and ${ofLiveKey("questions")}),
    exists (select 1 from devices where account_id = ${p("account_id")} and id = ${p("target_id")})
      or exists (select 1 ${of_question} and target_id = ${p("target_id")}),
    ${mayReceive}`,
  { returns: rowOf<[question: 0 | 1, target: 0 | 1, may_receive: 0 | 1]>() },
);
