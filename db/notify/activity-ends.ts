/** Ends live activities in the batch of the reason: marks them, and plans an `end` with a copy of the address. */

import { NOTIFICATION_LIMITS } from "../../src/notification-limits.ts";
import { laneOf, mayChangeDevice } from "../devices.ts";
import { ofLiveKey } from "../keys.ts";
import { atRevision, type RowRevision } from "../outbox.ts";
import { live_activities } from "../schema.ts";
import { p, type Sql, sql } from "../store/sql.ts";
import { statement } from "../store/statement.ts";
import type { Statement } from "../store/store.ts";
import { type LanesByKind, PACE } from "./plan.ts";
import { joinActivityTarget } from "./targets.ts";

const now = p("now", live_activities.updated_at);
const ms = (seconds: number) => sql.raw(seconds * 1000);
const configured = sql`in (select value from json_each(${p("lanes")}))`;

const END_COLUMNS = sql`account_id, recipient_id, kind, subject, key_id, task_id, lane, address, parts, urgency, due_at, expires_at, created_at`;

const ending = <P>(reason: Sql<P>) => [
  statement(
    sql`insert into deliveries (${END_COLUMNS})
      select l.account_id, l.device_id, 'end', l.task_id || ' ' || l.updated_at, l.key_id, l.task_id,
        t.lane, t.address, '[]', 1, ${now}, ${now} + ${ms(NOTIFICATION_LIMITS.end_life)}, ${now}
      from (select * from live_activities where ended_at is null and ${reason}) l ${joinActivityTarget(sql`l`)}
      where t.lane ${configured}
      on conflict do nothing`,
  ),
  statement(sql`update live_activities set ended_at = ${now} where ended_at is null and ${reason}`),
  // Without a way to send an `end`, there is nothing to wait for.
  statement(
    sql`delete from live_activities where ended_at is not null and ${reason}
      and not exists (select 1 from deliveries where address = push_token and kind = 'end')`,
  ),
];

/** `on`: with an `end`. `off`: for when no lane takes one. */
const both = <P>(reason: Sql<P>) => ({
  on: ending(reason),
  off: [statement(sql`delete from live_activities where ${reason}`)],
});
const ENDS = {
  tasks: both(sql`task_id = ${p("changed_id")} and ${atRevision("tasks")}`),
  keys: both(
    sql`account_id = ${p("account_id")} and key_id = ${p("changed_id")} and ${atRevision("keys")}`,
  ),
  accounts: both(sql`account_id = ${p("changed_id")} and ${atRevision("accounts")}`),
};
const ENDS_OF_SETTING = both(
  sql`account_id = ${p("account_id")} and exists (select 1 from accounts where id = ${p("account_id")} and not live_activities)`,
);

const ownDevice = sql`v.account_id = ${p("account_id")} and v.id = ${p("device_id")}`;

/** True if the registration of a device is about to change its lane. */
const moving = sql`exists (select 1 from devices v where ${ownDevice} and ${laneOf(sql`v`)} <> ${p("lane")})`;
const ofMoving = sql`account_id = ${p("account_id")} and device_id = ${p("device_id")} and ${moving}`;
const ENDS_OF_MOVE = [
  statement(
    sql`delete from deliveries where account_id = ${p("account_id")} and recipient_id = ${p("device_id")} and ${moving} and kind in ('start', 'update')
      and exists (select 1 from live_activities l where l.account_id = deliveries.account_id and l.device_id = deliveries.recipient_id and l.task_id = deliveries.task_id)`,
  ),
  ...ending(ofMoving),
];

interface EndRow {
  readonly account_id: string;
  readonly now: number;
  readonly lanes: LanesByKind;
}

const valuesOf = <Row extends EndRow>(row: Row) => ({ ...row, lanes: row.lanes.end });
const modeOf = ({ lanes }: EndRow) => (lanes.end === "[]" ? "off" : "on");

/** Ends the live activities of a task, key or account that the same batch changed. */
export function endActivities(
  row: EndRow,
  { table, id, revision }: RowRevision & { readonly table: keyof typeof ENDS },
): Statement[] {
  const values = { ...valuesOf(row), changed_id: id, changed_revision: revision };
  return ENDS[table][modeOf(row)].map((end) => end(values));
}

/** Ends the live activities of an account whose setting is off. */
export function endActivitiesOff(row: EndRow): Statement[] {
  return ENDS_OF_SETTING[modeOf(row)].map((end) => end(valuesOf(row)));
}

/**
 * Ends the live activities of a device that moves to another lane, where their addresses are not known:
 * they end in the old lane. Placed before the statement that moves it. `lane`: the new one.
 */
export function endActivitiesOfMove(
  row: EndRow & { readonly device_id: string; readonly lane: string },
): Statement[] {
  return ENDS_OF_MOVE.map((end) => end(valuesOf(row)));
}

const mayExist = sql`(t.status = 'in_progress' and exists (select 1 from accounts where id = ${p("account_id")} and live_activities))`;

/**
 * Ends a live activity that should not exist, by the token that was just registered (§14.5). `lanes`: JSON
 * list.
 */
export const endUnwanted = statement(
  sql`insert into deliveries (${END_COLUMNS})
    select v.account_id, v.id, 'end', t.id || ' ' || ${now} || ' ' || ${p("push_token")}, t.key_id, t.id, ${laneOf(sql`v`)},
      ${p("push_token")}, '[]', 1, ${now}, ${now} + ${ms(NOTIFICATION_LIMITS.end_life)}, ${now}
    from devices v join (select * from tasks where id = ${p("task_id")} and account_id = ${p("account_id")} and ${ofLiveKey("tasks")}) t
    where ${ownDevice} and ${laneOf(sql`v`)} ${configured} and not ${mayExist} and ${mayChangeDevice}
      and exists (select 1 from accounts where id = ${p("account_id")} and deleted_at is null)
      and not exists (select 1 from deliveries where address = ${p("push_token")} and kind = 'end')
    on conflict do nothing`,
);

/**
 * Plans an update, at the usual pace, if the task has changed between the start that was sent and its
 * registration. `lanes`: JSON list.
 */
export const updateLate = statement(
  sql`insert into deliveries (${END_COLUMNS})
    select d.account_id, d.recipient_id, 'update', d.task_id, d.key_id, d.task_id, t.lane, null, '[]', 1, ${PACE.update(sql`d.task_id`)}, ${PACE.update(sql`d.task_id`)} + ${ms(NOTIFICATION_LIMITS.activity_life)}, ${now}
    from (select *, device_id as recipient_id from live_activities) d ${joinActivityTarget(sql`d`)}
      join tasks k on k.id = d.task_id
      join (select max(at) as at from (
        select max(tried_at) as at from delivery_records where account_id = ${p("account_id")} and recipient_id = ${p("device_id")} and kind = 'start' and about = ${p("task_id")}
        union all select tried_at from deliveries where account_id = ${p("account_id")} and recipient_id = ${p("device_id")} and kind = 'start' and subject = ${p("task_id")})) s
    where d.account_id = ${p("account_id")} and d.device_id = ${p("device_id")} and d.task_id = ${p("task_id")} and d.ended_at is null
      and t.lane ${configured}
      and (k.updated_at > s.at or exists (select 1 from questions q where q.task_id = k.id
        and (q.created_at > s.at or q.answered_at > s.at or (q.status in ('expired', 'cancelled') and q.expires_at > s.at))))
    on conflict (account_id, recipient_id, kind, subject) do update set
      due_at = case when lease is not null or attempts > 0 then deliveries.due_at else min(deliveries.due_at, excluded.due_at) end,
      more = case when lease is null then null else coalesce(deliveries.more, '[]') end,
      expires_at = max(deliveries.expires_at, excluded.expires_at)`,
);
