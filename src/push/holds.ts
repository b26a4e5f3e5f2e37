/** Tokens that the push service told to slow down, in the memory of this process. */

import { PUSH } from "../limits.ts";
import { type Delay, grown } from "./answers.ts";

interface Hold {
  readonly until: number;
  /** How often in a row. */
  readonly times: number;
}

/** `after`: the time at the end of a delay, in epoch seconds. */
export function createHolds(after: (delay: Delay) => number) {
  const holds = new Map<string, Hold>();
  return {
    /** Holds it for `least` seconds and more each time; gives until when. */
    hold(token: string, least: number): number {
      const times = (holds.get(token)?.times ?? 0) + 1;
      const until = after({
        least,
        spread: grown(PUSH.token_backoff, times, PUSH.token_backoff_most),
      });
      holds.delete(token);
      // The oldest one goes: a token that is still refused is held anew.
      if (holds.size >= PUSH.held_tokens) holds.delete(holds.keys().next().value!);
      holds.set(token, { until, times });
      return until;
    },
    /** Until when it is held; 0 when it is not. */
    until: (token: string): number => holds.get(token)?.until ?? 0,
    release: (token: string): boolean => holds.delete(token),
  };
}
