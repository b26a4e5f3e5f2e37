/** Repeats a call that failed but may succeed later. */

import { RelayError } from "./error.ts";
import { backoff, pause, type Timers } from "./timers.ts";

export interface RetryOptions {
  /** Seconds after which no further attempt begins. */
  readonly within: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs `work` until it succeeds or fails for good; then throws its error. Between two attempts it waits for
 * `Retry-After`, or else for a growing time of up to 15 seconds.
 */
export async function retry<Result>(
  timers: Timers,
  { within, signal }: RetryOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const end = timers.elapsed() + within;
  for (let failures = 0; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RelayError) || !error.is_transient) throw error;
      const seconds = error.retry_after ?? backoff(timers, failures);
      if (timers.elapsed() + seconds > end) throw error;
      await pause(timers, seconds, signal);
    }
  }
}
