/** Live-activity registrations: register and remove (docs/interface.md 5.6). */

import {
  activityGrounds,
  deleteActivity,
  dropOfActivity,
  putActivity,
} from "../../db/notify/live-activities.ts";
import { fail, failNotFound } from "../errors.ts";
import type { AccountCaller } from "../model/caller.ts";
import type { LiveActivityInput, LiveActivityName } from "../model/device.ts";
import { untilDecided } from "./commit.ts";
import type { ServiceDeps } from "./deps.ts";
import { failInTrial, trialSince } from "./trial.ts";

export type LiveActivities = ReturnType<typeof createLiveActivities>;

type LiveActivitiesDeps = Pick<
  ServiceDeps,
  "store" | "clock" | "notificationPlans" | "wakeSender" | "assertLive"
>;

export function createLiveActivities(deps: LiveActivitiesDeps) {
  const { store, clock, notificationPlans, wakeSender, assertLive } = deps;

  /** Whose devices the caller may change, as placeholders of the queries. */
  const scopeOf = ({ account_id, credential, session_id }: AccountCaller) => ({
    account_id,
    credential,
    session_id,
    trial_since: trialSince(clock.now()),
  });

  /**
   * Whether a registration may stand now; `404` when task or device is not the account's, `403 forbidden` for
   * another sign-in's device in the caller's trial.
   */
  const mayStand = async (
    caller: AccountCaller,
    { task_id, device_id }: LiveActivityName,
  ): Promise<boolean> => {
    const [row] = await store.read(activityGrounds({ ...scopeOf(caller), task_id, device_id }));
    if (!row) fail("unauthorized");
    const [setting, status, has_device, may_change] = row;
    if (status === null) failNotFound("task_id");
    if (!has_device) failNotFound("device_id");
    if (!may_change) {
      await assertLive(caller);
      failInTrial();
    }
    return status === "in_progress" && setting === 1;
  };

  return {
    /**
     * Keeps the newest token of the task's activity on the device. A task that is not in progress,
     * or a setting that is off, leaves nothing, and an `end` goes out (docs/interface.md 14.5).
     */
    put: (caller: AccountCaller, { push_token, ...name }: LiveActivityInput): Promise<void> =>
      untilDecided(async () => {
        const scope = scopeOf(caller);
        const registered = { ...name, ...scope, push_token: push_token.toLowerCase() };
        const [result] = await store.write([
          putActivity({ ...registered, now: clock.now() }),
          ...notificationPlans.ofRegistration(registered),
        ]);
        wakeSender();
        // What refused it may have passed meanwhile: then it is tried again.
        return result!.changes > 0 || !(await mayStand(caller, name)) || undefined;
      }).then(() => {}),

    /** Also fine when the device has none registered (§5.6.2(1)). */
    async remove(caller: AccountCaller, name: LiveActivityName): Promise<void> {
      const values = { ...name, ...scopeOf(caller) };
      const [result] = await store.write([deleteActivity(values), dropOfActivity(values)]);
      if (result!.changes === 0) await mayStand(caller, name);
    },
  };
}
