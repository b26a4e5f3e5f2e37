/** Back-off of addresses that a push service asked to slow down, in the memory of this process. */

import { PUSH } from "../notification-limits.ts";
import { type Delay, grown } from "./channel.ts";

interface Hold {
  readonly until: number;
  /** How often in a row. */
  readonly times: number;
  /** Which hold of all it is. */
  readonly turn: number;
}

/** `after`: the end of a delay, in seconds of `Clock.elapsed`; without spread, `least` from now. */
export function createTokenBackoff(after: (delay: Delay) => number) {
  const holds = new Map<string, Hold>();
  let turn = 0;
  /** The hold that began after a request had been made, in `made`: its answer knows nothing of it. */
  const newer = (address: string, made: number) => {
    const held = holds.get(address);
    return held && made < held.turn ? held : undefined;
  };
  return {
    /** To be kept with each request when it is made. */
    turn: (): number => turn,
    /**
     * Holds it for `least` seconds and more each time; gives until when. Requests that were under
     * way together count once.
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
    /** Until when it is held; 0 when it is not. */
    until: (address: string): number => holds.get(address)?.until ?? 0,
    /** The address accepts notifications; a request from before the hold does not prove that. */
    release(address: string, made: number): void {
      if (!newer(address, made)) holds.delete(address);
    },
  };
}
