/** Who sends a request, and by which credential (§4.1). */

interface AnyCaller {
  readonly account_id: string;
  /** The digest of the secret that was sent; a waiting request is checked again by it. */
  readonly credential: string;
}

export interface AccountCaller extends AnyCaller {
  readonly kind: "account";
  /** The sign-in whose token was sent. */
  readonly session_id: string;
  /** Set where a {@link TicketCaller} may call: it acts for its account, on its question alone. */
  readonly ticket?: TicketCaller;
}

export interface KeyCaller extends AnyCaller {
  readonly kind: "key";
  readonly key_id: string;
}

export type Caller = AccountCaller | KeyCaller;

/** A ticket of a notification, for one question and one channel (docs/interface.md 19.7). */
export interface TicketCaller extends AnyCaller {
  readonly kind: "ticket";
  readonly question_id: string;
  readonly channel_id: string;
}

/** A caller with a valid credential. The route decides what it may do. */
export type CredentialHolder = Caller | TicketCaller;

/** The operator (`ADMIN_TOKEN`): has no account, and sees the content of none. */
export interface AdminCaller {
  readonly kind: "admin";
}

/**
 * The key, the account, or the ticket by its digest: what scopes a query to the caller, and what its
 * waits are counted by (docs/interface.md 6.5).
 */
export function callerId(caller: CredentialHolder): string {
  if (caller.kind === "ticket") return caller.credential;
  return caller.kind === "key" ? caller.key_id : caller.account_id;
}

/**
 * `account_token`: a sign-in of a person. `key_secret`: the secret of an agent's key. `oauth_access`:
 * a token that a client uses a key with; `oauth_refresh`: one that it gets the next token for.
 */
export const CREDENTIAL_KINDS = [
  "account_token",
  "key_secret",
  "oauth_access",
  "oauth_refresh",
] as const;

/** How a credential came about. `account`: at the request of the account itself. */
export const CREDENTIAL_MAKERS = ["account", "pairing", "administrator"] as const;
export type CredentialMaker = (typeof CREDENTIAL_MAKERS)[number];
