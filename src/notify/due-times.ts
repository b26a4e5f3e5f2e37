/**
 * Corrects due times that another clock wrote than this process has now: delays are short, so what is due much later
 * is due now (docs/interface.md 11.5.3).
 */

import { IN_BACKGROUND, type Statement, type Store } from "../../db/store.ts";
import type { Clock } from "../clock.ts";
import { DUE_TIMES } from "../notification-limits.ts";

interface DueTimesOptions<Key> {
  readonly store: Pick<Store, "read" | "write">;
  readonly clock: Pick<Clock, "now" | "elapsed">;
  /** What has such a due time at `now` (epoch seconds). */
  readonly find: (now: number) => Statement<[key: Key]>;
  /** Makes it due at `now`; `keys`: a JSON list. */
  readonly correct: (keys: string, now: number) => readonly Statement[];
}

/** Returns a function that looks and corrects, at most every `DUE_TIMES.every` seconds. */
export function createDueTimes<Key>({ store, clock, find, correct }: DueTimesOptions<Key>) {
  let next = clock.elapsed();
  return async (): Promise<void> => {
    if (clock.elapsed() < next) return;
    const rows = await store.read(find(clock.now()));
    next = clock.elapsed() + DUE_TIMES.every;
    if (rows.length === 0) return;
    const keys = JSON.stringify(rows.map(([key]) => key));
    await store.write(correct(keys, clock.now()), IN_BACKGROUND);
  };
}
