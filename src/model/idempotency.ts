/** A request that may be repeated (§8). */

export interface IdempotentRequest {
  /** Keyed digest of credential, method, path and `Idempotency-Key`. */
  readonly id: string;
  /** Keyed digest of the body. */
  readonly body: string;
  /** Set if the request was a repetition and changed nothing. */
  replayed: boolean;
}
