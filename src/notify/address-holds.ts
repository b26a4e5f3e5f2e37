/** Holds back addresses that a service asked to send less to, in the memory of this process. */

import { type Delay, exponentialDelay } from "./channel.ts";

/** Seconds of the first hold of an address at most. It doubles up to an hour. */
export const HOLD_BACKOFF = 30;
const HOLD_BACKOFF_MOST = 3_600;
/** Addresses whose holds are kept. */
const KEPT = 10_000;

interface Hold {
  readonly until: number;
  /** Holds in a row. */
  readonly times: number;
  /** Sequence number among all holds. */
  readonly turn: number;
}

/**
 * Keeps the holds of a lane. `after`: the end of a delay, in seconds of `Clock.elapsed`; without spread, it is `least`
 * from now.
 */
export function createAddressHolds(after: (delay: Delay) => number) {
  const holds = new Map<string, Hold>();
  let turn = 0;
  /** The hold of an address if it began after the request with the turn `made`. */
  const newer = (address: string, made: number) => {
    const held = holds.get(address);
    return held && made < held.turn ? held : undefined;
  };
  return {
    /** Number of the latest hold. Keep it with each request, for `hold` and `release`. */
    turn: (): number => turn,
    /**
     * Holds an address for at least `least` seconds, and longer each time in a row; returns the end.
     * Refusals of requests that were under way together count once.
     */
    hold(address: string, least: number, made: number): number {
      const same = newer(address, made);
      const times = same?.times ?? (holds.get(address)?.times ?? 0) + 1;
      const until = same
        ? Math.max(same.until, after({ least, spread: 0 }))
        : after({ least, spread: exponentialDelay(HOLD_BACKOFF, times, HOLD_BACKOFF_MOST) });
      holds.delete(address);
      // The oldest is dropped: an address that is still refused is held again.
      if (holds.size >= KEPT) holds.delete(holds.keys().next().value!);
      holds.set(address, { until, times, turn: same?.turn ?? ++turn });
      return until;
    },
    /** The end of an address's hold; 0 if it is not held. */
    until: (address: string): number => holds.get(address)?.until ?? 0,
    /** Ends the hold of an address that accepted a request, unless the request is older than the hold. */
    release(address: string, made: number): void {
      if (!newer(address, made)) holds.delete(address);
    },
  };
}
