/** Queries on credentials: whose a token, secret or ticket is, and whether a token has ended. */

import { credentials, endedTokens } from "./credentials-schema.ts";
import { isTouchDue } from "./keys.ts";
import { channels } from "./notify/schema.ts";
import { atRevision } from "./outbox.ts";
import { pruner } from "./retention.ts";
import { accounts, questions } from "./schema.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, qb, rowOf, rowsOf, select, statement, updateSet } from "./store/statement.ts";

/**
 * The owner of a credential and its last use. Every request makes this search for one row. Kinds that are not bearer
 * tokens of this version are not found. The caller checks `expires_at`.
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
  // The plus keeps SQLite from turning this into `in (…)`, whose temporary table takes 40 % of a search.
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

/** Inserts the secret of a key, if the same batch inserted the key. */
export const insertSecret = statement(insertWhere(credentials, atRevision("keys")));

/** Replaces the digest of a key's secret, if the same batch replaced what is shown of it. */
export const replaceSecretDigest = statement(
  updateSet(
    credentials,
    ["digest"],
    sql`key_id = ${p("key_id")} and kind = 'key_secret' and ${atRevision("keys")}`,
  ),
);

/** Copies the last host and client of a key to its credentials, if the same batch changed the key. */
export const copyLastUse = statement(
  updateSet(
    credentials,
    ["last_host", "last_client"],
    sql`key_id = ${p("key_id")} and ${atRevision("keys")}`,
  ),
);

/** Moves `last_used_at`, once it is due. */
export const touchCredential = statement(
  updateSet(credentials, ["last_used_at"], sql`digest = ${p("digest")} and ${isTouchDue}`),
);

/**
 * Why a digest is not found by {@link credentialOwner}: its account is blocked (§4.4), or it is an account token that
 * has ended in this store (§4.1.7). No row for an unknown one.
 */
export const refusedCredential = statement(
  sql`select 'blocked' from credentials where digest = ${p("digest")} and kind in ('blocked_account_token', 'blocked_key_secret', 'blocked_oauth_access')
    union all select 'ended' from ended_tokens where digest = ${p("digest")}`,
  { returns: rowsOf<[why: "blocked" | "ended"]>() },
);

/** A row if an account token with this digest has ended in this store (§4.1.7); triggers write it. */
export const endedToken = statement(sql`select 1 from ended_tokens where digest = ${p("digest")}`, {
  returns: rowOf<[1]>(),
});

/** Forgets tokens that ended before `before`. */
export const pruneEndedTokens = pruner(
  sql`delete from ended_tokens where digest in (
    select digest from ended_tokens where ended_at <= ${p("before", endedTokens.ended_at)} limit ${p("limit")})`,
);

/**
 * What the check of a ticket needs (§19.7): the account that owns both its channel and its question, whether it is
 * blocked, and when the question ended or expires.
 */
export const ticketFacts = select(
  qb
    .select({
      account_id: channels.account_id,
      blocked_at: accounts.blocked_at,
      answered_at: questions.answered_at,
      cancelled_at: questions.cancelled_at,
      expires_at: questions.expires_at,
    })
    .from(channels)
    .innerJoin(questions, sql`${questions.account_id} = ${channels.account_id}`)
    .innerJoin(accounts, sql`${accounts.id} = ${channels.account_id}`),
  sql`where channels.id = ${p("channel_id")} and questions.id = ${p("question_id")}
    and exists (select 1 from keys where id = questions.key_id and deleted_at is null)
    and accounts.deleted_at is null`,
  { one: true },
);
