/** The one table of errors: what each code means on REST, tRPC, MCP and in the request log. */

import type { TRPC_ERROR_CODE_KEY } from "@trpc/server/rpc";
import { LIMITS } from "./limits.ts";

interface ErrorKind {
  readonly status: number;
  readonly trpc: TRPC_ERROR_CODE_KEY;
  readonly title: string;
  /** The clause of docs/interface.md that says when it is sent, or the first of several. */
  readonly clause: string;
  /** The text of `/problems/<code>`: what the error means and what to do. */
  readonly help: string;
  /** Seconds for `Retry-After`, unless the error sets its own. */
  readonly retry_after?: number;
}

/** The errors by their code (§9.2). */
export const ERRORS = {
  invalid_json: {
    status: 400,
    trpc: "PARSE_ERROR",
    title: "The body is not JSON",
    clause: "1.3.1",
    help: "The body of the request is not valid JSON, ended early or did not arrive in time. Send one JSON object in UTF-8. A request with two Host headers or an unreadable Content-Length gets the same code.",
  },
  unauthorized: {
    status: 401,
    trpc: "UNAUTHORIZED",
    title: "No valid credential",
    clause: "4.1.3",
    help: "The Authorization header is missing, or its credential is malformed, unknown or no longer valid. Send Authorization: Bearer with an account token or an API key. A deleted key or a replaced token does not come back: create a new key or use the new token.",
  },
  forbidden: {
    status: 403,
    trpc: "FORBIDDEN",
    title: "Not allowed",
    clause: "4.1.3",
    help: "The credential is valid but of the wrong kind: some routes are for the account token only, others for API keys only. The documentation names the kind for each route. The same code answers a sign-in that was just added and may not do this yet, a web page of another origin that tries to change something, and a request to a host name that the server does not know. The detail says which it is.",
  },
  attestation_required: {
    status: 403,
    trpc: "FORBIDDEN",
    title: "App attestation is required",
    clause: "4.2.4",
    help: "This server creates accounts only for genuine copies of its app. Send an App Attest attestation with the request.",
  },
  attestation_invalid: {
    status: 403,
    trpc: "FORBIDDEN",
    title: "The app attestation is not valid",
    clause: "4.2.4",
    help: "The App Attest attestation did not pass. Get a new challenge, which can be used once and within five minutes, and attest again.",
  },
  account_creation_off: {
    status: 403,
    trpc: "FORBIDDEN",
    title: "Account creation is off",
    clause: "5.2.1",
    help: "The operator of this server has turned account creation off, or allows only one account, which already exists. Ask the operator, or use an account that exists.",
  },
  not_found: {
    status: 404,
    trpc: "NOT_FOUND",
    title: "Not found",
    clause: "1.4.3",
    help: "A resource that the request names does not exist, or belongs to someone else; the two cannot be told apart. The “fields” member of the response names the parameter. Check the id: the resource may have been deleted.",
  },
  unknown_path: {
    status: 404,
    trpc: "NOT_FOUND",
    title: "No such route",
    clause: "1.2.3",
    help: "The server has no route with this path. Paths match exactly: check the spelling, the case and that there is no slash at the end.",
  },
  method_not_allowed: {
    status: 405,
    trpc: "METHOD_NOT_SUPPORTED",
    title: "The route has no such method",
    clause: "1.2.4",
    help: "The path exists, but not with this method. The Allow header lists its methods.",
  },
  question_not_pending: {
    status: 409,
    trpc: "CONFLICT",
    title: "The question is no longer pending",
    clause: "5.7.4",
    help: "The question was answered, has expired or was cancelled in the meantime. Read it to see how it ended. To ask again, ask a new question.",
  },
  too_many_pending_questions: {
    status: 409,
    trpc: "CONFLICT",
    title: "The key has too many pending questions",
    clause: "5.7.2",
    help: "A key can have 20 pending questions. Wait for answers, or cancel questions that are no longer needed.",
  },
  too_many_keys: {
    status: 409,
    trpc: "CONFLICT",
    title: "The account has too many keys",
    clause: "5.4.2",
    help: "The account has reached its limit of keys. Delete a key that is no longer used.",
  },
  too_many_sessions: {
    status: 409,
    trpc: "CONFLICT",
    title: "The account has too many sign-ins",
    clause: "5.14.2",
    help: "The account has reached its limit of sign-ins. Sign out a browser or device that is no longer used; the code still works until it expires.",
  },
  last_session: {
    status: 409,
    trpc: "CONFLICT",
    title: "It is the account's last sign-in",
    clause: "5.13.3",
    help: "Without a sign-in, only the administrator of the server can open the account again. Send last=true to end it anyway, or delete the account.",
  },
  too_many_tasks: {
    status: 409,
    trpc: "CONFLICT",
    title: "The key has too many tasks",
    clause: "5.5.3",
    help: "The key has reached its limit of tasks. Delete tasks that are no longer needed; finished ones are deleted automatically after some time.",
  },
  too_many_channels: {
    status: 409,
    trpc: "CONFLICT",
    title: "The account has too many channels",
    clause: "19.2.2",
    help: "The account has reached its limit of notification channels. Delete one that is no longer used.",
  },
  link_not_opened: {
    status: 409,
    trpc: "CONFLICT",
    title: "Nobody has opened the link yet",
    clause: "19.2.9",
    help: "The link that adds the channel has to be opened first, in the app of its service. Read the link to see who opened it, and confirm it then.",
  },
  account_full: {
    status: 409,
    trpc: "CONFLICT",
    title: "The account stores as much as it may",
    clause: "10.8",
    help: "The account has reached the bound of this server in bytes, so nothing new is stored for it. Delete tasks or agents that are no longer needed, and send the request again some seconds later: agents take a while to be removed. Reading, answering, deleting and signing in work as before. The member “storage” of GET /v1/account says how much is stored.",
  },
  inbox_full: {
    status: 409,
    trpc: "CONFLICT",
    title: "The inbox has too many unread messages from this key",
    clause: "5.10.1",
    help: "The receiving inbox has reached its limit of unread messages from this key. Wait until the other agent has read some of them.",
  },
  body_too_large: {
    status: 413,
    trpc: "PAYLOAD_TOO_LARGE",
    title: "The body is too large",
    clause: "11.2.1",
    help: "The body of the request is larger than 256 KiB. Send less.",
  },
  unsupported_media_type: {
    status: 415,
    trpc: "UNSUPPORTED_MEDIA_TYPE",
    title: "The media type or encoding of the body is not supported",
    clause: "1.3.1",
    help: "Send JSON with Content-Type: application/json, and without a Content-Encoding: a compressed body is not read.",
  },
  invalid_fields: {
    status: 422,
    trpc: "UNPROCESSABLE_CONTENT",
    title: "Invalid fields",
    clause: "9.1.4",
    help: "One or more fields or parameters are missing, unknown, of the wrong type or out of range. The “fields” member of the response gives the reason for each. Correct them: the same request would fail again.",
  },
  idempotency_mismatch: {
    status: 422,
    trpc: "UNPROCESSABLE_CONTENT",
    title: "The Idempotency-Key was used with another body",
    clause: "8.4",
    help: "This Idempotency-Key was used within the last 24 hours for a request with another body. Use a new key for a new request, and the same body for a repeated one.",
  },
  request_mismatch: {
    status: 422,
    trpc: "UNPROCESSABLE_CONTENT",
    title: "The request_id was used with other content",
    clause: "5.7.2",
    help: "This key has asked a question with the same request_id within the last 24 hours, with other content. Use a new request_id for a new question, and the same content to get the existing question.",
  },
  rate_limited: {
    status: 429,
    trpc: "TOO_MANY_REQUESTS",
    title: "Too many requests",
    clause: "10.6",
    help: "More requests were sent than the limit allows, or the server has to protect itself from overload. Wait as long as the Retry-After header says. The headers RateLimit and RateLimit-Policy show the limit before it is reached.",
    retry_after: 1,
  },
  too_many_waits: {
    status: 429,
    trpc: "TOO_MANY_REQUESTS",
    title: "Too many requests are waiting",
    clause: "6.5",
    help: "The key or account has reached its limit of waiting requests. Wait as long as the Retry-After header says, or end a wait: a client that disconnects frees its place at once.",
    retry_after: 1,
  },
  internal: {
    status: 500,
    trpc: "INTERNAL_SERVER_ERROR",
    title: "Internal error",
    clause: "9.1.2",
    help: "Something went wrong in the server, which has logged it. Try again later; if it happens again, tell the operator what you sent and when.",
  },
  store_unavailable: {
    status: 503,
    trpc: "SERVICE_UNAVAILABLE",
    title: "The store is unavailable",
    clause: "11.4.1",
    help: "The server cannot reach its data at the moment. Wait as long as the Retry-After header says and send the request again, with an Idempotency-Key where the route accepts one.",
    retry_after: 1,
  },
} as const satisfies Record<string, ErrorKind>;

/** An error code, the same on every surface. */
export type ErrorCode = keyof typeof ERRORS;

/** Field name -> short reason, never with a value that was sent. */
export type FieldReasons = Readonly<Record<string, string>>;

/** The reason for a field that the route does not have. */
export const UNKNOWN_FIELD = "is not a field of this request";

interface ErrorOptions {
  /** A sentence about this case for people, never with a value that was sent. */
  readonly detail?: string;
  readonly fields?: FieldReasons;
  /** Seconds for `Retry-After`, if not the default of the code. The message ends with them in words. */
  readonly retry_after?: number;
  /** The cause, for the log alone. */
  readonly cause?: unknown;
  /** `WWW-Authenticate` of a 401, if it is more than `Bearer`. */
  readonly challenge?: string;
  /** True: the connection is closed after the response, without reading the rest of the request. */
  readonly close?: boolean;
  /** Of `unauthorized`: true if this store ended the account token (§4.1.7). */
  readonly ended?: boolean;
}

/** The only error that services throw; surfaces render it with {@link toProblem}. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly status: number;
  readonly fields: FieldReasons | undefined;
  /** The message in the request log. It names only fields of the route: another name may be content (§15.1.4). */
  readonly summary: string;
  readonly retry_after: number | undefined;
  readonly challenge: string | undefined;
  readonly close: boolean;
  readonly ended: boolean;

  constructor(
    readonly code: ErrorCode,
    options: ErrorOptions = {},
  ) {
    const kind: ErrorKind = ERRORS[code];
    const { detail = `${kind.title}.`, retry_after, cause } = options;
    super(retry_after === undefined ? detail : `${detail} ${againIn(retry_after)}`, { cause });
    this.status = kind.status;
    this.fields = options.fields;
    this.summary =
      code === "invalid_fields" && options.fields
        ? listFields(options.fields, true)
        : `${kind.title}.`;
    this.retry_after = options.retry_after ?? kind.retry_after;
    this.challenge = options.challenge;
    this.close = options.close ?? false;
    this.ended = options.ended ?? false;
  }
}

/** The sentence that says when to try again, for people who do not see `Retry-After`. */
function againIn(seconds: number): string {
  const [count, unit] = seconds < 60 ? [seconds, "second"] : [Math.ceil(seconds / 60), "minute"];
  return `Try again in ${count} ${unit}${count === 1 ? "" : "s"}.`;
}

/** Throws the error of this code. */
export function fail(code: ErrorCode, options?: ErrorOptions): never {
  throw new ServiceError(code, options);
}

/** `403 forbidden` for a credential of an account that the administrator blocks (§4.4). */
export const blocked = (): ServiceError =>
  new ServiceError("forbidden", {
    detail: "The administrator of this server has blocked this account. Its data is kept.",
  });

/** Throws `404 not_found` for the resource that a parameter names: missing, or not the caller's (§1.4.3). */
export function failNotFound(name: string): never {
  throw new ServiceError("not_found", { fields: { [name]: "does not exist or is not yours" } });
}

/** Throws `409 too_many_pending_questions`, with the limit and what to do (§5.7.2(3)). */
export function failFull(): never {
  throw new ServiceError("too_many_pending_questions", {
    detail: `The key has ${LIMITS.pending_questions_per_key} pending questions, the most that it can have. Wait for answers, or withdraw a question that is no longer needed (cancel_question, DELETE /v1/questions/{question_id}), and ask again.`,
  });
}

/** Throws `422 invalid_fields`, naming each field and why (§9.1.4). */
export function failFields(fields: FieldReasons): never {
  throw invalidFields(fields);
}

/** `422 invalid_fields`, naming the first `LIMITS.named_fields` fields and why. */
export function invalidFields(all: FieldReasons): ServiceError {
  const entries = Object.entries(all);
  const fields =
    entries.length > LIMITS.named_fields
      ? Object.fromEntries(entries.slice(0, LIMITS.named_fields))
      : all;
  return new ServiceError("invalid_fields", {
    detail: listFields(fields, false),
    fields,
  });
}

/** The sentence of §15.1.4. */
function listFields(fields: FieldReasons, hide_unknown: boolean): string {
  const names = Object.entries(fields).map(([name, reason]) =>
    hide_unknown && reason === UNKNOWN_FIELD ? "unknown" : name,
  );
  return `Invalid fields: ${[...new Set(names)].join(", ")}.`;
}

/** Ends the work for a client that disconnected. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** The body of an error, `application/problem+json` (RFC 9457). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly fields?: FieldReasons;
  /** Present in a `401` for an account token that this store ended (§4.1.7). */
  readonly ended?: true;
}

export function toProblem(error: ServiceError): Problem {
  return {
    type: `/problems/${error.code}`,
    title: ERRORS[error.code].title,
    status: error.status,
    code: error.code,
    detail: error.message,
    ...(error.fields && { fields: error.fields }),
    ...(error.ended && { ended: true }),
  };
}
