/** The credentials of accounts and keys (docs/interface.md 4.1). */

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
