/**
 * Corrects due times that were written by another clock than this process has now: delays are short,
 * so what is due much later is due now (§11.5.3).
 */

import { IN_BACKGROUND, type Statement, type Store } from "../../db/store/store.ts";
import type { Clock } from "../clock.ts";

/** Seconds between two looks. */
const LOOK_EVERY = 10;

interface DueTimeCorrectionOptions<Key> {
  readonly store: Pick<Store, "read" | "write">;
  readonly clock: Pick<Clock, "now" | "elapsed">;
  /** Finds what has such a due time at `now` (epoch seconds). */
  readonly find: (now: number) => Statement<[key: Key]>;
  /** Makes it due at `now`; `keys`: a JSON list. */
  readonly correct: (keys: string, now: number) => readonly Statement[];
}

/** Returns a function that looks and corrects, at most every `LOOK_EVERY` seconds. */
export function createDueTimeCorrection<Key>({
  store,
  clock,
  find,
  correct,
}: DueTimeCorrectionOptions<Key>) {
  let next = clock.elapsed();
  return async (): Promise<void> => {
    if (clock.elapsed() < next) return;
    const rows = await store.read(find(clock.now()));
    next = clock.elapsed() + LOOK_EVERY;
    if (rows.length === 0) return;
    const keys = JSON.stringify(rows.map(([key]) => key));
    await store.write(correct(keys, clock.now()), IN_BACKGROUND);
  };
}
