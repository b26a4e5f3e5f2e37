/** The one table of errors: what each code means on REST, tRPC, MCP and in the activity log. */

import type { TRPC_ERROR_CODE_KEY } from "@trpc/server/rpc";
import { LIMITS } from "./limits.ts";

interface ErrorKind {
  readonly status: number;
  readonly trpc: TRPC_ERROR_CODE_KEY;
  readonly title: string;
  /** Seconds for `Retry-After` where the thrower gives none. */
  readonly retry_after?: number;
}

/** Code -> HTTP status, tRPC key and title (docs/interface.md 9.2). */
export const ERRORS = {
  invalid_json: { status: 400, trpc: "PARSE_ERROR", title: "The body is not JSON" },
  unauthorized: { status: 401, trpc: "UNAUTHORIZED", title: "No valid credential" },
  forbidden: { status: 403, trpc: "FORBIDDEN", title: "Not allowed with this credential" },
  attestation_required: {
    status: 403,
    trpc: "FORBIDDEN",
    title: "App attestation is required",
  },
  attestation_invalid: {
    status: 403,
    trpc: "FORBIDDEN",
    title: "The app attestation is not valid",
  },
  account_creation_off: { status: 403, trpc: "FORBIDDEN", title: "Account creation is off" },
  not_found: { status: 404, trpc: "NOT_FOUND", title: "Not found" },
  unknown_path: { status: 404, trpc: "NOT_FOUND", title: "No such route" },
  method_not_allowed: {
    status: 405,
    trpc: "METHOD_NOT_SUPPORTED",
    title: "The route has no such method",
  },
  question_not_pending: {
    status: 409,
    trpc: "CONFLICT",
    title: "The question is no longer pending",
  },
  too_many_pending_questions: {
    status: 409,
    trpc: "CONFLICT",
    title: "The key has too many pending questions",
  },
  too_many_keys: { status: 409, trpc: "CONFLICT", title: "The account has too many keys" },
  too_many_tasks: { status: 409, trpc: "CONFLICT", title: "The key has too many tasks" },
  inbox_full: {
    status: 409,
    trpc: "CONFLICT",
    title: "The inbox has too many unread messages from this key",
  },
  body_too_large: { status: 413, trpc: "PAYLOAD_TOO_LARGE", title: "The body is too large" },
  unsupported_media_type: {
    status: 415,
    trpc: "UNSUPPORTED_MEDIA_TYPE",
    title: "The body must be application/json",
  },
  invalid_fields: { status: 422, trpc: "UNPROCESSABLE_CONTENT", title: "Invalid fields" },
  idempotency_mismatch: {
    status: 422,
    trpc: "UNPROCESSABLE_CONTENT",
    title: "The Idempotency-Key was used with another body",
  },
  rate_limited: {
    status: 429,
    trpc: "TOO_MANY_REQUESTS",
    title: "Too many requests",
    retry_after: 1,
  },
  too_many_waits: {
    status: 429,
    trpc: "TOO_MANY_REQUESTS",
    title: "Too many requests are waiting",
    retry_after: 1,
  },
  internal: { status: 500, trpc: "INTERNAL_SERVER_ERROR", title: "Internal error" },
  store_unavailable: {
    status: 503,
    trpc: "SERVICE_UNAVAILABLE",
    title: "The store is unavailable",
    retry_after: 1,
  },
} as const satisfies Record<string, ErrorKind>;

/** A stable, documented error code; the same on every surface. */
export type ErrorCode = keyof typeof ERRORS;

/** Field name -> short reason. Never holds a value that was sent. */
export type FieldReasons = Readonly<Record<string, string>>;

/** The reason of a field that the route does not have. */
export const UNKNOWN_FIELD = "is not a field of this request";

interface ErrorOptions {
  /** What a person may read about this case; never a value that was sent. */
  readonly detail?: string;
  readonly fields?: FieldReasons;
  /** Seconds for `Retry-After`, where it is not the code's own. */
  readonly retry_after?: number;
  /** Why, for the log alone; never shown to a client. */
  readonly cause?: unknown;
  /** True: the connection is closed after the answer. */
  readonly close?: boolean;
}

/** The only error that services throw; surfaces render it with {@link toProblem}. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly status: number;
  readonly fields: FieldReasons | undefined;
  /**
   * What the activity log says: it names only fields that the route has, since another name may be
   * content (docs/interface.md 15.1.4).
   */
  readonly summary: string;
  /** Seconds to wait before the request is sent again, for `Retry-After`. */
  readonly retry_after: number | undefined;
  /** True: the connection is closed after the answer, as the rest of the request is not wanted. */
  readonly close: boolean;

  constructor(
    readonly code: ErrorCode,
    options: ErrorOptions = {},
  ) {
    const kind: ErrorKind = ERRORS[code];
    super(options.detail ?? `${kind.title}.`, { cause: options.cause });
    this.status = kind.status;
    this.fields = options.fields;
    this.summary = options.fields ? listFields(options.fields, true) : `${kind.title}.`;
    this.retry_after = options.retry_after ?? kind.retry_after;
    this.close = options.close ?? false;
  }
}

/** Throws the error of this code. */
export function fail(code: ErrorCode, options?: ErrorOptions): never {
  throw new ServiceError(code, options);
}

/** Throws `422 invalid_fields`, naming each field and why (docs/interface.md 9.1.4). */
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

/** The form that the interface gives it (§15.1.4). */
function listFields(fields: FieldReasons, hide_unknown: boolean): string {
  const names = Object.entries(fields).map(([name, reason]) =>
    hide_unknown && reason === UNKNOWN_FIELD ? "unknown" : name,
  );
  return `Invalid fields: ${[...new Set(names)].join(", ")}.`;
}

/** Thrown out of a wait whose client went away; nobody is left to read an answer. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** An RFC 9457 body, `application/problem+json`. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly fields?: FieldReasons;
}

/** Renders an error as the body that every surface sends. */
export function toProblem(error: ServiceError): Problem {
  return {
    type: `/problems/${error.code}`,
    title: ERRORS[error.code].title,
    status: error.status,
    code: error.code,
    detail: error.message,
    ...(error.fields && { fields: error.fields }),
  };
}
