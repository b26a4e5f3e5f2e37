/** Where a device shows a task: the update token of its live activity (docs/interface.md 5.6). */

import { z } from "zod";
import { PushToken } from "./device.ts";
import { Id } from "./text.ts";

/** Identifies the registration; `404` for what is not the account's. */
export const LiveActivityName = z
  .strictObject({ task_id: Id, device_id: Id })
  .meta({ id: "LiveActivityRemoval" });
export type LiveActivityName = z.infer<typeof LiveActivityName>;

/** The token is stored lowercase. */
export const LiveActivityInput = LiveActivityName.extend({ push_token: PushToken }).meta({
  id: "LiveActivityRegistration",
});
export type LiveActivityInput = z.infer<typeof LiveActivityInput>;
