/** Retries a step while the store is unavailable. */

import type { Clock } from "../clock.ts";
import { describeError, type Log } from "../log.ts";
import { PUSH } from "../notification-limits.ts";

interface RetryOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** The log message of each failed attempt. */
  readonly event: string;
  readonly isStopping: () => boolean;
}

/**
 * Returns a function that retries `attempt` every `PUSH.poll_every` seconds until `until`, a moment
 * of {@link Clock.elapsed}, or a stop. After that it throws the last error.
 */
export function createRetryUntil({ clock, log, event, isStopping }: RetryOptions) {
  return async <T>(attempt: () => Promise<T>, until: number): Promise<T> => {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (isStopping() || clock.elapsed() + PUSH.poll_every >= until) throw error;
        log.warn(event, describeError(error));
        await new Promise<void>((next) => clock.after(PUSH.poll_every, next));
      }
    }
  };
}
