/** What the requests of all push channels share: the time limit, and how they fail. */

import type { Clock } from "../clock.ts";
import { PUSH } from "../notification-limits.ts";

interface TimedRequest {
  readonly signal: AbortSignal;
  /** Whether the time limit ended it. */
  readonly isLate: () => boolean;
  /** Call it once the request is over, however it ended. */
  readonly end: () => void;
}

/** Each request is given up after `PUSH.time_limit`, or when the service stops. */
export function createTimedRequests(clock: Pick<Clock, "after">) {
  const under_way = new Set<AbortController>();
  return {
    /** Aborts all requests under way. */
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

/**
 * Error codes from before any of the request was sent: no connection, or none that could be
 * trusted.
 */
export const UNCONNECTED =
  /^(ECONNREFUSED|ConnectionRefused|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|DNS|CERT|ERR_TLS|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|FailedToOpenSocket|ERR_PROXY_TUNNEL)/;

/** The code of what `fetch` threw, else its name. */
export function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === "string" && code !== "" ? code : String(name ?? "unknown");
}

/** The text of a body; throws when it has more than `most` bytes. The caller bounds the time. */
export async function readText({ body }: Response, most: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.byteLength;
    if (bytes > most) throw new Error("an answer of too many bytes");
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
