/** Outcome records of deliveries, kept for some days; and the end of deliveries that expired. */

import { getTableColumns } from "drizzle-orm";
import type { DeliveryRecord } from "../../src/model/notification.ts";
import { COUNTED, freed } from "../storage.ts";
import { p, sql } from "../store/sql.ts";
import { insertWhere, type Query, qb, rowsOf, select, statement } from "../store/statement.ts";
import { IN_BACKGROUND, type Store } from "../store/store.ts";
import { deliveries, deliveryRecords } from "./schema.ts";

const at = <Name extends string>(name: Name) => p(name, deliveries.due_at);
const now = at("now");

export const RECORD_COLUMNS = sql`delivery_id, account_id, recipient_id, key_id, kind, about, lane, outcome, reason, attempts, created_at, tried_at, done_at`;

/** Adds the record of a delivery, unless its account is gone. */
export const addRecord = statement(
  insertWhere(deliveryRecords, sql`exists (select 1 from accounts where id = ${p("account_id")})`),
  { counts: COUNTED.delivery_records },
);

/** Expired deliveries that no worker has leased, or whose lease is over too. */
const someExpired = sql`seq in (select seq from deliveries where expires_at <= ${now} and (lease is null or due_at <= ${now}) order by expires_at limit ${p("limit")})`;

/** Adds a record of each; an `end` takes its registration along. */
const expire = [
  statement(
    sql`insert into delivery_records (${RECORD_COLUMNS}) select delivery_id, account_id, recipient_id, key_id,
      case when kind = 'silent' and parts <> '[]' then 'clear' else kind end, case when kind in ('silent', 'widget') then '' else coalesce(question_id, task_id) end,
      lane, 'expired', null, attempts, created_at, tried_at, ${now} from deliveries where ${someExpired} and exists (select 1 from accounts where id = account_id)
    returning ifnull(key_id, account_id), account_id, ${sql.raw(COUNTED.delivery_records.row)}`,
    { frees: true },
  ),
  statement(
    sql`delete from live_activities where ended_at is not null and (push_token, account_id) in (select address, account_id from deliveries where kind = 'end' and ${someExpired})`,
  ),
  statement(sql`delete from deliveries where ${someExpired}`),
];

/** Drops at most `limit` deliveries that are expired at `now` (epoch seconds). Returns their number. */
export async function expireDeliveries(store: Store, now: number, limit: number): Promise<number> {
  const results = await store.write(
    expire.map((step) => step({ now, limit })),
    IN_BACKGROUND,
  );
  return results.at(-1)!.changes;
}

const prune = statement(
  sql`delete from delivery_records where seq in (select seq from delivery_records where done_at < ${at("before")} order by done_at limit ${p("limit")})
    ${freed("delivery_records", sql`ifnull(key_id, account_id)`)}`,
  { frees: true },
);

/** Deletes at most `limit` records that are older than `before` (epoch seconds). Returns their number. */
export async function pruneDeliveryRecords(store: Store, before: number, limit: number) {
  const [result] = await store.write([prune({ before, limit })], IN_BACKGROUND);
  return result!.rows.length;
}

const {
  seq: _seq,
  account_id: _account,
  key_id: _key,
  about: _about,
  ...shown
} = getTableColumns(deliveryRecords);

/** The newest records. */
export const newestRecords = select(
  qb.select(shown).from(deliveryRecords) as Query<DeliveryRecord>,
  sql`order by seq desc limit ${p("limit")}`,
);

/**
 * By lane, of the oldest 10,000 deliveries, the one that waits since the newest attempt that failed: when this attempt ended,
 * and the last error of its channel, which is null for a device.
 */
export const refusedDeliveries = statement(
  sql`select lane, max(tried_at), (select error_code from channels where id = recipient_id)
    from (select lane, attempts, lease, tried_at, recipient_id from deliveries order by seq limit 10000)
    where attempts > 0 and lease is null group by lane`,
  { returns: rowsOf<[lane: string, tried_ms: number, code: string | null]>() },
);

/** By lane, how many of the oldest 10,000 deliveries wait, since when the oldest one does, and when the first is due. */
export const queuedDeliveries = statement(
  // Bounded: while nothing can be sent, there may be very many.
  sql`select lane, count(*), min(created_at), min(due_at)
    from (select lane, created_at, due_at from deliveries order by seq limit 10000)
    group by lane order by lane`,
  { returns: rowsOf<[lane: string, rows: number, oldest_ms: number, due_ms: number]>() },
);
