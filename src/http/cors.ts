/** CORS: which web pages may call, by their origin (docs/interface.md 1.2.6). */

import type { Route } from "./rest.ts";
import { API_SECURITY } from "./security.ts";

/** Request headers that a page may send, beyond the safelisted ones. */
const REQUEST_HEADERS = [
  "authorization",
  "content-type",
  "idempotency-key",
  "x-agent-host",
  "mcp-protocol-version",
  "mcp-session-id",
  "mcp-method",
  "mcp-name",
  "last-event-id",
  "trpc-accept",
].join(", ");

/** Response headers that a page may read, beyond the safelisted ones. */
const RESPONSE_HEADERS = [
  "retry-after",
  "ratelimit",
  "ratelimit-policy",
  "idempotency-replayed",
  "mcp-session-id",
  "www-authenticate",
].join(", ");

/** Seconds for which a browser may cache a preflight. */
const MAX_AGE = 7_200;

export type Cors = ReturnType<typeof createCors>;

export function createCors(origins: readonly string[]) {
  const allowed = new Set(origins);

  return {
    /**
     * The route as pages of the allowed origins may call it; `methods` are those of its path. A
     * browser asks first by a preflight, which needs no credential and counts to no limit.
     */
    wrap<R extends Request>(path: string, methods: readonly string[], route: Route<R>): Route<R> {
      if (allowed.size === 0 || !/^\/(v1|trpc|mcp|oauth|\.well-known)(\/|$)/.test(path))
        return route;
      const preflight = {
        "access-control-allow-methods": methods.join(", "),
        "access-control-allow-headers": REQUEST_HEADERS,
        "access-control-max-age": String(MAX_AGE),
        "cache-control": "no-store",
        ...API_SECURITY,
      };
      return async (request) => {
        const origin = request.headers.get("origin");
        const known = origin !== null && allowed.has(origin);
        const asks =
          known &&
          methods.length > 0 &&
          request.method === "OPTIONS" &&
          request.headers.has("access-control-request-method");
        const response = asks
          ? new Response(null, { status: 204, headers: preflight })
          : await route(request);
        const { headers } = response;
        headers.append("vary", "Origin");
        if (known) headers.set("access-control-allow-origin", origin);
        if (known && !asks) headers.set("access-control-expose-headers", RESPONSE_HEADERS);
        return response;
      };
    },
  };
}
