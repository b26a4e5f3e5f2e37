/** A bound for work that may hang, such as on a disk that does not answer. */

import type { Clock } from "../../src/clock.ts";

/** Rejects with `late` if work does not end in so many seconds. The work then goes on. */
export async function inTime<T>(
  work: Promise<T>,
  { clock, seconds, late }: Pick<Bound, "clock" | "seconds" | "late">,
): Promise<T> {
  const over = Promise.withResolvers<never>();
  const cancel = clock.after(seconds, () => over.reject(late()));
  return Promise.race([work, over.promise]).finally(cancel);
}

/** Seconds in which aborted work may clean up. */
const CLEAN_UP = 5;

interface Bound {
  readonly clock: Clock;
  /** Seconds that the work may take. */
  readonly seconds: number;
  /** Why it is ended then. */
  readonly late: () => Error;
  /** Ends it earlier, with its reason. */
  readonly signal: AbortSignal;
}

/**
 * Runs work with a signal that aborts in time. Rejects with the reason of that signal, also if the work does not end:
 * a call of the system cannot be taken back.
 */
export async function withDeadline<T>(
  run: (signal: AbortSignal) => Promise<T>,
  { clock, seconds, late, signal }: Bound,
): Promise<T> {
  const overdue = new AbortController();
  const ended = AbortSignal.any([signal, overdue.signal]);
  const hanging = Promise.withResolvers<never>();
  let cancel = clock.after(seconds, () => overdue.abort(late()));
  const cleanUp = () => {
    cancel();
    cancel = clock.after(CLEAN_UP, () => hanging.reject(ended.reason));
  };
  ended.addEventListener("abort", cleanUp, { once: true });
  if (ended.aborted) cleanUp();
  try {
    return await Promise.race([run(ended), hanging.promise]);
  } catch (error) {
    throw ended.aborted ? ended.reason : error;
  } finally {
    cancel();
    ended.removeEventListener("abort", cleanUp);
  }
}
