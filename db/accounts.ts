/** Queries on accounts and their tokens. */

import { accounts } from "./schema.ts";
import { p, sql } from "./sql.ts";
import { insertWhere, qb, select, statement, updateSet } from "./statement.ts";

/** The account, unless it is deleted. */
export const accountById = select(
  qb
    .select({
      id: accounts.id,
      created_at: accounts.created_at,
      live_activities: accounts.live_activities,
    })
    .from(accounts),
  sql`where id = ${p("id")} and deleted_at is null`,
  { one: true },
);

export const insertAccount = statement(insertWhere(accounts, sql`true`));

export const updateSettings = statement(
  updateSet(accounts, ["live_activities"], sql`id = ${p("id")} and deleted_at is null`),
);

/**
 * Gives a new revision to an account one of whose credentials, `old_digest`, is about to become `digest`. Guarded by
 * `id`, and that nobody has the new one, not even a deleted account.
 */
export const claimTokenReplacement = statement(
  updateSet(
    accounts,
    ["revision"],
    sql`id = ${p("id")} and deleted_at is null
      and exists (select 1 from credentials where digest = ${p("old_digest")} and account_id = ${p("id")} and key_id is null)
      and not exists (select 1 from credentials where digest = ${p("digest")})
      and not exists (select 1 from accounts where token_digest = ${p("digest")})`,
  ),
);

/** Tombstone. */
export const deleteAccount = statement(
  updateSet(accounts, ["deleted_at", "revision"], sql`id = ${p("id")} and deleted_at is null`),
);
