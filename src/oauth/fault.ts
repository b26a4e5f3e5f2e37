/** Errors of OAuth, in the form of its RFCs (§18.1.3). */

/**
 * `error` of a response: RFC 6749 4.1.2.1 and 5.2, RFC 7591 3.2.2, RFC 8707 2. A problem (§9) becomes
 * `temporarily_unavailable` or `server_error`.
 */
type OAuthErrorCode =
  | "invalid_client"
  | "invalid_client_metadata"
  | "invalid_grant"
  | "invalid_redirect_uri"
  | "invalid_request"
  | "invalid_target"
  | "server_error"
  | "temporarily_unavailable"
  | "unsupported_grant_type"
  | "unsupported_response_type";

/** `message` is the `error_description`. It repeats nothing that was sent. */
export class OAuthFault extends Error {
  override readonly name = "OAuthFault";
  constructor(
    readonly code: OAuthErrorCode,
    description: string,
  ) {
    super(description);
  }
}

export function failOAuth(code: OAuthErrorCode, description: string): never {
  throw new OAuthFault(code, description);
}
