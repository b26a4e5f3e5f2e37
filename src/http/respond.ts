/** Makes the responses that all surfaces share. */

import { type ServiceError, toProblem } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Quota } from "../overload/limiter.ts";
import type { AnswerBody } from "../overload/unsent-answers.ts";
import { REQUEST_ID } from "./request-id.ts";
import type { RequestScope } from "./request-scope.ts";
import { API_SECURITY } from "./security.ts";

/** Headers of every response of the interface; no cache may store one. */
export const API_HEADERS = { "cache-control": "no-store", ...API_SECURITY };
export const JSON_HEADERS = { "content-type": "application/json", ...API_HEADERS };
export const STREAM_HEADERS = {
  "content-type": "text/event-stream",
  // Without it, a buffering proxy holds events back.
  "x-accel-buffering": "no",
  ...API_HEADERS,
};

/** Headers of success by the state of a limit, made once for each, since a response copies `Headers` quickly. */
const made = new WeakMap<Quota, { readonly json: Headers; readonly empty: Headers }>();
const UNLIMITED = { json: new Headers(JSON_HEADERS), empty: new Headers(API_HEADERS) };

function limitedBy(quota: Quota) {
  let found = made.get(quota);
  if (!found) {
    found = {
      json: new Headers({ ...JSON_HEADERS, ...quota.headers }),
      empty: new Headers({ ...API_HEADERS, ...quota.headers }),
    };
    made.set(quota, found);
  }
  return found;
}

/**
 * The headers of a success, with the id of the request: a response must copy them at once, as the next request writes its
 * own id there. That takes half the time of adding it to each response.
 */
function headersOf(scope: RequestScope, kind: "json" | "empty"): Headers {
  const quota = scope.charges.quota();
  const headers = (quota ? limitedBy(quota) : UNLIMITED)[kind];
  headers.set(REQUEST_ID, scope.id);
  scope.id_is_sent = true;
  return headers;
}

/** UTF-16 units up to which a text is never a large answer. */
const SMALL_UNITS = Math.floor(LIMITS.answer_free_bytes / 3);

/** UTF-16 units of a body that Bun sends together with the headers. */
const CORKED_UNITS = 12 * 1024;

/**
 * A body for a text of up to {@link SMALL_UNITS}. In a later turn of the event loop than that of the request, Bun 1.4
 * sends every part of every header of a response above 16 KiB separately, in some 40 system calls. It sends the parts
 * of a direct stream together, but a direct stream costs more than a text where that is no matter.
 */
function bodyOf(text: string, { request, answer }: RequestScope): AnswerBody {
  if (text.length <= CORKED_UNITS || request.method === "HEAD" || !answer.isLater()) return text;
  // Not between the two units of one character.
  const cut = CORKED_UNITS - (/[\uD800-\uDBFF]/.test(text[CORKED_UNITS - 1]!) ? 1 : 0);
  const source: Bun.DirectUnderlyingSource = {
    type: "direct",
    pull(controller) {
      controller.write(text.slice(0, cut));
      controller.write(text.slice(cut));
      controller.close();
    },
  };
  // The DOM's types, which tests of the page use, do not have such a source.
  return new ReadableStream(source as never);
}

interface AnswerOptions {
  /** True: the request changed nothing, so its answer may still be refused. */
  readonly refusable?: boolean;
}

/**
 * Makes a JSON response. A large one is charged for, and counted until it is sent. A refusable one throws
 * `429 rate_limited` while the caller leaves too many large answers unread.
 */
export function json(
  value: unknown,
  status: number,
  scope: RequestScope,
  { refusable = false }: AnswerOptions = {},
): Response {
  const text = JSON.stringify(value);
  if (text.length <= SMALL_UNITS) {
    return new Response(bodyOf(text, scope), { status, headers: headersOf(scope, "json") });
  }
  const body = large(text, scope, refusable);
  return new Response(body, { status, headers: headersOf(scope, "json") });
}

/** Makes a body of text, and charges for it if it is large. */
function large(text: string, scope: RequestScope, refusable: boolean): AnswerBody {
  if (Buffer.byteLength(text) <= LIMITS.answer_free_bytes) return bodyOf(text, scope);
  return scope.answer.large(Buffer.from(text), refusable);
}

/** Charges and counts a response that a library made, as {@link json} does; a stream chunk by chunk. */
export async function chargeResponse(response: Response, scope: RequestScope): Promise<Response> {
  const { status, headers, body } = response;
  const type = headers.get("content-type") ?? "";
  if (body && !type.startsWith("application/json")) {
    return new Response(scope.answer.relay(body), { status, headers });
  }
  const text = await response.text();
  const sent = text.length <= SMALL_UNITS ? bodyOf(text, scope) : large(text, scope, false);
  return new Response(sent, { status, headers });
}

export function noContent(scope: RequestScope): Response {
  return new Response(null, { status: 204, headers: headersOf(scope, "empty") });
}

/** Headers that an error has on every surface. */
export function errorHeaders(error: ServiceError): Record<string, string> {
  return {
    ...(error.status === 401 && { "www-authenticate": error.challenge ?? "Bearer" }),
    ...(error.retry_after !== undefined && { "retry-after": String(error.retry_after) }),
    ...(error.close && { connection: "close" }),
  };
}

/** Makes an `application/problem+json` response (RFC 9457). */
export function problem(error: ServiceError, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(toProblem(error)), {
    status: error.status,
    headers: {
      ...API_HEADERS,
      "content-type": "application/problem+json",
      ...errorHeaders(error),
      ...headers,
    },
  });
}
