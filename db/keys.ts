/** Queries on API keys and their secrets. */

import { and, desc, eq, isNull, sql } from "drizzle-orm";
import { LIMITS } from "../src/limits.ts";
import { stamped } from "./outbox.ts";
import { keys } from "./schema.ts";
import { insertWhere, qb, select, statement, updateSet } from "./statement.ts";

const p = sql.placeholder;

/** True in SQL while the key of the row of `table` is not deleted. */
export function ofLiveKey(table: "tasks" | "questions" | "items") {
  return sql`exists (select 1 from keys where keys.id = ${sql.identifier(table)}.key_id and keys.deleted_at is null)`;
}

const columns = {
  key: {
    id: keys.id,
    label: keys.label,
    prefix: keys.prefix,
    last4: keys.last4,
    created_at: keys.created_at,
    last_used_at: keys.last_used_at,
    last_client: keys.last_client,
    last_host: keys.last_host,
  },
  counts: {
    todo: keys.tasks_todo,
    in_progress: keys.tasks_in_progress,
    done: keys.tasks_done,
    cancelled: keys.tasks_cancelled,
  },
  change_id: keys.change_id,
};

/** Placeholders `id`, `account_id`. */
export const keyById = select(
  qb
    .select(columns)
    .from(keys)
    .where(
      and(eq(keys.id, p("id")), eq(keys.account_id, p("account_id")), isNull(keys.deleted_at)),
    ),
  { one: true },
);

/** Placeholder `account_id`. Newest first. */
export const keysOfAccount = select(
  qb
    .select(columns)
    .from(keys)
    .where(and(eq(keys.account_id, p("account_id")), isNull(keys.deleted_at)))
    .orderBy(desc(keys.created_at), desc(keys.id)),
);

/** Inserts unless the account is deleted or has its full number of keys. */
export const insertKey = statement(
  insertWhere(
    keys,
    sql`exists (select 1 from accounts where id = ${p("account_id")} and deleted_at is null)
      and (select count(*) from keys where account_id = ${p("account_id")} and deleted_at is null) < ${sql.raw(String(LIMITS.keys_per_account))}`,
  ),
);

const unchanged = sql`id = ${p("id")} and change_id = ${p("old_change_id")} and deleted_at is null`;

/** Placeholders `label`, `change_id`; guarded by `id`, `old_change_id`. */
export const updateLabel = statement(updateSet(keys, ["label", "change_id"], unchanged));

/** Placeholders `last_host`, `change_id`; guarded by `id`, `old_change_id`. */
export const updateHost = statement(updateSet(keys, ["last_host", "change_id"], unchanged));

/** Placeholders `last_client`, `change_id`; guarded by `id`, `old_change_id`. */
export const updateClient = statement(updateSet(keys, ["last_client", "change_id"], unchanged));

/**
 * True in SQL unless the row was touched between the placeholders `not_after` and `not_before`
 * (timestamps). A later one was written by a clock that was ahead.
 */
export const isTouchDue = sql`(last_used_at is null or last_used_at <= ${sql.param(p("not_after"), keys.last_used_at)}
  or last_used_at >= ${sql.param(p("not_before"), keys.last_used_at)})`;

/** Placeholders `id`, `last_used_at`, and those of {@link isTouchDue}. */
export const touchKey = statement(
  updateSet(keys, ["last_used_at"], sql`id = ${p("id")} and ${isTouchDue}`),
);

/** Tombstone. Placeholders `id`, `account_id`, `deleted_at`, `change_id`. */
export const deleteKey = statement(
  updateSet(
    keys,
    ["deleted_at", "change_id"],
    sql`id = ${p("id")} and account_id = ${p("account_id")} and deleted_at is null`,
  ),
);

/** Tombstones of all keys of a deleted account. Placeholders `id`, `deleted_at`, `stamp_id`, `stamp`. */
export const deleteKeysOfAccount = statement(
  updateSet(
    keys,
    ["deleted_at"],
    sql`account_id = ${p("id")} and deleted_at is null and ${stamped("accounts")}`,
  ),
);
