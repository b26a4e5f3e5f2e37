/** Queries on live-activity registrations: one per task and device, while the task is in progress. */

import type { Task } from "../../src/model/task.ts";
import { mayChangeDevice } from "../devices.ts";
import { ofLiveKey } from "../keys.ts";
import { atRevision } from "../outbox.ts";
import { live_activities } from "../schema.ts";
import { p, sql } from "../sql.ts";
import { rowOf, statement } from "../statement.ts";

const ownDevice = sql`exists (select 1 from devices where account_id = ${p("account_id")} and id = ${p("device_id")})`;
const ownTask = sql`id = ${p("task_id")} and account_id = ${p("account_id")} and ${ofLiveKey("tasks")}`;

const at = p("now", live_activities.updated_at);

/**
 * Registers, or replaces the token of a registration, unless the task or the device is not the
 * account's or may not be changed, the task is not in progress, or the setting is off: what ends meanwhile leaves no row.
 * An activity that has ended stays ended while its token is the same.
 */
export const putActivity = statement(
  sql`insert into live_activities (account_id, device_id, task_id, key_id, push_token, created_at, updated_at, stamp)
    select account_id, ${p("device_id")}, id, key_id, ${p("push_token")}, ${at}, ${at}, cast(${at} / 1000 as integer) + 1 from tasks
    where ${ownTask} and status = 'in_progress' and ${ownDevice} and ${mayChangeDevice}
      and exists (select 1 from accounts where id = ${p("account_id")} and live_activities and deleted_at is null)
    on conflict (account_id, device_id, task_id) do update set push_token = excluded.push_token,
      updated_at = excluded.updated_at, stamp = max(live_activities.stamp, excluded.stamp),
      ended_at = case when live_activities.push_token = excluded.push_token then ended_at end`,
);

export const deleteActivity = statement(
  sql`delete from live_activities where account_id = ${p("account_id")} and device_id = ${p("device_id")} and task_id = ${p("task_id")}
    and ${mayChangeDevice}`,
);

/** Drops what is queued of an activity that {@link deleteActivity} removed: nothing more of this activity period. */
export const dropOfActivity = statement(
  sql`delete from pushes where account_id = ${p("account_id")} and device_id = ${p("device_id")} and task_id = ${p("task_id")}
    and kind in ('start', 'update', 'end') and ${mayChangeDevice}`,
);

/**
 * What a registration depends on, as one row: the setting, the status of the task (null when it is
 * not the account's), whether the device is the account's, and {@link mayChangeDevice}; no row for a deleted account.
 */
export const activityGrounds = statement(
  sql`select live_activities, (select status from tasks where ${ownTask}), ${ownDevice}, ${mayChangeDevice}
    from accounts where id = ${p("account_id")} and deleted_at is null`,
  {
    gives:
      rowOf<
        [setting: 0 | 1, task_status: Task["status"] | null, has_device: 0 | 1, may_change: 0 | 1]
      >(),
  },
);

// The ends while pushes are off, and those of devices: each stands in the batch of its reason, after
// it. While pushes are on, db/notify/activity-ends.ts has their place.

/** Deletes the live activities of a task that the same batch changed. */
export const endActivitiesOfTask = statement(
  sql`delete from live_activities where task_id = ${p("changed_id")} and ${atRevision("tasks")}`,
);

/** Deletes the live activities of a key that the same batch deleted. */
export const endActivitiesOfKey = statement(
  sql`delete from live_activities where key_id = ${p("changed_id")} and ${atRevision("keys")}`,
);

/** Of an account that the same batch deleted. */
export const endActivitiesOfAccount = statement(
  sql`delete from live_activities where account_id = ${p("changed_id")} and ${atRevision("accounts")}`,
);

/** Of an account whose setting is off. */
export const endActivitiesSwitchedOff = statement(
  sql`delete from live_activities where account_id = ${p("account_id")}
    and exists (select 1 from accounts where id = ${p("account_id")} and not live_activities)`,
);

/** Of devices that the account no longer has. */
export const endActivitiesOfMissingDevices = statement(
  sql`delete from live_activities where account_id = ${p("account_id")}
    and device_id not in (select id from devices where account_id = ${p("account_id")})`,
);
