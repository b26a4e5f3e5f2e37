/** Queries on accounts and their tokens. */

import { and, eq, isNull, sql } from "drizzle-orm";
import { accounts } from "./schema.ts";
import { insertWhere, qb, select, statement, updateSet } from "./statement.ts";

const p = sql.placeholder;

/** Placeholder `token_digest`: the account of a token, unless it is deleted. */
export const accountByToken = select(
  qb
    .select({ id: accounts.id })
    .from(accounts)
    .where(and(eq(accounts.token_digest, p("token_digest")), isNull(accounts.deleted_at))),
  { one: true },
);

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
 * Placeholders `token_digest`, `change_id`; guarded by `id`, the digest of the `old_token`, and that
 * no account has the new one, not even a deleted one.
 */
export const replaceToken = statement(
  updateSet(
    accounts,
    ["token_digest", "change_id"],
    sql`id = ${p("id")} and token_digest = ${p("old_token")} and deleted_at is null
      and not exists (select 1 from accounts where token_digest = ${p("token_digest")})`,
  ),
);

/** Tombstone. Placeholders `id`, `deleted_at`, `change_id`. */
export const deleteAccount = statement(
  updateSet(accounts, ["deleted_at", "change_id"], sql`id = ${p("id")} and deleted_at is null`),
);
