/** Queries on the older entries of the histories of tasks. The newest are in the rows of the tasks. */

import { type HistoryBlock, oldestKept } from "../src/model/task-history.ts";
import { task_history } from "./history-schema.ts";
import { atRevision, guardOf, type RowRevision } from "./outbox.ts";
import { COUNTED, freed } from "./storage.ts";
import { p, sql } from "./store/sql.ts";
import { qb, select, statement } from "./store/statement.ts";
import { type Statement, textBytes } from "./store/store.ts";

/** The key of a task and its account. */
interface Owner {
  readonly key_id: string;
  readonly account_id: string;
}

const insert = statement(
  sql`insert or replace into task_history (task_id, seq, entries)
    select ${p("changed_id")}, ${p("seq")}, ${p("entries")} where ${atRevision("tasks")}`,
);

const OWNER = [p("key_id"), p("account_id")] as const;
const ofTask = sql`delete from task_history where task_id = ${p("changed_id")} and ${atRevision("tasks")}`;

/** Deletes the blocks before the one that has the entry `oldest`. */
const prune = statement(
  sql`${ofTask} and seq < (select max(seq) from task_history where task_id = ${p("changed_id")} and seq <= ${p("oldest")})
    ${freed("task_history", ...OWNER)}`,
  { frees: true },
);

const deleteAll = statement(sql`${ofTask} ${freed("task_history", ...OWNER)}`, { frees: true });

/** Deletes the blocks of a task, whose row has `history`. Most have none. */
export const deleteHistory = (
  owner: Owner,
  history: string | null,
  changed: RowRevision,
): Statement[] =>
  history?.startsWith("1\n") ? [] : [deleteAll({ ...guardOf(changed), ...owner })];

/** Numbers that a task moves on until its surplus entries are deleted. */
const PRUNED_EVERY = 32;

/** Stores the entries that the change moved out of the row of its task. Now and then, also deletes those that are no longer kept. */
export function moveHistory(owner: Owner, moved: HistoryBlock, changed: RowRevision): Statement[] {
  const guard = guardOf(changed);
  const { seq, entries } = moved;
  const end = seq + entries.split("\n").length;
  const oldest = oldestKept(end - 1);
  const is_due = oldest > 1 && Math.floor(seq / PRUNED_EVERY) < Math.floor(end / PRUNED_EVERY);
  const bytes = COUNTED.task_history.row + textBytes(entries);
  const stored = [{ owner: owner.key_id, account_id: owner.account_id, bytes }];
  const store = { ...insert({ ...guard, seq, entries }), stored };
  return is_due ? [store, prune({ ...guard, ...owner, oldest })] : [store];
}

/** The last `limit` blocks of a task that begin before the entry `before`, newest first. Each has at least one entry. */
export const historyBlocks = select(
  qb.select({ seq: task_history.seq, entries: task_history.entries }).from(task_history),
  sql`where task_id = ${p("task_id")} and seq < ${p("before")} order by seq desc limit ${p("limit")}`,
);
