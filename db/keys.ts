/** Queries on API keys and their secrets. */

import { eq } from "drizzle-orm";
import { LIMITS } from "../src/limits.ts";
import { isLiveAccount } from "./accounts.ts";
import { channels } from "./notify/schema.ts";
import { atRevision } from "./outbox.ts";
import { keys } from "./schema.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, type Query, qb, select, statement, updateSet } from "./store/statement.ts";

/** True in SQL if the key of the row in `table` is not deleted. */
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
  revision: keys.revision,
  webhook: {
    id: channels.id,
    state: channels.state,
    origin: channels.origin,
    hint: channels.hint,
    last_sent_at: channels.last_sent_at,
    error_code: channels.error_code,
    error_at: channels.error_at,
    missed: channels.missed,
    created_at: channels.created_at,
    set_by: channels.set_by,
  },
};

const selected = qb.select(columns).from(keys).leftJoin(channels, eq(channels.key_id, keys.id));
type Selected = Awaited<ReturnType<typeof selected.execute>>[number];

/** A key beside its webhook, whose fields are all null when there is none. */
export interface KeyRow extends Omit<Selected, "webhook"> {
  readonly webhook: NonNullable<Selected["webhook"]> | { readonly id: null };
}

const all = selected as unknown as Query<KeyRow>;

/** The key, if it is the account's. */
export const keyById = select(
  all,
  sql`where ${keys.id} = ${p("id")} and ${keys.account_id} = ${p("account_id")} and ${keys.deleted_at} is null`,
  { one: true },
);

/** The keys of an account, newest first. */
export const keysOfAccount = select(
  all,
  sql`where ${keys.account_id} = ${p("account_id")} and ${keys.deleted_at} is null order by ${keys.created_at} desc, ${keys.id} desc`,
);

/** True in SQL if the account is not deleted and may have one more key. */
export const hasRoomForKey = sql`${isLiveAccount}
  and (select count(*) from keys where account_id = ${p("account_id")} and deleted_at is null) < ${sql.raw(LIMITS.keys_per_account)}`;

/** Inserts a key. `insertSecret` follows in the batch. */
export const insertKey = statement(insertWhere(keys, hasRoomForKey));

/** Inserts the key of a grant that the same batch inserted. */
export const insertKeyOfGrant = statement(insertWhere(keys, atRevision("grants")));

/** Guards a change by the revision that it was decided on. */
const unchanged = sql`id = ${p("id")} and revision = ${p("old_revision")} and deleted_at is null`;

/** Changes the key. `copyLastUse` follows in the batch. */
export const updateKey = statement(
  updateSet(keys, ["label", "last_host", "last_client", "revision"], unchanged),
);

/** Replaces what is shown of the secret. `replaceSecretDigest` follows in the batch. */
export const replaceSecret = statement(updateSet(keys, ["prefix", "last4", "revision"], unchanged));

/** The newest key of the account with this label. */
export const keyByLabel = select(
  qb.select({ id: keys.id }).from(keys),
  sql`where account_id = ${p("account_id")} and label = ${p("label")} and deleted_at is null order by created_at desc limit 1`,
);

/**
 * True in SQL unless `last_used_at` is between `not_after` and `not_before`. A later time was written by a clock that
 * was ahead.
 */
export const isTouchDue = sql`(last_used_at is null or last_used_at <= ${p("not_after", keys.last_used_at)}
  or last_used_at >= ${p("not_before", keys.last_used_at)})`;

export const touchKey = statement(
  updateSet(keys, ["last_used_at"], sql`id = ${p("id")} and ${isTouchDue}`),
);

/** Marks the key as deleted. */
export const deleteKey = statement(
  updateSet(
    keys,
    ["deleted_at", "revision"],
    sql`id = ${p("id")} and account_id = ${p("account_id")} and deleted_at is null`,
  ),
);

/** Marks all keys of a deleted account as deleted. */
export const deleteKeysOfAccount = statement(
  updateSet(
    keys,
    ["deleted_at"],
    sql`account_id = ${p("id")} and deleted_at is null and ${atRevision("accounts")}`,
  ),
);
