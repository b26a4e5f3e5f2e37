/** The tables of credentials, of tokens that ended, of pairing codes, and of the accounts that an address made. */

import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { CREDENTIAL_KINDS, CREDENTIAL_MAKERS } from "../src/model/caller.ts";
import type { ClientInfo } from "../src/model/client.ts";
import { oneOf, timestamp } from "./schema.ts";
import { sql } from "./sql.ts";

/**
 * What a caller proves itself with, one row each: the sign-ins of an account and the secrets of a
 * key (docs/interface.md 4.1). The table is WITHOUT ROWID, so that a request finds its row at once.
 *
 * Triggers (migration 0018) keep it true, whichever version writes. The tombstone of a key or an
 * account deletes its credentials. A row that is inserted in `accounts` or `keys` gets a credential
 * with its `token_digest` or `secret_digest`, which version 0.1.0 reads; a digest that is replaced
 * on either side is replaced on the other, and one that ends here ends there.
 */
export const credentials = sqliteTable(
  "credentials",
  {
    /** Of the token or the secret: see `digest` in src/ids.ts. */
    digest: text().primaryKey(),
    /** `ses_…` of an account, `crd_…` of a key; it stays when the digest is replaced. */
    id: text().notNull(),
    kind: oneOf(CREDENTIAL_KINDS).notNull(),
    account_id: text().notNull(),
    /** Null for a credential of the account itself. */
    key_id: text(),
    /** Null unless the client gave one. */
    label: text(),
    made_by: oneOf(CREDENTIAL_MAKERS).notNull(),
    created_at: timestamp().notNull(),
    /** Written at most once a minute. */
    last_used_at: timestamp(),
    /** The key's, so that authenticating a request reads this row alone. */
    last_host: text(),
    last_client: text({ mode: "json" }).$type<ClientInfo>(),
    /** From then on it is refused; null: never. */
    expires_at: timestamp(),
    /** The grant that a token of OAuth is of (db/oauth/schema.ts). */
    grant_id: text(),
    /** When such a token got a successor. */
    replaced_at: timestamp(),
    /** Client address from which a pairing code was used; null for what was not made by a code. */
    address: text(),
    /** When another sign-in ended the trial of this one (docs/interface.md §4.1.6); null: it did not. */
    confirmed_at: timestamp(),
  },
  (t) => [
    uniqueIndex("credentials_id").on(t.id),
    index("credentials_account").on(t.account_id, t.created_at, t.id),
    index("credentials_key").on(t.key_id).where(sql`key_id is not null`),
    index("credentials_grant").on(t.grant_id).where(sql`grant_id is not null`),
  ],
);

/**
 * Account tokens that have ended, so that a `401` can tell one of them from a token that this store has
 * never seen (docs/interface.md §4.1.7). Triggers (migration 0031) write the rows, whichever version ends
 * a token, and keep the newest 100 of each account.
 */
export const endedTokens = sqliteTable(
  "ended_tokens",
  {
    /** As in `credentials`. */
    digest: text().primaryKey(),
    /** Id of the account; null once the account is deleted. */
    owner: text(),
    /** By the store's own clock. */
    ended_at: timestamp().notNull(),
  },
  (t) => [
    index("ended_tokens_owner").on(t.owner, t.ended_at).where(sql`owner is not null`),
    index("ended_tokens_age").on(t.ended_at),
  ],
);

/**
 * Pairing codes (docs/interface.md 5.14), each as keyed digests of its two forms. Triggers (migration
 * 0021) remove the codes of a sign-in that ends or changes its token, and what an ended one claimed,
 * so that an account has no more rows than open codes and sign-ins.
 */
export const pairings = sqliteTable(
  "pairings",
  {
    /** In the order in which they were made. */
    seq: integer().primaryKey(),
    account_id: text().notNull(),
    /** The sign-in that made it; null: the administrator did. */
    session_id: text(),
    /** Of the code that is typed, and of the one in the link. */
    code_digest: text().notNull(),
    link_digest: text().notNull(),
    created_at: timestamp().notNull(),
    expires_at: timestamp().notNull(),
    /** The sign-in that it was used for; null while it is open. */
    claimed_by: text(),
  },
  (t) => [
    uniqueIndex("pairings_code").on(t.code_digest),
    uniqueIndex("pairings_link").on(t.link_digest),
    index("pairings_account").on(t.account_id),
    index("pairings_expiry").on(t.expires_at),
  ],
);

/** Accounts made of late, by a keyed digest of the address: their number is limited. */
export const accountCreations = sqliteTable(
  "account_creations",
  {
    seq: integer().primaryKey(),
    origin: text().notNull(),
    created_at: timestamp().notNull(),
  },
  (t) => [index("account_creations_origin").on(t.origin, t.created_at)],
);
