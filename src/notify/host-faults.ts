/**
 * Hosts that have not answered lately, in the memory of this process: each is tried by one request
 * at a time.
 */

import type { Clock } from "../clock.ts";
import { PUSH } from "../notification-limits.ts";
import { grown } from "./channel.ts";

interface Fault {
  readonly times: number;
  /** By {@link Clock.elapsed}. */
  readonly until: number;
  readonly probing: boolean;
}

/** Hosts remembered, at most; the oldest is dropped. */
const REMEMBERED = 10_000;

/**
 * Keeps the hosts that failed and how long to wait for each. The wait grows with each failure in a
 * row.
 */
export function createHostFaults(clock: Pick<Clock, "elapsed">) {
  const faults = new Map<string, Fault>();

  const note = (host: string, fault: Fault) => {
    faults.delete(host);
    if (faults.size >= REMEMBERED) faults.delete(faults.keys().next().value!);
    faults.set(host, fault);
  };

  return {
    /**
     * Seconds until a request to the host may be tried. At 0 the caller may try, and must report
     * the outcome by `answered` or `failed`.
     */
    wait(host: string): number {
      const fault = faults.get(host);
      if (!fault) return 0;
      const left = fault.until - clock.elapsed();
      if (fault.probing || left > 0) return Math.max(1, left);
      note(host, { ...fault, probing: true });
      return 0;
    },

    answered(host: string): void {
      faults.delete(host);
    },

    failed(host: string): void {
      const times = (faults.get(host)?.times ?? 0) + 1;
      const until = clock.elapsed() + grown(PUSH.lost_backoff, times, PUSH.lost_backoff_most);
      note(host, { times, until, probing: false });
    },
  };
}
