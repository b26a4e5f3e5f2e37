/** Paces the many calls of a load, so that the rate limit leaves something to the person meanwhile. */

import { TRPCClientError } from "@trpc/client";
import { pause, systemTimers } from "../../client/timers.ts";
import { elapsed } from "../clock.ts";

/** The part of the quota that a load leaves alone. */
const RESERVE = 1 / 4;
/** Seconds until a refused call is made again, if the server names none. */
const AGAIN = 1;

export type Pace = ReturnType<typeof createPace>;

export function createPace() {
  /** When so much of the quota is there that a load may go on, as `elapsed` counts. */
  let free_at = 0;

  return {
    /** Takes what an answer tells of the limit. */
    note(headers: Headers): void {
      const window = numberIn(headers.get("ratelimit-policy"), "w");
      const full_in = numberIn(headers.get("ratelimit"), "t");
      if (window !== null && full_in !== null) {
        free_at = elapsed() + full_in - (1 - RESERVE) * window;
      }
    },

    /** Makes the call once the limit has room for it, and again for as long as it is refused for that. */
    async call<Result>(signal: AbortSignal, run: () => Promise<Result>): Promise<Result> {
      for (;;) {
        await pause(systemTimers, free_at - elapsed(), signal);
        try {
          return await run();
        } catch (error) {
          const seconds = refusedFor(error);
          if (seconds === null || signal.aborted) throw error;
          await pause(systemTimers, seconds, signal);
        }
      }
    },
  };
}

/** The value of a parameter such as `t` in `"account";r=12;t=3`. */
function numberIn(header: string | null, name: string): number | null {
  const found = new RegExp(`;${name}=(\\d+)`).exec(header ?? "")?.[1];
  return found === undefined ? null : Number(found);
}

/** Seconds after which a call that was rate limited may come again; null for any other error. */
function refusedFor(error: unknown): number | null {
  if (!(error instanceof TRPCClientError) || error.data?.code_name !== "rate_limited") return null;
  const { response } = (error.meta ?? {}) as { readonly response?: Response };
  return Number(response?.headers.get("retry-after") ?? AGAIN) || AGAIN;
}
