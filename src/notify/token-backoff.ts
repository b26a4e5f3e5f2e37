/** Back-off of addresses that a push service asked to slow down, in the memory of this process. */

import { PUSH } from "../notification-limits.ts";
import { type Delay, grown } from "./channel.ts";

interface Hold {
  readonly until: number;
  /** How often in a row. */
  readonly times: number;
  /** Sequence number among all holds. */
  readonly turn: number;
}

/** `after`: the end of a delay, in seconds of `Clock.elapsed`; without spread, `least` from now. */
export function createTokenBackoff(after: (delay: Delay) => number) {
  const holds = new Map<string, Hold>();
  let turn = 0;
  /**
   * The hold of an address that began after a request (`made`: its `turn`), whose answer therefore
   * says nothing about it.
   */
  const newer = (address: string, made: number) => {
    const held = holds.get(address);
    return held && made < held.turn ? held : undefined;
  };
  return {
    /** Number of the latest hold: keep it with each request, for `hold` and `release`. */
    turn: (): number => turn,
    /**
     * Holds an address for `least` seconds, longer each time in a row; returns the end of the hold.
     * Refusals of requests that were under way together count once.
     */
    hold(address: string, least: number, made: number): number {
      const same = newer(address, made);
      const times = same?.times ?? (holds.get(address)?.times ?? 0) + 1;
      const until = same
        ? Math.max(same.until, after({ least, spread: 0 }))
        : after({ least, spread: grown(PUSH.token_backoff, times, PUSH.token_backoff_most) });
      holds.delete(address);
      // The oldest one is dropped: an address that is still refused is held again.
      if (holds.size >= PUSH.held_tokens) holds.delete(holds.keys().next().value!);
      holds.set(address, { until, times, turn: same?.turn ?? ++turn });
      return until;
    },
    /** The end of its hold; 0 if it is not held. */
    until: (address: string): number => holds.get(address)?.until ?? 0,
    /** The address accepts notifications; a request from before the hold does not prove that. */
    release(address: string, made: number): void {
      if (!newer(address, made)) holds.delete(address);
    },
  };
}
