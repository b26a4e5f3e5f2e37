/** Who sends a request (docs/interface.md 4.1). */

interface AnyCaller {
  readonly account_id: string;
  /** The digest of the secret that was sent: what a waiting request is checked by again. */
  readonly credential: string;
}

export interface AccountCaller extends AnyCaller {
  readonly kind: "account";
  /** The sign-in whose token was sent. */
  readonly session_id: string;
}

export interface KeyCaller extends AnyCaller {
  readonly kind: "key";
  readonly key_id: string;
}

export type Caller = AccountCaller | KeyCaller;

/** Whoever runs the service (`ADMIN_TOKEN`): has no account, and sees nothing that is in one. */
export interface AdminCaller {
  readonly kind: "admin";
}

/**
 * The key, or the account: what scopes a query to the caller, and what its waits are counted by
 * (docs/interface.md 6.5).
 */
export function callerId(caller: Caller): string {
  return caller.kind === "key" ? caller.key_id : caller.account_id;
}
