/** Lists of an embedded store: they take turns with each other and with all other work of the event loop. */

import type { Clock } from "../src/clock.ts";
import { LIMITS } from "../src/limits.ts";
import { createFairQueue } from "./fair-queue.ts";
import { type Statement, unavailable, type WriteResult } from "./store.ts";

type Run = (statement: Statement, within: number) => WriteResult | Promise<WriteResult>;

interface Entry {
  readonly statement: Statement;
  /** When it is given up, by {@link Clock.elapsed}. */
  readonly due: number;
  readonly resolve: (result: WriteResult | Promise<WriteResult>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Seconds of lists in one turn of the event loop: the next one begins only within it. Shorter slices
 * cost ordinary lists a third of their rate, since each turn has a price.
 */
const SLICE = 0.01;
/** Promises that a list goes through until its answer is made, about. */
const HOPS = 16;

/**
 * A large list takes tens of milliseconds of the event loop, and a client may ask for many at once.
 * So few begin in each turn, one of each owner in its turn (docs/interface.md 11).
 */
export function createListReader(run: Run, clock: Clock) {
  const queue = createFairQueue<Entry>();

  let pumping = false;

  const pump = async (): Promise<void> => {
    pumping = true;
    let from = clock.elapsed();
    while (queue.size() > 0) {
      const { statement, due, resolve, reject } = queue.take()!;
      const now = clock.elapsed();
      try {
        if (now >= due) throw unavailable("too many lists wait");
        resolve(run(statement, due - now));
      } catch (error) {
        reject(error);
      }
      // Its answer is made before the next list is read: its rows are let go of, and its time counts.
      for (let hop = 0; hop < HOPS; hop++) await null;
      if (clock.elapsed() - from < SLICE) continue;
      await new Promise<void>((next) => setImmediate(next));
      from = clock.elapsed();
    }
    pumping = false;
  };

  return {
    /** As the store's own read; `503 store_unavailable` when it has no turn `within` seconds. */
    read(owner: string, statement: Statement, within: number): Promise<WriteResult> {
      if (queue.size() >= LIMITS.lists_queued) {
        return Promise.reject(unavailable("too many lists wait"));
      }
      return new Promise((resolve, reject) => {
        queue.add(owner, { statement, due: clock.elapsed() + within, resolve, reject });
        if (!pumping) void pump();
      });
    },
  };
}
