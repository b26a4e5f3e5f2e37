/**
 * Shares the requests that Bun's HTTP client makes at once among lanes. Beyond its limit requests wait, those
 * to a libSQL server too: push services that hang must not use all of it.
 */

import type { Release } from "./host-slots.ts";

/** What one lane may take of a pool. */
export interface LaneSlots {
  /** Requests that it may begin now. */
  room(): number;
  /** Takes as many as there is room for, `most` at most. */
  take(most: number): Release[];
}

/** A pool of `total` requests, of which each lane can have `reserved` whatever the others do. */
export function createRequestPool(total: number, reserved: number) {
  const lanes: { taken: number }[] = [];
  return {
    /** Adds a lane, which has at most `most` requests at once. */
    lane(most = total): LaneSlots {
      const own = { taken: 0 };
      lanes.push(own);
      const room = (): number => {
        let left = total;
        for (const lane of lanes) left -= lane === own ? own.taken : Math.max(lane.taken, reserved);
        return Math.max(0, Math.min(left, most - own.taken));
      };
      const takeOne = (): Release => {
        own.taken++;
        let held = true;
        return () => {
          if (held) own.taken--;
          held = false;
        };
      };
      return { room, take: (most) => Array.from({ length: Math.min(most, room()) }, takeOne) };
    },
  };
}
