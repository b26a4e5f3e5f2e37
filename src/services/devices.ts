/** Devices: register, replace, remove (docs/interface.md 5.3). */

import {
  deleteDevice,
  devicesOfAccount,
  dropOfMissingDevices,
  dropOfToken,
  endActivitiesOfToken,
  putDevice,
  releaseTokens,
  trimDevices,
} from "../../db/devices.ts";
import { endActivitiesOfMissingDevices } from "../../db/notify/live-activities.ts";
import { fail, failNotFound } from "../errors.ts";
import type { AccountCaller } from "../model/caller.ts";
import { type Device, type DeviceInput, toDevice } from "../model/device.ts";
import type { ServiceDeps } from "./deps.ts";

export type Devices = ReturnType<typeof createDevices>;

export function createDevices({
  store,
  clock,
  pushPlans,
  wakeSender,
  assertLive,
}: Pick<ServiceDeps, "store" | "clock" | "pushPlans" | "wakeSender" | "assertLive">) {
  return {
    /** The last registered first. */
    async list(caller: AccountCaller): Promise<Device[]> {
      return await store.read(devicesOfAccount({ account_id: caller.account_id }));
    },

    /** Creates or replaces; a push token moves here from an older registration (§5.3.2). */
    async put(caller: AccountCaller, id: string, input: DeviceInput): Promise<Device> {
      const { account_id, session_id } = caller;
      const device = toDevice(id, input, clock.now());
      const row = { ...device, account_id, session_id };
      const before = [
        endActivitiesOfToken(row),
        dropOfToken(row),
        releaseTokens(row),
        ...pushPlans.beforeDevice(account_id, device),
      ];
      const results = await store.write([
        ...before,
        putDevice(row),
        trimDevices({ account_id }),
        endActivitiesOfMissingDevices({ account_id }),
        dropOfMissingDevices({ account_id }),
      ]);
      const ms = results[before.length]!.rows[0]?.[0];
      if (typeof ms !== "number") fail("unauthorized");
      wakeSender();
      return { ...device, updated_at: ms / 1000 };
    },

    /** `404` when the account does not have it. */
    async remove(caller: AccountCaller, id: string): Promise<void> {
      const { account_id } = caller;
      const [result] = await store.write([
        deleteDevice({ account_id, id }),
        endActivitiesOfMissingDevices({ account_id }),
        dropOfMissingDevices({ account_id }),
      ]);
      if (result!.changes > 0) return;
      await assertLive(caller);
      failNotFound("device_id");
    },
  };
}
