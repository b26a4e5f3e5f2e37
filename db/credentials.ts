/** Queries on credentials: which account or key a token or secret belongs to. */

import { credentials } from "./credentials-schema.ts";
import { isTouchDue } from "./keys.ts";
import { atRevision } from "./outbox.ts";
import { p, sql } from "./sql.ts";
import { qb, select, statement, updateSet } from "./statement.ts";

/**
 * The owner of a credential, and what is known of its use. Every request makes this one search, of
 * one row. Nothing for a kind that is no bearer token of this version; the
 * caller compares `expires_at` with its clock.
 */
export const credentialOwner = select(
  qb
    .select({
      id: credentials.id,
      account_id: credentials.account_id,
      key_id: credentials.key_id,
      last_used_at: credentials.last_used_at,
      last_host: credentials.last_host,
      last_client: credentials.last_client,
      expires_at: credentials.expires_at,
    })
    .from(credentials),
  // `in` with three values would build a temporary table for each search, which takes 40 % of its time.
  // The plus keeps SQLite from turning the alternatives into such a list.
  sql`where digest = ${p("digest")} and (+kind = 'key_secret' or +kind = 'account_token' or +kind = 'oauth_access')`,
  { one: true },
);

/** Replaces `old_digest` if the account got the revision earlier in the same batch. */
export const replaceDigest = statement(
  updateSet(
    credentials,
    ["digest"],
    sql`digest = ${p("old_digest")} and ${atRevision("accounts")}`,
  ),
);

/** Moves `last_used_at`, once it is due. */
export const touchCredential = statement(
  updateSet(credentials, ["last_used_at"], sql`digest = ${p("digest")} and ${isTouchDue}`),
);
