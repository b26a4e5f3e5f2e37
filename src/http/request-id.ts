/** The id of a request, in its response and in every log line about it (§1.2.11). */

import type { Ids } from "../ids.ts";

/** What an id from a proxy may consist of: it is logged and sent back as it is. */
const ACCEPTED = /^[A-Za-z0-9._:+/=@-]{1,128}$/;

export const REQUEST_ID = "x-request-id";

interface RequestIdsOptions {
  /** True if requests come through a proxy of ours. */
  readonly behind_proxy: boolean;
  readonly ids: Pick<Ids, "random">;
}

export type RequestIds = ReturnType<typeof createRequestIds>;

/** Ids of one process: random bytes that name it, and a number. */
export function createRequestIds({ behind_proxy, ids }: RequestIdsOptions) {
  const prefix = `req_${Buffer.from(ids.random(6)).toString("hex")}_`;
  let count = 0;
  const next = (): string => prefix + (++count).toString(36);

  return {
    /** An id that no other request has. */
    next,

    /** The id of a request: that of `X-Request-Id` if a trusted proxy sent an acceptable one, else a new one. */
    of({ headers }: Request): string {
      const sent = behind_proxy ? headers.get(REQUEST_ID) : null;
      return sent !== null && ACCEPTED.test(sent) ? sent : next();
    },
  };
}
