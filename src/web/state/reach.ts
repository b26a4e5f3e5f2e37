/** Whether a notification can reach the person while the page is closed, as last known. */

import { createListeners } from "../observable.ts";
import type { Channel } from "./api.ts";
import { local } from "./storage.ts";

/** In local storage: `1` if nothing reaches the person. */
const UNREACHED = "unreached";

const changes = createListeners();
export const onReach = changes.subscribe;

/** True if nothing reaches the person, as far as is known. */
export const isUnreached = (): boolean => local.get(UNREACHED) === "1";

/** Notes what the account has. `devices`: true if one has a push token; undefined: not known now. */
export function noteReach(
  channels: readonly Pick<Channel, "type" | "state">[],
  devices?: boolean,
): void {
  const found = channels.some(({ type, state }) => type !== "webhook" && state !== "gone");
  // Without a look at the devices, only what was found changes anything.
  if (!found && devices === undefined) return;
  if (found || devices) local.remove(UNREACHED);
  else local.set(UNREACHED, "1");
  changes.tell();
}
