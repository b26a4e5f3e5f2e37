/** The error that every failed call of the client throws (§9). */

import type { ErrorCode, FieldReasons, Problem } from "../errors.ts";

/**
 * Failures without an error response of Relay. `no_response`: the connection failed or timed out, so a change may or may
 * not have been made (§11.1.2). `unexpected_response`: something else answered, such as a proxy.
 */
type LocalCode = "no_response" | "unexpected_response";

interface Details {
  readonly status?: number;
  readonly fields?: FieldReasons;
  readonly retry_after?: number | null;
  readonly ended?: boolean;
  readonly cause?: unknown;
}

export class RelayError extends Error {
  override readonly name = "RelayError";
  /** A newer server may send codes that this client does not know (§17.2). */
  readonly code: ErrorCode | LocalCode;
  /** HTTP status; null when nothing answered. */
  readonly status: number | null;
  /** The invalid fields with their reasons; empty unless the code is `invalid_fields`. */
  readonly fields: FieldReasons;
  /** Seconds after which the request may be repeated; null when the server names none. */
  readonly retry_after: number | null;
  /**
   * With `unauthorized`: true if the server says that this account token has ended; false if it does not know the
   * credential, which may still be valid (§4.1.7).
   */
  readonly ended: boolean;

  constructor(code: ErrorCode | LocalCode, message: string, details: Details = {}) {
    super(message, { cause: details.cause });
    this.code = code;
    this.status = details.status ?? null;
    this.fields = details.fields ?? {};
    this.retry_after = details.retry_after ?? null;
    this.ended = details.ended ?? false;
  }

  /** True if the request may succeed if it is repeated later. */
  get is_transient(): boolean {
    if (this.code !== "unexpected_response") return TRANSIENT.has(this.code);
    return this.status !== null && (this.status >= 500 || TRANSIENT_STATUS.has(this.status));
  }
}

/** Request Timeout, Too Early, Too Many Requests, whichever program sent them. */
const TRANSIENT_STATUS: ReadonlySet<number> = new Set([408, 425, 429]);

const TRANSIENT: ReadonlySet<string> = new Set<ErrorCode | LocalCode>([
  "no_response",
  "rate_limited",
  "store_unavailable",
  "too_many_waits",
]);

/** Makes the error for a failed response, and reads its body. */
export async function errorOf(response: Response): Promise<RelayError> {
  const { status, headers } = response;
  const after = Number(headers.get("retry-after") ?? Number.NaN);
  const retry_after = Number.isNaN(after) ? null : after;
  const problem = headers.get("content-type")?.startsWith("application/problem+json")
    ? ((await response.json().catch(() => null)) as Partial<Problem> | null)
    : null;
  if (typeof problem?.code !== "string") {
    return new RelayError("unexpected_response", `HTTP ${status} that is not from Relay`, {
      status,
      retry_after,
    });
  }
  const { code, detail = code, fields = {}, ended = false } = problem;
  return new RelayError(code, detail, { status, fields, retry_after, ended });
}

/** The error for a request whose response did not arrive in full. */
export function noResponse(cause: unknown): RelayError {
  return new RelayError("no_response", "The server cannot be reached", { cause });
}
