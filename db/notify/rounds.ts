/** How a worker ends one round of a delivery that it leased (queue.ts has the states of a row). */

import { PUSH } from "../../src/notification-limits.ts";
import { p, type Sql, sql } from "../sql.ts";
import { statement } from "../statement.ts";
import type { Cell } from "../store.ts";
import { isNews, MERGED, united } from "./merge.ts";
import { PACE } from "./plan.ts";
import { deliveries, UUID } from "./schema.ts";
import { targetOf } from "./targets.ts";

const ms = (seconds: number) => sql.raw(seconds * 1000);
const at = <Name extends string>(name: Name) => p(name, deliveries.due_at);
const now = at("now");

const mine = sql`seq = ${p("seq")} and lease = ${p("lease")}`;
const together = united(sql`parts`, sql`coalesce(more, '[]')`);

const d = sql`(select pushes.account_id, pushes.device_id, pushes.task_id)`;
const pace = <P>(due: Sql<P>) => sql`(select ${due} from ${d} d)`;
const next = sql`case kind
  when 'silent' then case when more <> '[]' then ${pace(PACE.clear())} else ${pace(PACE.silent())} end
  when 'widget' then ${pace(PACE.widget())}
  when 'update' then ${pace(PACE.update(sql`d.task_id`))}
  when 'task' then case when exists (select 1 from json_each(more) where value in ('created', 'status')) then ${now}
    else ${pace(PACE.passive(sql`d.task_id`))} end
  else ${now} end`;

/** The deliveries `those` that are done go on with what came meanwhile and with the ids in `rest` (JSON list). */
export function continued<A, B>(those: Sql<A>, rest: Sql<B>) {
  const again = sql`case when kind = 'silent' and ${rest} <> '[]' then ${now} else ${next} end`;
  return sql`update pushes set lease = null, unclear = 0, attempts = 0, apns_id = ${UUID}, created_at = ${now},
      parts = ${united(rest, sql`coalesce(more, '[]')`)}, more = null,
      due_at = ${again}, expires_at = max(expires_at, ${again} + case when kind = 'task' then ${ms(PUSH.alert_life)}
        when kind = 'update' then ${ms(PUSH.activity_life)} else ${ms(PUSH.silent_life)} end)
    where ${those} and (more is not null or ${rest} <> '[]')`;
}

/**
 * A delivery that is done goes on with what came meanwhile and with the ids in `rest` (JSON list), as a
 * new one; {@link dropDone} takes it where nothing did.
 */
export const continueDelivery = statement(continued(mine, sql`${p("rest")}`));
export const dropDone = statement(sql`delete from pushes where ${mine}`);

const came = sql`(more is not null and ${isNews(sql`kind`, sql`more`)})`;
const back_at = sql`case when ${came} then min(${at("due_at")}, ${next}) else ${at("due_at")} end`;

/**
 * Puts a delivery back until `due_at`, with what came meanwhile; news do not wait so long. `tried`: 0
 * when this was no attempt; `lane`: null leaves it as it is. A `clear` lives on to be tried again:
 * without it a notification stays.
 */
export const putBack = statement(
  sql`update pushes set lease = null, unclear = 0, parts = ${together}, more = null, due_at = ${back_at},
      apns_id = case when ${came} then ${UUID} else apns_id end,
      expires_at = case when kind = 'silent' and ${together} <> '[]'
        then max(expires_at, min(${back_at} + ${ms(PUSH.silent_life)}, created_at + ${ms(PUSH.clear_life)})) else expires_at end,
      attempts = attempts - 1 + ${p("tried")},
      environment = case when token is null then coalesce(${p("lane")}, environment) else environment end
    where ${mine}`,
);

const set_back = sql`lease = null, unclear = 0, parts = ${together}, more = null`;

const now_address = sql`(select address from push_targets where ${targetOf(sql`pushes`)})`;

/**
 * Puts it back if it has a target still: with another address, for `due_at`, or with the same one
 * that was registered again, for `later` (timestamps). Stands before {@link dropDone}.
 */
export const retryWithTarget = statement(
  sql`update pushes set ${set_back}, due_at = case when ${now_address} = ${p("address")} then ${at("later")} else ${at("due_at")} end
    where ${mine} and token is null and ${now_address} is not null`,
);

/** The registration of a live activity whose `end` is done with. */
export const dropEndedActivity = statement(
  sql`delete from live_activities where account_id = ${p("account_id")} and device_id = ${p("recipient_id")} and task_id = ${p("task_id")}
    and push_token = ${p("address")} and ended_at is not null`,
);

/** What a late `clear` is made of. */
interface Late<P> {
  readonly account_id: Sql<P>;
  readonly recipient_id: Sql<P>;
  readonly key_id: Sql<P>;
  readonly lane: Sql<P>;
  readonly address: Sql<P>;
  /** Id of the question or task. */
  readonly about: Sql<P>;
  /** The FROM and the beginning of the WHERE. */
  readonly source: Sql<P>;
}

/**
 * A last-minute silent delivery that takes back an alert whose reason ended while it was under way.
 * Of a deleted account it has a copy of the address; of one of which nothing is left there is none.
 */
export function takenBack<P>({
  account_id,
  recipient_id,
  key_id,
  lane,
  address,
  about,
  source,
}: Late<P>) {
  // Registered still; where the account is deleted, its targets go too.
  const registered = sql`exists (select 1 from push_targets where account_id = ${account_id} and purpose = 'alert'
    and recipient_id = ${recipient_id} and subject = '' and address = ${address})`;
  const deleted = sql`exists (select 1 from accounts where id = ${account_id} and deleted_at is not null)`;
  return sql`insert into pushes (account_id, device_id, kind, subject, key_id, environment, token, parts, urgency, due_at, expires_at, created_at)
    select ${account_id}, ${recipient_id}, 'silent', '', ${key_id}, ${lane}, case when ${deleted} then ${address} end,
      json_array(${about}), 2, ${PACE.clear()}, ${PACE.clear()} + ${ms(PUSH.silent_life)}, ${now}
    ${source}
      and not exists (select 1 from questions q join keys k on k.id = q.key_id and k.deleted_at is null where q.id = ${about} and q.status = 'pending')
      and not exists (select 1 from tasks t join keys k on k.id = t.key_id and k.deleted_at is null where t.id = ${about})
      and (${registered} or ${deleted})
    ${MERGED}`;
}

type LateValues = Readonly<
  Record<"account_id" | "recipient_id" | "key_id" | "lane" | "address" | "about", Cell>
>;

export const clearLate = statement(
  takenBack<LateValues>({
    account_id: sql`${p("account_id")}`,
    recipient_id: sql`${p("recipient_id")}`,
    key_id: sql`${p("key_id")}`,
    lane: sql`${p("lane")}`,
    address: sql`${p("address")}`,
    about: sql`${p("about")}`,
    source: sql`where true`,
  }),
);
