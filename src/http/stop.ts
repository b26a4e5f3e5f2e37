/** Stops the process in order: requests are served, then streams and waits end, and the store is closed. */

import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Traces } from "../observability/traces.ts";

/**
 * Seconds that requests under way have at a stop, those of the drain included, before their connections are cut, and
 * at least those after the drain. With `CLOSE_WITHIN` a stop takes 8: Docker kills a process after 10, and a busy
 * machine takes longer.
 */
const STOP_WITHIN = 7.4;
const LEAST_AFTER_DRAIN = 2.4;
/** Seconds after that in which the store is closed; then the stop ends without it. */
const CLOSE_WITHIN = 0.6;
/** How many seconds before the connections are cut the notifications under way are given up. */
const SENDING_ENDS_BEFORE = 0.4;
/** Seconds in which a stop sends the last traces. */
const TRACES_WITHIN = 0.5;

interface StopOptions {
  readonly server: { stop(cut?: boolean): Promise<void> };
  readonly endStreams: () => void;
  readonly stopMonitor: () => void;
  /** Ends waits, jobs and notifications; the latter are given up after so many seconds. */
  readonly stopWork: (seconds: number) => Promise<void>;
  /** Writes what waits to be written, and closes the store. */
  readonly closeStore: () => Promise<void>;
  /** False while the store cannot be used. */
  readonly usable: () => boolean;
  readonly traces: Traces | null;
  readonly timers: Pick<Clock, "after">;
  readonly log: Log;
}

/** Returns a function that serves requests for `drain` seconds more, and then stops. */
export function createStop(options: StopOptions) {
  const { server, traces, timers, log } = options;
  return async (drain: number): Promise<void> => {
    if (drain > 0) await new Promise<void>((resolve) => void timers.after(drain, resolve));
    // Refuse new requests, end streams and waits, stop jobs, drain, write the request log, close the store.
    const drained = server.stop();
    options.endStreams();
    options.stopMonitor();
    const left = Math.max(STOP_WITHIN - drain, LEAST_AFTER_DRAIN);
    const cut = timers.after(left, () => void server.stop(true));
    const late = Promise.withResolvers<void>();
    const cancel = timers.after(left + CLOSE_WITHIN, () => {
      // What was acknowledged is on disk.
      log.warn("stop cut short", { reason: options.usable() ? "too slow" : "store unavailable" });
      late.resolve();
    });
    const end = async () => {
      await options.stopWork(left - SENDING_ENDS_BEFORE);
      await drained;
      cut();
      await Promise.all([options.closeStore(), traces?.stop(TRACES_WITHIN)]);
    };
    await Promise.race([end().finally(cancel), late.promise]).finally(log.flush);
  };
}
