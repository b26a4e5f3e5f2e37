/** Responses that every surface shares. */

import { type ServiceError, toProblem } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Quota } from "../overload/limiter.ts";
import type { AnswerBody } from "../overload/unsent-answers.ts";
import type { RequestScope } from "./request-scope.ts";
import { API_SECURITY } from "./security.ts";

const EMPTY_HEADERS = { "cache-control": "no-store", ...API_SECURITY };
/** Headers of every JSON body; no cache may store it. */
export const JSON_HEADERS = { "content-type": "application/json", ...EMPTY_HEADERS };

/**
 * Headers of success for each state of a limit, made once: a response copies them quickly. They depend
 * on that state alone, so servers of one process may share them.
 */
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

/** A text of at most this many UTF-16 units is never a large answer. */
const SMALL_UNITS = Math.floor(LIMITS.answer_free_bytes / 3);

interface AnswerOptions {
  /** True: the request changed nothing, so a large answer may still be refused. */
  readonly refusable?: boolean;
}

/**
 * A JSON body, never to be stored by a cache. A large one is charged for, and counted until it was
 * sent. A refusable one is `429 rate_limited` while its caller leaves too many unread.
 */
export function json(
  value: unknown,
  status: number,
  scope: RequestScope,
  { refusable = false }: AnswerOptions = {},
): Response {
  const text = JSON.stringify(value);
  if (text.length <= SMALL_UNITS) {
    return new Response(text, { status, headers: headersOf(scope.charges.quota()).json });
  }
  const body = large(text, scope, refusable);
  return new Response(body, { status, headers: headersOf(scope.charges.quota()).json });
}

/** Charges for a text that may be large, and gives its body. */
function large(text: string, scope: RequestScope, refusable: boolean): AnswerBody {
  if (Buffer.byteLength(text) <= LIMITS.answer_free_bytes) return text;
  return scope.answer.large(Buffer.from(text), refusable);
}

/** A library's answer, charged and counted like our own; a streamed one by chunk. */
export async function measured(response: Response, scope: RequestScope): Promise<Response> {
  const { status, headers, body } = response;
  const type = headers.get("content-type") ?? "";
  if (body && !type.startsWith("application/json")) {
    return new Response(scope.answer.relay(body), { status, headers });
  }
  const text = await response.text();
  const sent = text.length <= SMALL_UNITS ? text : large(text, scope, false);
  return new Response(sent, { status, headers });
}

export function noContent(quota: Quota | null): Response {
  return new Response(null, { status: 204, headers: headersOf(quota).empty });
}

/** Headers that belong to an error on every surface. */
export function errorHeaders(error: ServiceError): Record<string, string> {
  return {
    ...(error.status === 401 && { "www-authenticate": error.challenge ?? "Bearer" }),
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
