/** Statements on registrations of live activities: one per task and device, while the task is in progress. */

import type { Task } from "../../src/model/task.ts";
import { laneOf, mayChangeDevice } from "../devices.ts";
import { ofLiveKey } from "../keys.ts";
import { live_activities } from "../schema.ts";
import { p, sql } from "../store/sql.ts";
import { rowOf, statement } from "../store/statement.ts";

const ownDevice = sql`exists (select 1 from devices where account_id = ${p("account_id")} and id = ${p("device_id")})`;
const ownTask = sql`id = ${p("task_id")} and account_id = ${p("account_id")} and ${ofLiveKey("tasks")}`;

const at = p("now", live_activities.updated_at);

/**
 * Registers a live activity or replaces its token, unless the task or the device is not the account's or
 * may not be changed, the task is not in progress, or the setting is off. So an end that comes first
 * leaves no row. An activity that has ended stays ended while its token is the same.
 */
export const putActivity = statement(
  sql`insert into live_activities (account_id, device_id, task_id, key_id, push_token, created_at, updated_at, push_timestamp)
    select account_id, ${p("device_id")}, id, key_id, ${p("push_token")}, ${at}, ${at}, cast(${at} / 1000 as integer) + 1 from tasks
    where ${ownTask} and status = 'in_progress' and ${ownDevice} and ${mayChangeDevice}
      and exists (select 1 from accounts where id = ${p("account_id")} and live_activities and deleted_at is null)
    on conflict (account_id, device_id, task_id) do update set push_token = excluded.push_token,
      updated_at = excluded.updated_at, push_timestamp = max(live_activities.push_timestamp, excluded.push_timestamp),
      ended_at = case when live_activities.push_token = excluded.push_token then ended_at end`,
);

export const deleteActivity = statement(
  sql`delete from live_activities where account_id = ${p("account_id")} and device_id = ${p("device_id")} and task_id = ${p("task_id")}
    and ${mayChangeDevice}`,
);

/** Removes a live activity whose address the service does not know, unless it changed or was registered after `since`. */
export const forgetActivity = statement(
  sql`delete from live_activities where account_id = ${p("account_id")} and device_id = ${p("recipient_id")} and task_id = ${p("task_id")}
    and push_token = ${p("address")} and ended_at is null and updated_at <= ${p("since", live_activities.updated_at)}
    and exists (select 1 from devices v where v.account_id = live_activities.account_id and v.id = device_id and ${laneOf(sql`v`)} = ${p("lane")})`,
);

/** Drops what is queued for a live activity that {@link deleteActivity} removed. */
export const dropOfActivity = statement(
  sql`delete from deliveries where account_id = ${p("account_id")} and recipient_id = ${p("device_id")} and task_id = ${p("task_id")}
    and kind in ('start', 'update', 'end') and ${mayChangeDevice}`,
);

/**
 * What a registration depends on, as one row: the setting, the status of the task (null if it is not the account's), 1
 * if the device is the account's, and {@link mayChangeDevice}. No row for a deleted account.
 */
export const activityFacts = statement(
  sql`select live_activities, (select status from tasks where ${ownTask}), ${ownDevice}, ${mayChangeDevice}
    from accounts where id = ${p("account_id")} and deleted_at is null`,
  {
    returns:
      rowOf<
        [setting: 0 | 1, task_status: Task["status"] | null, has_device: 0 | 1, may_change: 0 | 1]
      >(),
  },
);
