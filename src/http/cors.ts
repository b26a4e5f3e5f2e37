/** CORS: which web pages may call, by their origin (§1.2.6). */

import { isTicket } from "../auth/tickets.ts";
import { REQUEST_ID } from "./request-id.ts";
import { API_HEADERS } from "./respond.ts";
import type { Route } from "./rest.ts";

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
  REQUEST_ID,
].join(", ");

/** Seconds for which a browser may cache a preflight. */
const MAX_AGE = 7_200;

/**
 * True for the path of a route that pages of any origin may call, such as the web app of a service: what it does needs a secret in
 * its body, which no browser adds by itself (§19.2.10).
 */
export const isForAnyPage = (path: string): boolean =>
  /^\/v1\/channels\/[^/]+\/reached$/.test(path);

interface CorsOptions {
  /** True: pages of any origin may call the route with a ticket (§19.7.6). */
  readonly tickets?: boolean;
}

export type Cors = ReturnType<typeof createCors>;

export function createCors(origins: readonly string[]) {
  const allowed = new Set(origins);

  return {
    /**
     * Lets pages of the allowed origins call the route; `methods` are all methods of its path. A browser sends
     * a preflight first, which needs no credential and counts toward no limit. With `tickets`, pages of other
     * origins may send a ticket and read the response.
     */
    wrap<R extends Request>(
      path: string,
      methods: readonly string[],
      route: Route<R>,
      { tickets = false }: CorsOptions = {},
    ): Route<R> {
      const listed = allowed.size > 0 && /^\/(v1|trpc|mcp|oauth|\.well-known)(\/|$)/.test(path);
      const open = isForAnyPage(path);
      if (!listed && !tickets && !open) return route;
      const preflight = {
        "access-control-allow-methods": methods.join(", "),
        "access-control-allow-headers": REQUEST_HEADERS,
        "access-control-max-age": String(MAX_AGE),
        ...API_HEADERS,
      };
      return async (request, scope) => {
        const origin = request.headers.get("origin");
        if (!listed && origin === null) return route(request, scope);
        const is_options = request.method === "OPTIONS";
        const known = origin !== null && allowed.has(origin);
        // A preflight does not say whether a ticket will follow.
        const may_have_ticket =
          tickets && (is_options || isTicket(request.headers.get("authorization")));
        const any = origin !== null && !known && (open || may_have_ticket);
        const permitted = known || any;
        const asks =
          permitted &&
          is_options &&
          methods.length > 0 &&
          request.headers.has("access-control-request-method");
        const response = asks
          ? new Response(null, { status: 204, headers: preflight })
          : await route(request, scope);
        const { headers } = response;
        headers.append("vary", "Origin");
        if (permitted) headers.set("access-control-allow-origin", any ? "*" : origin);
        if (permitted && !asks) headers.set("access-control-expose-headers", RESPONSE_HEADERS);
        return response;
      };
    },
  };
}
