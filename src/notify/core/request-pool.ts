/**
 * Shares the requests that Bun's HTTP client makes at once among lanes. Beyond its limit requests wait,
 * including those to a libSQL server: services that hang must not use all of it.
 */

import { once, type Release } from "./under-way.ts";

/**
 * Requests under way at once over all lanes that use Bun's HTTP client, and how many each of these lanes
 * always gets. Bun makes 256 at once in a process, of which a libSQL server takes up to 6.
 */
export const REQUESTS = 248;
export const RESERVED = 16;

/** The share of one lane in a pool. */
export interface LaneSlots {
  /** Requests that may begin now. */
  room(): number;
  /** Takes as many requests as there is room for, at most `most`. */
  take(most: number): Release[];
}

/** A pool of `total` requests. Each lane can always have `reserved` of them. */
export function createRequestPool(total: number, reserved: number) {
  const lanes: { taken: number }[] = [];
  return {
    /** Adds a lane with at most `most` requests at once. */
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
        return once(() => void own.taken--);
      };
      return { room, take: (most) => Array.from({ length: Math.min(most, room()) }, takeOne) };
    },
  };
}
