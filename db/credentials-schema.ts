/** The tables of credentials, ended tokens, pairing codes, recovery codes, account creations, and attestation challenges. */

import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { CREDENTIAL_KINDS, CREDENTIAL_MAKERS } from "../src/model/caller.ts";
import type { ClientInfo } from "../src/model/client.ts";
import { oneOf, timestamp } from "./schema.ts";
import { sql } from "./store/sql.ts";

/**
 * Credentials (§4.1): the sign-ins of an account, the secrets of a key, and the tokens of OAuth. The table is WITHOUT
 * ROWID, so that a request finds its row with one search.
 *
 * The only place of their digests. Triggers delete the credentials of a deleted key or account (docs/triggers.md).
 */
export const credentials = sqliteTable(
  "credentials",
  {
    /** Digest of the token or secret, by `digest` in src/ids.ts. */
    digest: text().primaryKey(),
    /** `ses_…` for an account, `crd_…` for a key. It stays when the digest is replaced. */
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
    /** A copy of the key's, so that authenticating a request reads only this row. */
    last_host: text(),
    last_client: text({ mode: "json" }).$type<ClientInfo>(),
    /** From when on it is refused; null: never. */
    expires_at: timestamp(),
    /** The grant of a token of OAuth (oauth/schema.ts). */
    grant_id: text(),
    /** When a token of OAuth got a successor. */
    replaced_at: timestamp(),
    /** Client address from which its pairing code was used; null if it was not made by a code. */
    address: text(),
    /** When another sign-in ended the trial of this one (§4.1.6), if one did. */
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
 * Account tokens that have ended, so that a `401` can tell one from a token that this store has never seen (§4.1.7).
 * Triggers write the rows, and keep the newest 100 of each account.
 */
export const endedTokens = sqliteTable(
  "ended_tokens",
  {
    /** Digest of the token, as in `credentials`. */
    digest: text().primaryKey(),
    /** Id of the account; null once the account is deleted. */
    owner: text(),
    /** By the clock of the store. */
    ended_at: timestamp().notNull(),
  },
  (t) => [
    index("ended_tokens_owner").on(t.owner, t.ended_at).where(sql`owner is not null`),
    index("ended_tokens_age").on(t.ended_at),
  ],
);

/**
 * Pairing codes (§5.14), each as keyed digests of its two forms. When a sign-in ends or changes its token, triggers
 * remove its open codes, and when it ends, the code that it claimed. So an account has at most one row for each open
 * code and each sign-in.
 */
export const pairings = sqliteTable(
  "pairings",
  {
    /** In the order of their creation. */
    seq: integer().primaryKey(),
    account_id: text().notNull(),
    /** The sign-in that made it; null if the administrator did. */
    session_id: text(),
    /** Digests of the code that is typed, and of the one in the link. */
    code_digest: text().notNull(),
    link_digest: text().notNull(),
    created_at: timestamp().notNull(),
    expires_at: timestamp().notNull(),
    /** The sign-in that used it; null while it is open. */
    claimed_by: text(),
  },
  (t) => [
    uniqueIndex("pairings_code").on(t.code_digest),
    uniqueIndex("pairings_link").on(t.link_digest),
    index("pairings_account").on(t.account_id),
    index("pairings_expiry").on(t.expires_at),
  ],
);

/**
 * The recovery code of each account that has one (§5.2.8). A trigger removes it with its account.
 */
export const recoveryCodes = sqliteTable(
  "recovery_codes",
  {
    account_id: text().primaryKey(),
    /** Digest of the code, by `digest` in src/ids.ts. */
    digest: text().notNull(),
    created_at: timestamp().notNull(),
    /** Digest of the code whose use made this one; null if the person made it. */
    used_digest: text(),
    /** The sign-in that this use made. */
    session_id: text(),
  },
  (t) => [
    uniqueIndex("recovery_codes_digest").on(t.digest),
    uniqueIndex("recovery_codes_used").on(t.used_digest).where(sql`used_digest is not null`),
  ],
);

/** Recent account creations, by a keyed digest of the address, to limit their number. */
export const accountCreations = sqliteTable(
  "account_creations",
  {
    seq: integer().primaryKey(),
    origin: text().notNull(),
    created_at: timestamp().notNull(),
  },
  (t) => [index("account_creations_origin").on(t.origin, t.created_at)],
);

/** Unused challenges of app attestation. */
export const challenges = sqliteTable(
  "challenges",
  { challenge: text().primaryKey(), expires_at: timestamp().notNull() },
  (t) => [index("challenges_expiry").on(t.expires_at)],
);
