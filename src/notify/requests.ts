/** What the requests of all push channels share: the time limit, and how they fail. */

import type { Clock } from "../clock.ts";
import { PUSH } from "../notification-limits.ts";

interface TimedRequest {
  readonly signal: AbortSignal;
  /** Whether the time limit ended it. */
  readonly isLate: () => boolean;
  /** To be called once it is over, however it ended. */
  readonly end: () => void;
}

/** Each request is given up after `PUSH.time_limit`, or when the service stops. */
export function createTimedRequests(clock: Pick<Clock, "after">) {
  const under_way = new Set<AbortController>();
  return {
    /** Gives up what is under way. */
    abort(): void {
      for (const controller of under_way) controller.abort();
    },

    begin(): TimedRequest {
      const controller = new AbortController();
      under_way.add(controller);
      let late = false;
      const cancel = clock.after(PUSH.time_limit, () => {
        late = true;
        controller.abort();
      });
      return {
        signal: controller.signal,
        isLate: () => late,
        end() {
          under_way.delete(controller);
          cancel();
        },
      };
    },
  };
}

/** Codes of faults before anything of the request could leave: no connection, or none to be trusted. */
export const UNCONNECTED =
  /^(ECONNREFUSED|ConnectionRefused|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|DNS|CERT|ERR_TLS|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|FailedToOpenSocket)/;

/** The code of what `fetch` threw, else its name. */
export function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === "string" && code !== "" ? code : String(name ?? "unknown");
}
