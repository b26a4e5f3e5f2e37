/** Paces the requests of a load, so that the rate limit leaves room for what the person does. */

import { TRPCClientError } from "@trpc/client";
import { pause, systemTimers } from "../../client/timers.ts";
import { elapsed } from "../clock.ts";
import { type Api, faultOf } from "./api.ts";

/** Share of the quota that a load leaves free. */
const RESERVE = 1 / 4;
/** Seconds before a rate-limited call is repeated, if the server does not say. */
const AGAIN = 1;

export type Pace = ReturnType<typeof createPace>;

/** Makes the calls of a session. When the token is replaced, both members are. */
export interface Calls {
  api: Api;
  pace: Pace;
}

/** Paces the calls of one token, by the `RateLimit` headers of its responses. */
export function createPace() {
  /** When the quota has refilled enough for a load to continue, in seconds of `elapsed`. */
  let free_at = 0;

  return {
    /** Reads the `RateLimit` headers of a response. */
    note(headers: Headers): void {
      const window = numberIn(headers.get("ratelimit-policy"), "w");
      const full_in = numberIn(headers.get("ratelimit"), "t");
      if (window !== null && full_in !== null) {
        free_at = elapsed() + full_in - (1 - RESERVE) * window;
      }
    },

    /** Runs the call once the quota allows it, and again while it is rate limited. */
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

/** Value of a parameter, such as `t` in `"account";r=12;t=3`. */
function numberIn(header: string | null, name: string): number | null {
  const found = new RegExp(`;${name}=(\\d+)`).exec(header ?? "")?.[1];
  return found === undefined ? null : Number(found);
}

/** Seconds after which a rate-limited call may be repeated; null for any other error. */
function refusedFor(error: unknown): number | null {
  const { code, retry_after } = faultOf(error);
  if (code !== "rate_limited") return null;
  const meta = error instanceof TRPCClientError ? error.meta : null;
  const { response } = (meta ?? {}) as { readonly response?: Response };
  return retry_after || Number(response?.headers.get("retry-after") ?? AGAIN) || AGAIN;
}
