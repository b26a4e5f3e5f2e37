/** Logs when this process stood still: stopped by a signal, starved of processor time, or blocked by its own work. */

import type { Cancel, Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { counter } from "./metrics.ts";

/** Seconds between two looks. */
const LOOK_EVERY = 1;
/** A look that is late by as many seconds shows a standstill. Shorter ones are in `nodejs_eventloop_lag_*`. */
const LATE = 3;

interface StandstillOptions {
  readonly clock: Pick<Clock, "elapsed" | "after">;
  /** CPU time of this process so far, in seconds. */
  readonly cpuSeconds: () => number;
  readonly log: Log;
}

export function createStandstillWatch({ clock, cpuSeconds, log }: StandstillOptions) {
  let cancel: Cancel = () => {};
  let total = 0;

  const arm = () => {
    const [at, cpu] = [clock.elapsed(), cpuSeconds()];
    cancel = clock.after(LOOK_EVERY, () => {
      const late = clock.elapsed() - at - LOOK_EVERY;
      if (late >= LATE) {
        total += late;
        // With as much CPU time as it lasted, the process was busy itself.
        log.warn("this process stood still", {
          seconds: round(late),
          cpu_seconds: round(cpuSeconds() - cpu),
        });
      }
      arm();
    });
  };

  const metrics = [
    counter(
      "relay_standstill_seconds_total",
      "Time in which this process stood still for 3 seconds or longer.",
      () => total,
    ),
  ];

  return { metrics, start: arm, stop: (): void => cancel() };
}

const round = (seconds: number): number => Math.round(seconds * 10) / 10;
