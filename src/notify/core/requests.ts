/** Shared by the requests of all channels: their time limit, how they fail, and `Retry-After`. */

import type { Clock } from "../../clock.ts";

/** Seconds until a request without an answer is given up. */
export const TIME_LIMIT = 5;
/** Seconds of the longest `Retry-After` that channels with a lane obey. */
export const HOLD_MOST = 3_600;

/** Requests that are given up after {@link TIME_LIMIT}, or when the service stops. */
export function createTimedRequests(clock: Pick<Clock, "after">) {
  const under_way = new Set<AbortController>();
  return {
    /** Aborts all requests under way. */
    abort(): void {
      for (const controller of under_way) controller.abort();
    },

    /** Begins a request. `isLate`: whether the time limit ended it. `end` must be called when it is over. */
    begin() {
      const controller = new AbortController();
      under_way.add(controller);
      let late = false;
      const cancel = clock.after(TIME_LIMIT, () => {
        late = true;
        controller.abort();
      });
      return {
        signal: controller.signal,
        isLate: () => late,
        end(): void {
          under_way.delete(controller);
          cancel();
        },
      };
    },
  };
}

/** Error codes from before the request was sent: there was no connection, or none to be trusted. */
export const UNCONNECTED =
  /^(ECONNREFUSED|ConnectionRefused|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|DNS|CERT|ERR_TLS|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|FailedToOpenSocket|ERR_PROXY_TUNNEL)/;

/** The code of an error that `fetch` threw, or else its name. */
export function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === "string" && code !== "" ? code : String(name ?? "unknown");
}

/** The text of a body. Throws if it has more than `most` bytes. The caller bounds the time. */
export async function readText({ body }: Response, most: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.byteLength;
    if (bytes > most) throw new Error("the answer has too many bytes");
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/**
 * Seconds of a `Retry-After` header: a number, or a date (RFC 9110 10.2.3); null for anything else.
 * `now`: epoch seconds. The server may ask for any time: the caller limits it.
 */
export function retryAfter(header: unknown, now: number): number | null {
  if (typeof header !== "string") return null;
  if (/^\d+$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil(at / 1000 - now));
}
