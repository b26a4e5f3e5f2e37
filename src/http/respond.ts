/** Responses that every surface shares. */

import type { Quota } from "../auth/limiter.ts";
import { type ServiceError, toProblem } from "../errors.ts";
import { API_SECURITY } from "./security.ts";

const EMPTY_HEADERS = { "cache-control": "no-store", ...API_SECURITY };
/** Of every JSON body, never to be stored by a cache. */
export const JSON_HEADERS = { "content-type": "application/json", ...EMPTY_HEADERS };

/** Headers of success for each state of a limit, made once: a response copies them quickly. */
const made = new WeakMap<Quota, { readonly json: Headers; readonly empty: Headers }>();
const UNLIMITED = { json: new Headers(JSON_HEADERS), empty: new Headers(EMPTY_HEADERS) };

function headersOf(quota: Quota | null) {
  if (!quota) return UNLIMITED;
  let found = made.get(quota);
  if (!found) {
    found = {
      json: new Headers({ ...JSON_HEADERS, ...quota.headers }),
      empty: new Headers({ ...EMPTY_HEADERS, ...quota.headers }),
    };
    made.set(quota, found);
  }
  return found;
}

/** A JSON body, never to be stored by a cache. */
export function json(value: unknown, status: number, quota: Quota | null): Response {
  return new Response(JSON.stringify(value), { status, headers: headersOf(quota).json });
}

export function noContent(quota: Quota | null): Response {
  return new Response(null, { status: 204, headers: headersOf(quota).empty });
}

/** Headers that belong to an error on every surface. */
export function errorHeaders(error: ServiceError): Record<string, string> {
  return {
    ...(error.status === 401 && { "www-authenticate": "Bearer" }),
    ...(error.retry_after !== undefined && { "retry-after": String(error.retry_after) }),
    ...(error.close && { connection: "close" }),
  };
}

/** `application/problem+json` (RFC 9457). */
export function problem(error: ServiceError, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(toProblem(error)), {
    status: error.status,
    headers: {
      ...EMPTY_HEADERS,
      "content-type": "application/problem+json",
      ...errorHeaders(error),
      ...headers,
    },
  });
}
