/** Ends one attempt of a delivery that a worker leased. queue.ts has the states of a row. */

import { NOTIFICATION_LIMITS } from "../../src/notification-limits.ts";
import { p, type Sql, sql } from "../store/sql.ts";
import { statement } from "../store/statement.ts";
import { isNews, united } from "./merge.ts";
import { PACE } from "./plan.ts";
import { deliveries, UUID } from "./schema.ts";
import { targetOf } from "./targets.ts";

const ms = (seconds: number) => sql.raw(seconds * 1000);
const at = <Name extends string>(name: Name) => p(name, deliveries.due_at);
const now = at("now");

const mine = sql`seq = ${p("seq")} and lease = ${p("lease")}`;
const together = united(sql`parts`, sql`coalesce(more, '[]')`);

const d = sql`(select deliveries.account_id, deliveries.recipient_id, deliveries.task_id)`;
const pace = <P>(due: Sql<P>) => sql`(select ${due} from ${d} d)`;
const next = sql`case kind
  when 'silent' then case when more <> '[]' then ${pace(PACE.clear())} else ${pace(PACE.silent())} end
  when 'widget' then ${pace(PACE.widget())}
  when 'update' then ${pace(PACE.update(sql`d.task_id`))}
  when 'task' then case when exists (select 1 from json_each(more) where value in ('created', 'status', 'silent')) then ${now}
    else ${pace(PACE.passive(sql`d.task_id`))} end
  else ${now} end`;

/**
 * Turns the settled deliveries `those` into new ones in the same rows, if changes came meanwhile or ids
 * are left in `rest` (JSON list).
 */
export function continued<A, B>(those: Sql<A>, rest: Sql<B>) {
  const again = sql`case when kind = 'silent' and ${rest} <> '[]' then ${now} else ${next} end`;
  return sql`update deliveries set lease = null, unclear = 0, attempts = 0, delivery_id = ${UUID}, created_at = ${now}, tried_at = null,
      parts = ${united(rest, sql`coalesce(more, '[]')`)}, more = null,
      due_at = ${again}, expires_at = max(expires_at, ${again} + case when kind = 'task' then ${ms(NOTIFICATION_LIMITS.alert_life)}
        when kind = 'update' then ${ms(NOTIFICATION_LIMITS.activity_life)} else ${ms(NOTIFICATION_LIMITS.silent_life)} end)
    where ${those} and (more is not null or ${rest} <> '[]')`;
}

/** Continues a settled delivery with what came meanwhile; {@link dropDone} removes it if nothing did. */
export const continueDelivery = statement(continued(mine, sql`${p("rest")}`));
export const dropDone = statement(sql`delete from deliveries where ${mine}`);

const SET_BACK = sql`lease = null, unclear = 0, parts = ${together}, more = null`;
const came = sql`(more is not null and ${isNews(sql`kind`, sql`more`)})`;
const back_at = sql`case when ${came} then min(${at("due_at")}, ${next}) else ${at("due_at")} end`;

/**
 * Puts a delivery back until `due_at` with what came meanwhile, or until earlier if that is news. `tried`:
 * 0 if no attempt was made. `lane`: null leaves it as it is. A `clear` gets a longer life to be tried
 * again: without it a notification stays. `tried_at` becomes the end of the attempt, so that it shows by which clock
 * `due_at` was written.
 */
export const putBack = statement(
  sql`update deliveries set ${SET_BACK}, due_at = ${back_at}, tried_at = ${now},
      delivery_id = case when ${came} then ${UUID} else delivery_id end,
      expires_at = case when kind = 'silent' and ${together} <> '[]'
        then max(expires_at, min(${back_at} + ${ms(NOTIFICATION_LIMITS.silent_life)}, created_at + ${ms(NOTIFICATION_LIMITS.clear_life)})) else expires_at end,
      attempts = attempts - 1 + ${p("tried")},
      lane = case when address is null then coalesce(${p("lane")}, lane) else lane end
    where ${mine}`,
);

const now_address = sql`(select address from delivery_targets where ${targetOf(sql`deliveries`)})`;

/**
 * Puts a delivery back if it still has a target: until `due_at` if that has another address, until `later`
 * if the same one was registered again. Placed before {@link dropDone}.
 */
export const retryWithTarget = statement(
  sql`update deliveries set ${SET_BACK}, due_at = case when ${now_address} = ${p("address")} then ${at("later")} else ${at("due_at")} end,
      tried_at = ${at("due_at")}
    where ${mine} and address is null and ${now_address} is not null`,
);

/** Deletes the registration of a live activity whose `end` is settled. */
export const dropEndedActivity = statement(
  sql`delete from live_activities where account_id = ${p("account_id")} and device_id = ${p("recipient_id")} and task_id = ${p("task_id")}
    and push_token = ${p("address")} and ended_at is not null`,
);
