/**
 * Leases that this process has seen on pushes, and for how long. A lease is over once the same one
 * stood for its whole length by this process's own clock, whatever the stamps of others say
 * (docs/interface.md 11.5).
 */

import type { Clock } from "../clock.ts";
import { PUSH } from "../notification-limits.ts";

/** `seconds`: how long a lease lasts. */
export function createLeaseWatch(clock: Clock, seconds: number = PUSH.lease) {
  /** When each was seen first, by {@link Clock.elapsed}. */
  let seen = new Map<string, number>();
  return {
    /**
     * Takes all leases that the store holds now; gives those that are over. Each claim has a lease
     * of its own, so one that is seen again was neither given back nor renewed. Those that are not
     * `present` any more are forgotten.
     */
    lapsed(present: readonly string[]): string[] {
      const now = clock.elapsed();
      seen = new Map(present.map((lease) => [lease, seen.get(lease) ?? now]));
      return present.filter((lease) => now - seen.get(lease)! >= seconds);
    },
  };
}
