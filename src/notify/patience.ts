/** Repeats an attempt while the store is away. */

import type { Clock } from "../clock.ts";
import { describeError, type Log } from "../log.ts";
import { PUSH } from "../notification-limits.ts";

interface PatienceOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** What is logged at each failure. */
  readonly event: string;
  readonly isStopping: () => boolean;
}

/** Repeats an attempt until a moment of {@link Clock.elapsed} or a stop; then it throws. */
export function createPatience({ clock, log, event, isStopping }: PatienceOptions) {
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
