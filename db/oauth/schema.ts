/** The tables of OAuth (docs/interface.md §18). Their tokens are rows of `credentials`. */

import { index, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { oneOf, timestamp } from "../schema.ts";
import { sql } from "../sql.ts";

/**
 * What a person let a client do: use a key. A row begins with the approval, holds the authorization
 * code until that is used, and then the tokens of `credentials` that have its id.
 *
 * Triggers (migration 0022): a grant that is deleted ends its tokens, and a key that is deleted its grants.
 */
export const grants = sqliteTable(
  "grants",
  {
    id: text().primaryKey(),
    account_id: text().notNull(),
    key_id: text().notNull(),
    /** Digest of the `client_id`. */
    client_digest: text().notNull(),
    /** What the client calls itself. */
    client_name: text(),
    /** Host that the approval led to; null: a program on the person's computer. */
    client_host: text(),
    redirect_uri: text().notNull(),
    /** `code_challenge` by S256. */
    challenge: text().notNull(),
    /** Base address that the tokens are for. */
    resource: text().notNull(),
    /** Of the authorization code; kept after its use, to tell a second one. Null: not made yet. */
    code_digest: text(),
    /** When the code was used. */
    redeemed_at: timestamp(),
    /** Of the part that all refresh tokens of the grant share. */
    family_digest: text(),
    created_at: timestamp().notNull(),
    /** When tokens were got last. */
    last_used_at: timestamp(),
    /** Of the request and its codes, then of the refresh token: from then on the grant is gone. */
    expires_at: timestamp().notNull(),
    revision: text("change_id").notNull(),
  },
  (t) => [
    index("grants_key").on(t.key_id),
    index("grants_account").on(t.account_id, t.client_name),
    uniqueIndex("grants_code").on(t.code_digest).where(sql`code_digest is not null`),
    uniqueIndex("grants_family").on(t.family_digest).where(sql`family_digest is not null`),
    index("grants_expiry").on(t.expires_at),
  ],
);

/** Browsers without a sign-in that wait for another device to approve a request (§18.6). */
export const approvals = sqliteTable(
  "approvals",
  {
    id: text().primaryKey(),
    /** Keyed digest of the code that a person reads. */
    code_digest: text().notNull(),
    /** Of what the waiting browser proves itself with. */
    secret_digest: text().notNull(),
    /** The signed request. */
    request: text().notNull(),
    /** Of the waiting browser: shown to who approves. */
    address: text().notNull(),
    status: oneOf(["pending", "approved", "denied"]).notNull(),
    /** Once approved. */
    grant_id: text(),
    created_at: timestamp().notNull(),
    expires_at: timestamp().notNull(),
    revision: text("change_id").notNull(),
  },
  (t) => [
    uniqueIndex("approvals_code").on(t.code_digest),
    uniqueIndex("approvals_secret").on(t.secret_digest),
    index("approvals_expiry").on(t.expires_at),
  ],
);
