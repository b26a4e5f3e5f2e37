/** Requests whose body may be anything, and what every error body must look like. */

import { expect } from "bun:test";

export interface WireAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed JSON; undefined if the text is not JSON. */
  readonly body: any;
}

interface WireRequest {
  readonly credential?: string | undefined;
  /** Sent as it is. */
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream | undefined;
  /** `application/json` if there is a body; null for none. */
  readonly type?: string | null;
  readonly headers?: Record<string, string>;
}

/** Sends one request. */
export async function exchange(
  url: string,
  method: string,
  path: string,
  { credential, body, type = "application/json", headers }: WireRequest = {},
): Promise<WireAnswer> {
  const response = await fetch(url + path, {
    method,
    redirect: "manual",
    headers: {
      ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
      ...(body !== undefined && type !== null && { "content-type": type }),
      ...headers,
    },
    // Bytes, so that the client adds no type of its own.
    ...(body !== undefined && { body: typeof body === "string" ? Buffer.from(body) : body }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Each code's status (§9.2.1). */
const STATUS = {
  invalid_json: 400,
  unauthorized: 401,
  forbidden: 403,
  attestation_required: 403,
  attestation_invalid: 403,
  account_creation_off: 403,
  not_found: 404,
  unknown_path: 404,
  method_not_allowed: 405,
  question_not_pending: 409,
  too_many_keys: 409,
  too_many_sessions: 409,
  last_session: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  invalid_fields: 422,
  rate_limited: 429,
} as const;
export type Code = keyof typeof STATUS;

/** Part of what tests send, so that a response that repeats it is noticed. */
export const MARK = "zqMARKqz";

/** Words that only a stack trace, a query or a file of the server could have brought into a response. */
const INSIDES = /node_modules|\.ts\b|\bat \w+.*:\d+|sqlite|\bselect .+ from\b|"stack"|zod/i;

/**
 * What is wrong with a response that should be this error; empty if nothing is. `fields` are the names
 * required in `invalid_fields`, in any order, and for `not_found`, if the test says which.
 */
export function faultsOf(
  answer: Pick<WireAnswer, "status" | "headers" | "text">,
  code: Code,
  fields: readonly string[] = [],
): string[] {
  const { status, headers, text } = answer;
  const faults: string[] = [];
  const want = (holds: boolean, fault: string) => {
    if (!holds) faults.push(fault);
  };
  const body = parse(text) as Record<string, unknown> | undefined;
  if (status !== STATUS[code] || body?.code !== code) {
    return [`${status} ${body?.code ?? text.slice(0, 80)} instead of ${STATUS[code]} ${code}`];
  }
  const keys = ["type", "title", "status", "code", "detail"];
  if (code === "invalid_fields") {
    const named = Object.keys((body.fields as object) ?? {});
    const reasons = Object.values((body.fields as object) ?? {});
    keys.push("fields");
    want(named.sort().join() === [...fields].sort().join(), `fields: ${named}, not ${fields}`);
    want(
      reasons.every((reason) => typeof reason === "string" && reason !== ""),
      "no reasons",
    );
    want(/^Invalid fields: \w+(, \w+)*\.$/.test(String(body.detail)), "detail has another form");
  }
  if (code === "not_found") {
    const named = Object.keys((body.fields as object) ?? {});
    const [reason, ...more] = Object.values((body.fields as object) ?? {});
    keys.push("fields");
    want(fields.length === 0 || named.join() === fields.join(), `fields: ${named}, not ${fields}`);
    // Identical for missing resources and for those of others.
    want(reason === "does not exist or is not yours" && more.length === 0, `reason: ${reason}`);
  }
  if (code === "unauthorized" && body.ended === true) keys.push("ended");
  want(headers.get("content-type") === "application/problem+json", "content type");
  want(headers.get("cache-control") === "no-store", "may be stored by a cache");
  want(Object.keys(body).sort().join() === keys.sort().join(), `members: ${Object.keys(body)}`);
  want(body.status === status, "another status in the body");
  want(body.type === `/problems/${code}`, "type");
  want(typeof body.title === "string" && body.title !== "", "title");
  want(typeof body.detail === "string" && body.detail !== "", "detail");
  want(!text.includes(MARK), "repeats what was sent");
  want(!INSIDES.test(text), "shows the inside of the server");
  want(
    code !== "unauthorized" || /^Bearer\b/.test(headers.get("www-authenticate") ?? ""),
    "no challenge",
  );
  return faults;
}

/** Fails unless the response is exactly this error. */
export function expectProblem(
  answer: Pick<WireAnswer, "status" | "headers" | "text">,
  code: Code,
  fields: readonly string[] = [],
): void {
  expect(faultsOf(answer, code, fields)).toEqual([]);
}
