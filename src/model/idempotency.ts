/** A request that may be repeated (docs/interface.md 8). */

export interface IdempotentRequest {
  /** Keyed digest of credential, method, path and `Idempotency-Key`. */
  readonly id: string;
  /** Keyed digest of the body. */
  readonly body: string;
  /** Set when the request was a repetition, which changed nothing. */
  replayed: boolean;
}
