/** Responses that every surface shares. */

import type { ServiceError } from "../errors.ts";
import { toProblem } from "../errors.ts";

const JSON_HEADERS = { "content-type": "application/json", "cache-control": "no-store" };
const EMPTY_HEADERS = { "cache-control": "no-store" };

/** A JSON body, never to be stored by a cache. */
export function json(value: unknown, status = 200, more?: Record<string, string>): Response {
  const headers = more ? { ...JSON_HEADERS, ...more } : JSON_HEADERS;
  return new Response(JSON.stringify(value), { status, headers });
}

export function noContent(): Response {
  return new Response(null, { status: 204, headers: EMPTY_HEADERS });
}

/** Headers that belong to an error on every surface. */
export function errorHeaders(error: ServiceError): Record<string, string> {
  return {
    ...(error.status === 401 && { "www-authenticate": "Bearer" }),
    ...(error.retry_after !== undefined && { "retry-after": String(error.retry_after) }),
  };
}

/** `application/problem+json` (RFC 9457). */
export function problem(error: ServiceError, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(toProblem(error)), {
    status: error.status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...errorHeaders(error),
      ...headers,
    },
  });
}
