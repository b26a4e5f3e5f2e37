/**
 * Finds leases that have run out. A lease is over once this process has seen it for its whole length
 * by its own clock, whatever times other processes wrote (§11.5).
 */

import type { Clock } from "../../clock.ts";
import { POLL_EVERY } from "./worker-loop.ts";

/**
 * Seconds until another process may send what this one claimed: longer than two requests with their
 * time limits.
 */
export const LEASE = 15;
/** Leases of one lane that are watched at once. */
const WATCHED = 1_000;

/**
 * Returns a function that reads the leases in the store, at most `limit` of them and at most every
 * {@link POLL_EVERY} seconds, and returns those that are over; null between two reads. Each claim has a lease of its own, so one that is seen
 * again was neither given back nor renewed.
 */
export function createLeaseWatch(
  clock: Pick<Clock, "elapsed">,
  read: (limit: number) => Promise<readonly [lease: string][]>,
) {
  /** When each was first seen, by {@link Clock.elapsed}. */
  let seen = new Map<string, number>();
  let next_look = clock.elapsed();
  return async (): Promise<string[] | null> => {
    if (clock.elapsed() < next_look) return null;
    const leases = (await read(WATCHED)).map(([lease]) => lease);
    // The time after the read: a lease must not seem older than it is.
    const now = clock.elapsed();
    next_look = now + POLL_EVERY;
    seen = new Map(leases.map((lease) => [lease, seen.get(lease) ?? now]));
    return leases.filter((lease) => now - seen.get(lease)! >= LEASE);
  };
}
