/**
 * Finds the leases that have run out. A lease is over once this process has seen it unchanged for
 * its whole length by its own clock, whatever timestamps other processes wrote
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
     * Given all leases that are in the store now, returns those that are over. Each claim has a
     * lease of its own, so one that is seen again was neither given back nor renewed. Leases that
     * are not `present` are forgotten.
     */
    lapsed(present: readonly string[]): string[] {
      const now = clock.elapsed();
      seen = new Map(present.map((lease) => [lease, seen.get(lease) ?? now]));
      return present.filter((lease) => now - seen.get(lease)! >= seconds);
    },
  };
}
