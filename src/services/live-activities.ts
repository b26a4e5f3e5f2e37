/** Live-activity registrations: register and remove (§5.6). */

import {
  activityFacts,
  deleteActivity,
  dropOfActivity,
  putActivity,
} from "../../db/notify/live-activities.ts";
import { fail, failNotFound } from "../errors.ts";
import type { AccountCaller } from "../model/caller.ts";
import type { LiveActivityInput, LiveActivityName } from "../model/device.ts";
import { untilDecided } from "./shared/commit.ts";
import type { ServiceDeps } from "./shared/deps.ts";
import { failInTrial, trialSince } from "./shared/trial.ts";

type LiveActivitiesDeps = Pick<
  ServiceDeps,
  "store" | "clock" | "notificationPlans" | "wakeSender" | "assertLive"
>;

export function createLiveActivities(deps: LiveActivitiesDeps) {
  const { store, clock, notificationPlans, wakeSender, assertLive } = deps;

  /** Query parameters that limit which devices the caller may change. */
  const scopeOf = ({ account_id, credential, session_id }: AccountCaller) => ({
    account_id,
    credential,
    session_id,
    trial_since: trialSince(clock.now()),
  });

  /**
   * True if a registration is allowed now: the task is in progress and the setting is on. `403 forbidden` for another
   * sign-in's device in the caller's trial, `404 not_found` for the task or the device.
   */
  const mayStand = async (
    caller: AccountCaller,
    { task_id, device_id }: LiveActivityName,
  ): Promise<boolean> => {
    const [row] = await store.read(activityFacts({ ...scopeOf(caller), task_id, device_id }));
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
     * Keeps the newest token of the task's live activity on the device. If the task is not in progress, or the
     * setting is off, nothing is kept and an `end` is sent (§14.5).
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
        // If what prevented it has changed meanwhile, it is tried again.
        return result!.changes > 0 || !(await mayStand(caller, name)) || undefined;
      }).then(() => {}),

    /** Removes a registration. Does nothing if the device has none (§5.6.2(1)). */
    async remove(caller: AccountCaller, name: LiveActivityName): Promise<void> {
      const values = { ...name, ...scopeOf(caller) };
      const [result] = await store.write([deleteActivity(values), dropOfActivity(values)]);
      if (result!.changes === 0) await mayStand(caller, name);
    },
  };
}
