/** The tables of OAuth (§18). Tokens are rows of `credentials`. */

import { index, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { oneOf, timestamp } from "../schema.ts";
import { sql } from "../store/sql.ts";

/**
 * A person's permission for a client to use a key. The approval inserts the row, which has the authorization code until
 * it is used. After that, the tokens in `credentials` have the row's id.
 *
 * Triggers (docs/triggers.md): deleting a grant ends its tokens, and deleting a key its grants.
 */
export const grants = sqliteTable(
  "grants",
  {
    id: text().primaryKey(),
    account_id: text().notNull(),
    key_id: text().notNull(),
    /** Digest of the `client_id`. */
    client_digest: text().notNull(),
    /** The name that the client gives itself. */
    client_name: text(),
    /** Host of the redirect URI; null: a program on the person's computer. */
    client_host: text(),
    redirect_uri: text().notNull(),
    /** `code_challenge` by S256. */
    challenge: text().notNull(),
    /** Base address that the tokens are for. */
    resource: text().notNull(),
    /** Digest of the authorization code. Kept after use to detect a second use; null until issued. */
    code_digest: text(),
    redeemed_at: timestamp(),
    /** Of the part that the refresh tokens of the grant share. */
    family_digest: text(),
    created_at: timestamp().notNull(),
    /** When the client last got tokens. */
    last_used_at: timestamp(),
    /** Of the request and its codes, later of the refresh token; then the grant has ended. */
    expires_at: timestamp().notNull(),
    revision: text().notNull(),
  },
  (t) => [
    index("grants_key").on(t.key_id),
    index("grants_account").on(t.account_id, t.client_name),
    uniqueIndex("grants_code").on(t.code_digest).where(sql`code_digest is not null`),
    uniqueIndex("grants_family").on(t.family_digest).where(sql`family_digest is not null`),
    index("grants_expiry").on(t.expires_at),
  ],
);

/** Browsers without a sign-in that wait for another device to decide about a request (§18.6). */
export const approvals = sqliteTable(
  "approvals",
  {
    id: text().primaryKey(),
    /** Keyed digest of the code that a person reads. */
    code_digest: text().notNull(),
    /** Of the secret by which the browser asks for the outcome. */
    secret_digest: text().notNull(),
    /** The signed request. */
    request: text().notNull(),
    /** Of the waiting browser; shown to the person who decides. */
    address: text().notNull(),
    status: oneOf(["pending", "approved", "denied"]).notNull(),
    /** Null until it is approved. */
    grant_id: text(),
    created_at: timestamp().notNull(),
    expires_at: timestamp().notNull(),
    revision: text().notNull(),
  },
  (t) => [
    uniqueIndex("approvals_code").on(t.code_digest),
    uniqueIndex("approvals_secret").on(t.secret_digest),
    index("approvals_expiry").on(t.expires_at),
  ],
);
