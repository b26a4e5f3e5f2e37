/** Devices: register, replace, remove (§5.3). */

import {
  deleteDevice,
  devicesOfAccount,
  dropOfToken,
  endActivitiesOfToken,
  hasDevice,
  mayRegisterDevice,
  putDevice,
  putTokens,
  releaseTokens,
  trimDevices,
} from "../../db/devices.ts";
import { pastTrialNow } from "../../db/sessions.ts";
import { fail, failNotFound } from "../errors.ts";
import type { AccountCaller } from "../model/caller.ts";
import { type Device, type DeviceInput, toDevice, withoutTokens } from "../model/device.ts";
import type { ServiceDeps } from "./shared/deps.ts";
import { failInTrial, trialSince } from "./shared/trial.ts";

export function createDevices({
  store,
  clock,
  notificationPlans,
  wakeSender,
  assertLive,
}: Pick<ServiceDeps, "store" | "clock" | "notificationPlans" | "wakeSender" | "assertLive">) {
  return {
    /**
     * The devices of the account, the last registered first. A caller in its trial does not see the push tokens of
     * other sign-ins' devices, with which another account could take them over (§5.3.2(3)).
     */
    async list({ account_id, credential, session_id }: AccountCaller): Promise<Device[]> {
      const rows = await store.read(devicesOfAccount({ account_id }));
      const trial_since = trialSince(clock.now());
      const [trial] = rows.every((row) => row.session_id === session_id)
        ? []
        : await store.read(pastTrialNow({ account_id, credential, trial_since }));
      const are_hidden = trial?.[0] === 0;
      return rows.map(({ session_id: owner, ...device }) =>
        are_hidden && owner !== session_id ? withoutTokens(device) : device,
      );
    },

    /**
     * Creates or replaces a device. A push token moves here from an older registration (§5.3.2). `403 forbidden` if
     * a caller in its trial would take something from a device of another sign-in.
     */
    async put(caller: AccountCaller, id: string, input: DeviceInput): Promise<Device> {
      const { account_id, credential, session_id } = caller;
      const now = clock.now();
      const device = toDevice(id, input, now);
      const row = { ...device, account_id, session_id, credential, trial_since: trialSince(now) };
      const [ground] = await store.read(mayRegisterDevice(row));
      if (ground![0] === 0) {
        await assertLive(caller);
        failInTrial();
      }
      const before = [
        endActivitiesOfToken(row),
        dropOfToken(row),
        releaseTokens(row),
        ...notificationPlans.beforeDevice(account_id, device),
      ];
      const results = await store.write([
        ...before,
        putDevice(row),
        trimDevices({ account_id, trial_since: row.trial_since }),
        ...putTokens.map((step) => step(row)),
      ]);
      const ms = results[before.length]!.rows[0]?.[0];
      if (typeof ms !== "number") fail("unauthorized");
      wakeSender();
      return { ...device, updated_at: ms / 1000 };
    },

    /** Removes a device. `403 forbidden` for another sign-in's device in the caller's trial, `404 not_found`. */
    async remove(caller: AccountCaller, device_id: string): Promise<void> {
      const { account_id, credential, session_id } = caller;
      const trial_since = trialSince(clock.now());
      const [result] = await store.write([
        deleteDevice({ account_id, device_id, session_id, credential, trial_since }),
      ]);
      if (result!.changes > 0) return;
      await assertLive(caller);
      const [ground] = await store.read(hasDevice({ account_id, device_id }));
      if (ground![0] === 1) failInTrial();
      failNotFound("device_id");
    },
  };
}
