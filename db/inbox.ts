/** Queries on the inboxes of keys, whose items are in commit order. */

import { eq, getTableColumns } from "drizzle-orm";
import { LIMITS } from "../src/limits.ts";
import type { Item } from "../src/model/item.ts";
import type { Question } from "../src/model/question.ts";
import type { Task } from "../src/model/task.ts";
import { isFirstRequest } from "./idempotency.ts";
import { ofLiveKey } from "./keys.ts";
import { guardOf, perTable, type RowRevision } from "./outbox.ts";
import { questionColumns } from "./questions.ts";
import { items, questions, tasks } from "./schema.ts";
import { COUNTED, freed } from "./storage.ts";
import { p, sql } from "./store/sql.ts";
import {
  insertWhere,
  isKnown,
  type Query,
  qb,
  rowOf,
  rowsOf,
  select,
  statement,
  updateSet,
} from "./store/statement.ts";
import type { Statement } from "./store/store.ts";
import { type TaskRow, taskColumns } from "./tasks.ts";

type StoredItem = Omit<Item, "from" | "task" | "question" | "received_at"> & {
  readonly received_at?: number | null;
  readonly from_key_id: string | null;
  readonly from_label: string | null;
  readonly last_task: Task | null;
};

/** An item with the current task and question that it is about. */
export interface ItemRow {
  readonly seq: number;
  readonly item: StoredItem;
  /** All its fields are null if there is no such task. */
  readonly task: Task | { readonly id: null };
  readonly account_id: string;
  readonly silent_due_at: number | null;
  readonly revision: string;
  readonly history: string | null;
  /** All its fields are null if there is no such question. */
  readonly question: Question | { readonly id: null };
}

/** The row of the item's task, to be marked as seen. */
export function taskOf({ task, ...row }: ItemRow): TaskRow | null {
  const { account_id, silent_due_at, revision, history } = row;
  return task.id === null ? null : { task, account_id, silent_due_at, revision, history };
}

const { seq, account_id: _account, revision: _revision, ...item } = getTableColumns(items);

const all = qb
  .select({ seq, item, ...taskColumns, question: questionColumns })
  .from(items)
  .leftJoin(tasks, eq(tasks.id, items.task_id))
  .leftJoin(questions, eq(questions.id, items.question_id)) as unknown as Query<ItemRow>;

// Items of a newer version are not read, so they stay unread.
const known = isKnown(items);

/** Unread items of `key_id` after the position `after`, oldest first. */
export const unreadItems = select(
  all,
  sql`where ${items.key_id} = ${p("key_id")} and ${items.read_at} is null and ${items.seq} > ${p("after")}
    and ${known} and ${ofLiveKey("items")} order by ${items.seq} limit ${p("limit")}`,
);

/** The items of `key_id`, a key of `account_id`, before the position `before`, newest first. */
export const itemPage = select(
  all,
  sql`where ${items.key_id} = ${p("key_id")} and ${items.account_id} = ${p("account_id")}
    and ${items.seq} < ${p("before")} and ${known} and ${ofLiveKey("items")}
    order by ${items.seq} desc limit ${p("limit")}`,
);

/** The item `id`, if it belongs to `account_id`. */
export const itemById = select(
  all,
  sql`where ${items.id} = ${p("id")} and ${items.account_id} = ${p("account_id")} and ${ofLiveKey("items")}`,
  { one: true },
);

/** The position of the item `id` in the inbox of `key_id`. */
export const itemPosition = statement(
  sql`select seq from items where id = ${p("id")} and key_id = ${p("key_id")}`,
  { returns: rowOf<[seq: number]>() },
);

/** The id of the oldest unread item of `key_id` up to the position `last`. */
export const oldestUnread = statement(
  sql`select id from items where key_id = ${p("key_id")} and read_at is null and seq <= ${p("last")} and ${known} order by seq limit 1`,
  { returns: rowOf<[id: string]>() },
);

/** The numbers of unread items of `key_id`, and of those that are not received either; triggers keep them (docs/triggers.md). */
export const countUnread = statement(
  sql`select unread, unread - received from keys where id = ${p("key_id")}`,
  { returns: rowOf<[unread: number, unreceived: number]>() },
);

/**
 * Marks the unread items of `key_id` up to the position `last` as read, unless another reader has taken `first`, the
 * oldest of them. So each item reaches one reader.
 */
export const markRead = statement(
  updateSet(
    items,
    ["read_at", "revision"],
    sql`key_id = ${p("key_id")} and read_at is null and seq <= ${p("last")} and ${known} and ${ofLiveKey("items")}
      and exists (select 1 from items where id = ${p("first")} and read_at is null)`,
  ),
);

/** Marks one item as read. */
export const markOneRead = statement(
  updateSet(
    items,
    ["read_at", "revision"],
    sql`id = ${p("id")} and read_at is null and ${ofLiveKey("items")}`,
  ),
);

/** Marks an unread item as received; it stays unread. */
export const markReceived = statement(
  updateSet(
    items,
    ["received_at", "revision"],
    sql`id = ${p("id")} and read_at is null and received_at is null and ${ofLiveKey("items")}`,
  ),
);

/** A new, unread item. Missing fields are null. */
type NewItem = Pick<Item, "id" | "key_id" | "type" | "created_at"> & {
  readonly account_id: string;
  readonly revision: string;
  readonly from_key_id?: string | null;
  readonly from_label?: string | null;
  readonly task_id?: string | null;
  readonly question_id?: string | null;
  readonly changes?: readonly string[];
  readonly last_task?: Task;
  readonly text?: string;
};

const BLANK = {
  from_key_id: null,
  from_label: null,
  task_id: null,
  question_id: null,
  changes: [],
  last_task: null,
  text: null,
  read_at: null,
  received_at: null,
};

const insertItemAt = perTable(["tasks", "questions"], (guard) =>
  statement(insertWhere(items, guard), { counts: COUNTED.items }),
);

/** Adds an item if the row has the revision `changed`, given earlier in the batch. */
export const insertItem = (
  item: NewItem,
  changed: RowRevision & { readonly table: keyof typeof insertItemAt },
): Statement => insertItemAt[changed.table]({ ...BLANK, ...item, ...guardOf(changed) });

const isCrowded = sql`(select unread from keys where id = ${p("key_id")}) > ${sql.raw(LIMITS.unread_merge)}`;
const older = sql`task_id = ${p("task_id")} and type = 'task.updated' and read_at is null and id <> ${p("id")}`;

const uniteChanges = statement(
  sql`update items set changes = (select json_group_array(name) from (
      select j.value as name from items i, json_each(i.changes) j where i.id = ${p("id")}
      union select j.value from (select changes from items where ${older}) o, json_each(o.changes) j))
    where id = ${p("id")} and ${isCrowded}`,
);
const dropMerged = statement(
  sql`delete from items where ${older} and ${isCrowded}
    and exists (select 1 from items where id = ${p("id")}) ${freed("items", sql`key_id`)}`,
  { frees: true },
);

/**
 * Merges the unread `task.updated` items of the task into the newest one, `id`, once the key has more than
 * `LIMITS.unread_merge` unread items (§5.9.3). The older items are deleted, so that nobody can acknowledge by an older
 * id a change that only the newest item shows.
 */
export function mergeTaskUpdates(item: {
  readonly id: string;
  readonly key_id: string;
  readonly task_id: string;
}): Statement[] {
  return [uniteChanges(item), dropMerged(item)];
}

const insertMessageItem = statement(
  insertWhere(
    items,
    sql`exists (select 1 from keys where id = ${p("key_id")} and account_id = ${p("account_id")} and deleted_at is null)
      and (${p("from_key_id")} is null
        or exists (select 1 from keys where id = ${p("from_key_id")} and deleted_at is null)
        and (select count(*) from items where key_id = ${p("key_id")} and from_key_id = ${p("from_key_id")} and read_at is null) < ${sql.raw(LIMITS.unread_messages)}) and ${isFirstRequest()}`,
  ),
  { counts: COUNTED.items },
);

/**
 * Inserts a message unless one of the keys is deleted, the receiving key is not of the account or has its full number
 * of unread messages from the sender, or the request `idempotency_id` was done before.
 */
export function insertMessage(
  item: NewItem & { readonly idempotency_id: string | null },
): Statement {
  return insertMessageItem({ ...BLANK, ...item });
}

/** Unread items from before `before` (epoch seconds), oldest first. */
export const oldUnread = statement(
  sql`select key_id, account_id, id, seq from items where read_at is null and created_at < ${p("before", items.created_at)}
    and ${known} and ${ofLiveKey("items")} order by created_at, seq limit ${p("limit")}`,
  { returns: rowsOf<[key_id: string, account_id: string, id: string, seq: number]>() },
);

/** Deletes the items of `key_id` up to `last` that a batch marked with `revision`. */
export const deleteMarked = statement(
  sql`delete from items where key_id = ${p("key_id")} and seq <= ${p("last")} and revision = ${p("revision")}
    ${freed("items", sql`key_id`)}`,
  { frees: true },
);

/** Deletes up to `limit` items that were read before `before` (epoch seconds). */
export const deleteRead = statement(
  sql`delete from items where seq in (select seq from items where read_at < ${p("before", items.read_at)} limit ${p("limit")})
    ${freed("items", sql`key_id`)}`,
  { frees: true },
);
