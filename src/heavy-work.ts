/** Work that takes milliseconds of the event loop, such as lists and large bodies: it takes turns. */

import type { Clock } from "./clock.ts";
import { ServiceError } from "./errors.ts";
import { createFairQueue } from "./fair-queue.ts";
import { HEAVY_WORK } from "./limits.ts";

/** About the number of promises that a piece of work goes through until its result is there. */
const HOPS = 16;

/** The error when too many pieces are queued. */
export const tooMuchWork = (): ServiceError =>
  new ServiceError("store_unavailable", { cause: "too much work waits" });

const turn = (): Promise<void> => new Promise((next) => setImmediate(next));

export type HeavyWork = ReturnType<typeof createHeavyWork>;

/**
 * A page of 1 MiB or the parse of a body of 256 KiB takes up to tens of milliseconds of the event loop,
 * and one client may ask for many at once. Each waits here for its turn, one of each owner after the
 * other. After `HEAVY_WORK.slice` seconds of such work, several turns of the loop go to everything
 * else, as an ordinary request takes a few of them (docs/interface.md 11.2.4).
 */
export function createHeavyWork(clock: Pick<Clock, "elapsed">) {
  const queue = createFairQueue<() => void>();
  /** Seconds of such work since other work had its turns. */
  let used = 0;
  let pumping = false;
  let armed = false;

  /** Ends a slice that is not used up with its turn of the loop. */
  const arm = (): void => {
    if (armed) return;
    armed = true;
    setImmediate(() => {
      armed = false;
      if (used < HEAVY_WORK.slice) used = 0;
    });
  };

  const pump = async (): Promise<void> => {
    pumping = true;
    while (queue.size() > 0) {
      if (used >= HEAVY_WORK.slice) {
        for (let turns = 0; turns < HEAVY_WORK.pause_turns; turns++) await turn();
        used = 0;
      }
      const from = clock.elapsed();
      queue.take()!();
      // Its result is made before the next one begins: memory is let go of, and its time counts.
      for (let hop = 0; hop < HOPS; hop++) await null;
      used += clock.elapsed() - from;
      arm();
    }
    pumping = false;
  };

  return {
    /**
     * Resolves once `owner` may begin its next piece of work, which then runs without delay. Throws
     * `503 store_unavailable` when `HEAVY_WORK.queued` pieces wait. A caller that gives up leaves its
     * place, which costs nothing when its turn comes.
     */
    next(owner: string): Promise<void> {
      if (queue.size() >= HEAVY_WORK.queued) return Promise.reject(tooMuchWork());
      return new Promise((begin) => {
        queue.add(owner, begin);
        if (!pumping) void pump();
      });
    },
  };
}
