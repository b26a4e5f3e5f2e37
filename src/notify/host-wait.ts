/** The wait of a request for a connection to its host. */

import type { Clock } from "../clock.ts";
import { PUSH } from "../notification-limits.ts";
import type { RequestOrigin } from "./channel.ts";
import type { HostSlots, Release } from "./host-slots.ts";

interface HostWait {
  readonly slots: HostSlots;
  readonly clock: Pick<Clock, "after">;
  readonly host: string;
  readonly origin: RequestOrigin;
}

/** A connection that the caller must release; null if none was free in time. */
export async function waitForHost({ slots, clock, host, origin }: HostWait) {
  const late = new AbortController();
  const release: Promise<Release | null> = slots.wait(host, { ...origin, until: late.signal });
  const { connection_wait, queued_connection_wait } = PUSH;
  const seconds = origin.is_test ? connection_wait : queued_connection_wait;
  const cancel = clock.after(seconds, () => late.abort());
  return release.finally(cancel);
}
