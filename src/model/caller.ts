/** Who sends a request, and by which credential (§4.1). */

interface AnyCaller {
  readonly account_id: string;
  /** Digest of the secret that was sent. A waiting request is checked again with it. */
  readonly credential: string;
}

export interface AccountCaller extends AnyCaller {
  readonly kind: "account";
  /** The sign-in whose token was sent. */
  readonly session_id: string;
  /** Set if a {@link TicketCaller} acts for its account, on its question alone. */
  readonly ticket?: TicketCaller;
}

export interface KeyCaller extends AnyCaller {
  readonly kind: "key";
  readonly key_id: string;
}

export type Caller = AccountCaller | KeyCaller;

/** A ticket of a notification, for one question and one channel (§19.7). */
export interface TicketCaller extends AnyCaller {
  readonly kind: "ticket";
  readonly question_id: string;
  readonly channel_id: string;
}

/** Whoever sent a valid credential. */
export type CredentialHolder = Caller | TicketCaller;

/** The operator (`ADMIN_TOKEN`), who has no account and sees no content. */
export interface AdminCaller {
  readonly kind: "admin";
}

/** Id of the key or account, or digest of the ticket: it scopes queries, and waits are counted by it (§6.5). */
export function callerId(caller: CredentialHolder): string {
  if (caller.kind === "ticket") return caller.credential;
  return caller.kind === "key" ? caller.key_id : caller.account_id;
}

/**
 * `account_token`: a sign-in of a person. `key_secret`: the secret of an agent's key. `oauth_access`: a token with
 * which a client uses a key; `oauth_refresh`: a token with which it gets the next pair. `blocked_…`: one of the first
 * three while the administrator blocks its account, so that no version accepts it (§4.4).
 */
export const CREDENTIAL_KINDS = [
  "account_token",
  "key_secret",
  "oauth_access",
  "oauth_refresh",
  "blocked_account_token",
  "blocked_key_secret",
  "blocked_oauth_access",
] as const;

/**
 * Who or what created a credential. `account`: the creation of the account; `pairing`: a code of another sign-in;
 * `administrator`: a code of the administrator; `recovery`: a recovery code.
 */
export const CREDENTIAL_MAKERS = ["account", "pairing", "administrator", "recovery"] as const;
export type CredentialMaker = (typeof CREDENTIAL_MAKERS)[number];
