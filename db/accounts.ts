/** Queries on accounts and their tokens. */

import { and, eq, isNull, sql } from "drizzle-orm";
import { accounts } from "./schema.ts";
import { insertWhere, qb, select, statement, updateSet } from "./statement.ts";

const p = sql.placeholder;

/** Placeholder `id`. */
export const accountById = select(
  qb
    .select({
      id: accounts.id,
      created_at: accounts.created_at,
      live_activities: accounts.live_activities,
    })
    .from(accounts)
    .where(and(eq(accounts.id, p("id")), isNull(accounts.deleted_at))),
  { one: true },
);

export const insertAccount = statement(insertWhere(accounts, sql`true`));

/** Placeholders `id`, `live_activities`. */
export const updateSettings = statement(
  updateSet(accounts, ["live_activities"], sql`id = ${p("id")} and deleted_at is null`),
);

/**
 * Stamps an account one of whose credentials, `old_digest`, is about to become `digest`. Guarded by
 * `id`, and that nobody has the new one, not even a deleted account.
 */
export const stampTokenReplacement = statement(
  updateSet(
    accounts,
    ["change_id"],
    sql`id = ${p("id")} and deleted_at is null
      and exists (select 1 from credentials where digest = ${p("old_digest")} and account_id = ${p("id")} and key_id is null)
      and not exists (select 1 from credentials where digest = ${p("digest")})
      and not exists (select 1 from accounts where token_digest = ${p("digest")})`,
  ),
);

/** Tombstone. Placeholders `id`, `deleted_at`, `change_id`. */
export const deleteAccount = statement(
  updateSet(accounts, ["deleted_at", "change_id"], sql`id = ${p("id")} and deleted_at is null`),
);
