/** Queries on tasks; every one takes its owner's scope in the WHERE. */

import { sql as drizzle, getTableColumns } from "drizzle-orm";
import { LIMITS } from "../src/limits.ts";
import { type Caller, callerId } from "../src/model/caller.ts";
import { TASK_STATUSES, type Task } from "../src/model/task.ts";
import { isFirstRequest } from "./idempotency.ts";
import { ofLiveKey } from "./keys.ts";
import { atRevision, guardOf, type RowRevision } from "./outbox.ts";
import { FINISHED, tasks } from "./schema.ts";
import { COUNTED } from "./storage.ts";
import { p, type Sql, sql } from "./store/sql.ts";
import {
  byShape,
  columnsBut,
  insertWhere,
  isKnown,
  qb,
  select,
  statement,
  updateSet,
} from "./store/statement.ts";
import { type Statement, textBytes } from "./store/store.ts";

/** A task with its account and the revision that guards its next change. */
export interface TaskRow {
  readonly task: Task;
  readonly account_id: string;
  readonly silent_due_at: number | null;
  readonly revision: string;
  /** The newest entries of its history, as stored. */
  readonly history: string | null;
}

const { account_id, silent_due_at, revision, history, ...task } = getTableColumns(tasks);
const columns = { task, account_id, silent_due_at, revision, history };
/** The columns of a row in a list. It has its history only if the task is to be marked as seen. */
export const taskColumns = {
  ...columns,
  history: drizzle<string | null>`case when ${tasks.seen_at} is null then ${tasks.history} end`.as(
    "history",
  ),
};

const all = qb.select(columns).from(tasks);

const owned = (owner: "key_id" | "account_id") =>
  select(
    all,
    sql`where id = ${p("id")} and ${sql.identifier(owner)} = ${p("owner")} and ${ofLiveKey("tasks")}`,
    { one: true },
  );
const byKind = { key: owned("key_id"), account: owned("account_id") };

/** The task, if it is the caller's. */
export function taskById(caller: Caller, id: string): Statement<TaskRow> {
  return byKind[caller.kind]({ id, owner: callerId(caller) });
}

/**
 * Inserts unless the key is deleted, not of the account, or has its full number of tasks, or the request
 * `idempotency_id` was done before.
 */
export const insertTask = statement(
  insertWhere(
    tasks,
    sql`exists (select 1 from keys where id = ${p("key_id")} and account_id = ${p("account_id")} and deleted_at is null
      and tasks_todo + tasks_in_progress + tasks_done + tasks_cancelled < ${sql.raw(LIMITS.tasks_per_key)}) and ${isFirstRequest()}`,
  ),
  { counts: COUNTED.tasks },
);

/** Bytes of the texts in a row, as {@link COUNTED} has them. */
const textsOf = ({ task: { title, description, status_note }, history }: TaskRow): number =>
  textBytes(title, description, status_note, history);

const unchanged = sql`id = ${p("id")} and revision = ${p("old_revision")} and ${ofLiveKey("tasks")}`;

const FIXED = ["id", "key_id", "account_id", "source", "created_at", "host"] as const;

/** Columns with triggers, or that rarely change: a server compiles the triggers of each column that it sets. */
const MOVES = ["status", "expect_update_within", "silent_due_at", "silent_since"] as const;

const update = statement(updateSet(tasks, columnsBut(tasks, FIXED), unchanged));
const updateInPlace = statement(
  updateSet(tasks, columnsBut(tasks, [...FIXED, ...MOVES]), unchanged),
);

/** Writes what can change of `before`, which the store has at `before.revision`. */
export function updateTask(before: TaskRow, { task, ...row }: TaskRow): Statement {
  const values = { ...task, ...row, old_revision: before.revision };
  const moves =
    row.silent_due_at !== before.silent_due_at ||
    task.status !== before.task.status ||
    task.expect_update_within !== before.task.expect_update_within ||
    task.silent_since !== before.task.silent_since;
  const bytes = textsOf({ task, ...row }) - textsOf(before);
  const stored = [{ owner: task.key_id, account_id: row.account_id, bytes }];
  return { ...(moves ? update(values) : updateInPlace(values)), stored };
}

const claim = (owner: "key_id" | "account_id") =>
  statement(
    updateSet(
      tasks,
      ["revision"],
      sql`id = ${p("id")} and ${sql.identifier(owner)} = ${p("owner")}`,
    ),
  );
const claims = { key: claim("key_id"), account: claim("account_id") };

/**
 * Gives the caller's task a new revision and reads it, so that pending decisions of other processes on the task miss.
 * Clients see no change.
 */
export function claimTask(
  caller: Caller,
  { id, revision }: { readonly id: string; readonly revision: string },
): readonly [Statement, Statement<TaskRow>] {
  return [claims[caller.kind]({ id, revision, owner: callerId(caller) }), taskById(caller, id)];
}

/**
 * Gives a task that is to be deleted a new revision, unless it has a pending question that is not in `known` (JSON list
 * of ids): the caller then decides again. Guarded by `id` and `old_revision`.
 */
export const claimTaskDeletion = statement(
  updateSet(
    tasks,
    ["revision"],
    sql`${unchanged} and not exists (select 1 from questions where task_id = ${p("id")} and status = 'pending'
      and id not in (select value from json_each(${p("known")})))`,
  ),
);

/** Finished tasks that were last updated before `before`, oldest first. */
export const finishedTasks = select(
  all,
  sql`where ${FINISHED} and updated_at < ${p("before", tasks.updated_at)} and ${ofLiveKey("tasks")} and ${isKnown(tasks)}
    order by updated_at limit ${p("limit")}`,
);

const deleteClaimed = statement(
  sql`delete from tasks where id = ${p("changed_id")} and ${atRevision("tasks")}`,
);

/** Deletes the task of the row, which {@link claimTaskDeletion} marked at the revision `changed`. */
export function deleteClaimedTask(row: TaskRow, changed: RowRevision): Statement {
  const bytes = -(COUNTED.tasks.row + textsOf(row));
  const stored = [{ owner: row.task.key_id, account_id: row.account_id, bytes }];
  return { ...deleteClaimed(guardOf(changed)), stored };
}

/**
 * A row of a page. A long description is only its length in bytes, since the page may not hold it;
 * {@link tasksByIds} reads it once the page is known.
 */
export type TaskPageRow = Omit<TaskRow, "task"> & {
  readonly task: Omit<Task, "description"> & { readonly description: string | number };
};

const pageColumns = {
  ...taskColumns,
  task: {
    ...task,
    description: drizzle<
      string | number
    >`case when octet_length(description) <= ${p("inline_bytes")} then description else octet_length(description) end`.as(
      "description",
    ),
  },
};

// Without the plus, SQLite would search all tasks of the owner.
const whole = (owner: "key_id" | "account_id") =>
  select(
    qb.select(taskColumns).from(tasks),
    sql`where id in (select value from json_each(${p("ids")})) and +${sql.identifier(owner)} = ${p("owner")}
      and ${ofLiveKey("tasks")}`,
  );
const wholeByScope = { key: whole("key_id"), account: whole("account_id") };

/** The owner's tasks with these ids, in no order. */
export function tasksByIds(
  { scope, owner }: Pick<TaskFilter, "scope" | "owner">,
  ids: readonly string[],
): Statement<TaskRow> {
  return wholeByScope[scope]({ owner, ids: JSON.stringify(ids) });
}

/** A position in a list: that of the task with this time and id. */
interface TaskPosition {
  readonly updated_at: number;
  readonly id: string;
}

export interface TaskFilter {
  readonly scope: "key" | "account";
  readonly owner: string;
  readonly statuses: readonly Task["status"][];
  readonly priorities: readonly Task["priority"][] | null;
  /** Only tasks after this position. */
  readonly after: TaskPosition | null;
  /** Only tasks down to and including this position. */
  readonly down_to: TaskPosition | null;
  readonly limit: number;
  /** True: only rows that this version knows, which takes longer ({@link lacksRows}). */
  readonly only_known?: boolean;
}

/**
 * A page, newest `updated_at` first, ties by id descending (§5.5.2(1)). Each status is a range of an index, cut at the
 * limit before the ranges are merged, so every page of a list costs the same. Descriptions of more than `inline_bytes`
 * bytes are left out.
 */
export function taskPage(
  filter: TaskFilter,
  { inline_bytes }: { readonly inline_bytes: number },
): Statement<TaskPageRow> {
  const merged = merge(filter);
  return pages(merged.shape, () =>
    select(
      qb.select(pageColumns).from(tasks),
      sql`join (select place from (${merged.sql()}) order by updated_at desc, id desc limit ${p("limit")}) on place = tasks.rowid`,
      { params: ["inline_bytes"], order: newestFirst },
    ),
  )({ ...merged.values, inline_bytes });
}

const newestFirst = ({ task: a }: TaskPageRow, { task: b }: TaskPageRow): number =>
  b.updated_at - a.updated_at || (a.id < b.id ? 1 : -1);

/** The position `offset` tasks into the list, where a page stops looking. */
export function taskPosition(filter: TaskFilter, offset: number): Statement<TaskPosition> {
  const merged = merge({ ...filter, limit: offset + 1 });
  return positions(merged.shape, () =>
    select(
      qb.select({ updated_at: tasks.updated_at, id: tasks.id }).from(tasks),
      sql`where id = (select id from (${merged.sql()}) order by updated_at desc, id desc limit 1 offset ${p("offset")})`,
      { one: true },
    ),
  )({ ...merged.values, offset });
}

/** The parameters of a list. It has those that its filter needs. */
interface ListValues {
  readonly owner: string;
  readonly limit: number;
  readonly after_at: number;
  readonly after_id: string;
  readonly to_at: number;
  readonly to_id: string;
  readonly priorities: string;
}

// At most 60 shapes of each.
const pages = byShape<ListValues & { readonly inline_bytes: number }, TaskPageRow>();
const positions = byShape<ListValues & { readonly offset: number }, TaskPosition>();

function merge(filter: TaskFilter) {
  const statuses = TASK_STATUSES.filter((status) => filter.statuses.includes(status));
  const bounded = filter.down_to !== null;
  const narrowed = filter.priorities !== null;
  const { only_known = false } = filter;
  const time = <Name extends string>(name: Name) => p(name, tasks.updated_at);
  const conditions: Sql<ListValues>[] = [
    sql`(updated_at, id) < (${time("after_at")}, ${p("after_id")})`,
  ];
  if (bounded) conditions.push(sql`(updated_at, id) >= (${time("to_at")}, ${p("to_id")})`);
  if (narrowed) {
    conditions.push(sql`priority in (select value from json_each(${p("priorities")}))`);
  }
  if (only_known) conditions.push(isKnown(tasks));
  if (filter.scope === "account") conditions.push(ofLiveKey("tasks"));
  const owner = sql.identifier(filter.scope === "key" ? "key_id" : "account_id");
  const range = (status: string): Sql<ListValues> =>
    sql`select * from (select rowid as place, id, updated_at from tasks where ${owner} = ${p("owner")} and status = ${sql.raw(`'${status}'`)} and ${sql.join(conditions, sql` and `)} order by updated_at desc, id desc limit ${p("limit")})`;
  return {
    shape: [filter.scope, bounded, narrowed, only_known, ...statuses].join(" "),
    sql: () => sql.join(statuses.map(range), sql` union all `),
    values: {
      owner: filter.owner,
      limit: filter.limit,
      after_at: filter.after?.updated_at ?? END_OF_TIME,
      after_id: filter.after?.id ?? "",
      to_at: filter.down_to?.updated_at ?? 0,
      to_id: filter.down_to?.id ?? "",
      priorities: JSON.stringify(filter.priorities ?? []),
    },
  };
}

/** Epoch seconds later than any change. */
export const END_OF_TIME = 9_000_000_000_000;
