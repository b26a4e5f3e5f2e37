/** What became of each push, kept some days; and the end of those that nobody could send. */

import { desc, sql } from "drizzle-orm";
import type { PushRecord } from "../../src/model/push.ts";
import { push_records, pushes } from "../schema.ts";
import { qb, select, statement } from "../statement.ts";
import type { Store } from "../store.ts";

const p = sql.placeholder;
const at = (name: string) => sql.param(p(name), pushes.due_at);
const now = at("now");

const RECORD = sql`apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at`;

/** Keeps what became of a push, unless its account is gone. All columns are placeholders. */
export const addRecord = statement(
  sql`insert into push_records (${RECORD}) select ${p("apns_id")}, ${p("account_id")}, ${p("device_id")}, ${p("key_id")}, ${p("kind")}, ${p("about")},
    ${p("environment")}, ${p("outcome")}, ${p("reason")}, ${p("attempts")}, ${at("created_at")}, ${at("tried_at")}, ${at("done_at")}
    where exists (select 1 from accounts where id = ${p("account_id")})`,
);

/** Nobody sends them, now or any more. */
const someExpired = sql`seq in (select seq from pushes where expires_at <= ${now} and (lease is null or due_at <= ${now}) order by expires_at limit ${p("limit")})`;

/** With a record of each; an `end` takes its registration along. */
const expire = [
  statement(
    sql`insert into push_records (${RECORD}) select apns_id, account_id, device_id, key_id,
      case when kind = 'silent' and parts <> '[]' then 'clear' else kind end, case when kind in ('silent', 'widget') then '' else coalesce(question_id, task_id) end,
      environment, 'expired', null, attempts, created_at, tried_at, ${now} from pushes where ${someExpired} and exists (select 1 from accounts where id = account_id)`,
  ),
  statement(
    sql`delete from live_activities where ended_at is not null and (push_token, account_id) in (select token, account_id from pushes where kind = 'end' and ${someExpired})`,
  ),
  statement(sql`delete from pushes where ${someExpired}`),
];

/** Drops up to `limit` pushes that are expired at `now` (epoch seconds); gives their number. */
export async function expirePushes(store: Store, now: number, limit: number): Promise<number> {
  const results = await store.write(expire.map((step) => step({ now, limit })));
  return results.at(-1)!.changes;
}

const prune = statement(
  sql`delete from push_records where seq in (select seq from push_records where done_at < ${at("before")} order by done_at limit ${p("limit")})`,
);

/** Deletes up to `limit` records from before `before` (epoch seconds); gives their number. */
export async function prunePushRecords(store: Store, before: number, limit: number) {
  const [result] = await store.write([prune({ before, limit })]);
  return result!.changes;
}

/** The newest records. Placeholder `limit`. */
export const newestRecords = select<PushRecord>(
  qb
    .select({
      apns_id: push_records.apns_id,
      environment: push_records.environment,
      device_id: push_records.device_id,
      kind: push_records.kind,
      outcome: push_records.outcome,
      reason: push_records.reason,
      attempts: push_records.attempts,
      created_at: push_records.created_at,
      tried_at: push_records.tried_at,
      done_at: push_records.done_at,
    })
    .from(push_records)
    .orderBy(desc(push_records.seq))
    .limit(p("limit")),
);

/** By environment, how many of the oldest 10,000 wait, and since when the oldest does. */
export const queuedPushes = statement(
  // While nothing can be sent there may be very many.
  sql`select environment, count(*), min(created_at)
    from (select environment, created_at from pushes order by seq limit 10000)
    group by environment order by environment`,
  { gives: "rows" },
);
