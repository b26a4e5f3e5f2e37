/** Repeats calls whose failure may pass. */

import { RelayError } from "./error.ts";
import type { CallOptions } from "./send.ts";
import { backoff, pause, type Timers } from "./timers.ts";

interface RetryOptions extends CallOptions {
  /** Seconds after which no further attempt begins. */
  readonly within: number;
}

/**
 * Runs `work` until it succeeds, or throws its error once repeating is pointless. Between two attempts it waits for
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
