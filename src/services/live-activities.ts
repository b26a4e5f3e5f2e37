/** Live-activity registrations: register and remove (docs/interface.md 5.6). */

import { activityGrounds, deleteActivity, putActivity } from "../../db/notify/live-activities.ts";
import { dropOfActivity } from "../../db/notify/plan.ts";
import { fail, failNotFound } from "../errors.ts";
import type { AccountCaller } from "../model/caller.ts";
import type { LiveActivityInput, LiveActivityName } from "../model/live-activity.ts";
import { untilDecided } from "./commit.ts";
import type { ServiceDeps } from "./deps.ts";

export type LiveActivities = ReturnType<typeof createLiveActivities>;

type LiveActivitiesDeps = Pick<ServiceDeps, "store" | "clock" | "pushPlans" | "wakeSender">;

export function createLiveActivities({ store, clock, pushPlans, wakeSender }: LiveActivitiesDeps) {
  /** Whether a registration may stand now; `404` when task or device is not the account's. */
  const mayStand = async (
    { account_id }: AccountCaller,
    { task_id, device_id }: LiveActivityName,
  ): Promise<boolean> => {
    const [row] = await store.read(activityGrounds({ account_id, task_id, device_id }));
    if (!row) fail("unauthorized");
    const [setting, status, has_device] = row;
    if (status === null) failNotFound("task_id");
    if (!has_device) failNotFound("device_id");
    return status === "in_progress" && setting === 1;
  };

  return {
    /**
     * Keeps the newest token of the task's activity on the device. A task that is not in progress,
     * or a setting that is off, leaves nothing, and an `end` goes out (docs/interface.md 14.5).
     */
    put: (caller: AccountCaller, { push_token, ...name }: LiveActivityInput): Promise<void> =>
      untilDecided(async () => {
        const { account_id } = caller;
        const registered = { ...name, account_id, push_token: push_token.toLowerCase() };
        const [result] = await store.write([
          putActivity({ ...registered, now: clock.now() }),
          ...pushPlans.ofRegistration(registered),
        ]);
        wakeSender();
        // What refused it may have passed meanwhile: then it is tried again.
        return result!.changes > 0 || !(await mayStand(caller, name)) || undefined;
      }).then(() => {}),

    /** Also fine when the device has none registered (§5.6.2(1)). */
    async remove(caller: AccountCaller, name: LiveActivityName): Promise<void> {
      const { account_id } = caller;
      const [result] = await store.write([
        deleteActivity({ ...name, account_id }),
        dropOfActivity({ ...name, account_id }),
      ]);
      if (result!.changes === 0) await mayStand(caller, name);
    },
  };
}
