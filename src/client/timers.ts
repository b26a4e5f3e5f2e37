/** The client's clock and timers, which tests replace. */

import type { Clock } from "../clock.ts";

/** `jitter` returns a random number, at least 0 and below 1. */
export type Timers = Pick<Clock, "elapsed" | "after"> & { readonly jitter: () => number };

/** The real timers. A pending timer keeps the process alive. */
export const systemTimers: Timers = {
  elapsed: () => performance.now() / 1000,
  after(seconds, run) {
    const timer = setTimeout(run, Math.max(0, seconds * 1000));
    return () => clearTimeout(timer);
  },
  jitter: () => Math.random(),
};

/** Resolves after `seconds`; rejects with the signal's reason once it aborts. */
export async function pause(timers: Timers, seconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  if (seconds <= 0) return;
  let cancel = () => {};
  let stop = () => {};
  // Node.js 20 has no Promise.withResolvers.
  const passed = new Promise<void>((resolve, reject) => {
    cancel = timers.after(seconds, resolve);
    stop = () => reject(signal?.reason);
    signal?.addEventListener("abort", stop);
  });
  await passed.finally(() => {
    cancel();
    signal?.removeEventListener("abort", stop);
  });
}

/** Seconds before each retry; the last one repeats. */
const BACKOFF = [0.5, 1, 2, 4, 8, 15] as const;

/** Seconds before the next attempt after `failures` failures in a row, varied by a quarter. */
export function backoff(timers: Timers, failures: number): number {
  const seconds = BACKOFF[failures] ?? BACKOFF.at(-1)!;
  return seconds * (0.75 + timers.jitter() / 2);
}
