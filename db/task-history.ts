/** Queries on the older entries of the histories of tasks. The newest are in the rows of the tasks. */

import { type HistoryBlock, oldestKept } from "../src/model/task-history.ts";
import { task_history } from "./history-schema.ts";
import { atRevision, guardOf, type RowRevision } from "./outbox.ts";
import { p, sql } from "./store/sql.ts";
import { qb, select, statement } from "./store/statement.ts";
import type { Statement } from "./store/store.ts";

const insert = statement(
  sql`insert or replace into task_history (task_id, seq, entries)
    select ${p("changed_id")}, ${p("seq")}, ${p("entries")} where ${atRevision("tasks")}`,
);

/** Deletes the blocks before the one that has the entry `oldest`. */
const prune = statement(
  sql`delete from task_history where task_id = ${p("changed_id")} and ${atRevision("tasks")}
    and seq < (select max(seq) from task_history where task_id = ${p("changed_id")} and seq <= ${p("oldest")})`,
);

/** Numbers that a task moves on until its surplus entries are deleted. */
const PRUNED_EVERY = 32;

/** Stores the entries that the change moved out of the row of its task. Now and then, also deletes those that are no longer kept. */
export function moveHistory(moved: HistoryBlock, changed: RowRevision): Statement[] {
  const guard = guardOf(changed);
  const { seq, entries } = moved;
  const end = seq + entries.split("\n").length;
  const oldest = oldestKept(end - 1);
  const is_due = oldest > 1 && Math.floor(seq / PRUNED_EVERY) < Math.floor(end / PRUNED_EVERY);
  const store = insert({ ...guard, seq, entries });
  return is_due ? [store, prune({ ...guard, oldest })] : [store];
}

/** The last `limit` blocks of a task that begin before the entry `before`, newest first. Each has at least one entry. */
export const historyBlocks = select(
  qb.select({ seq: task_history.seq, entries: task_history.entries }).from(task_history),
  sql`where task_id = ${p("task_id")} and seq < ${p("before")} order by seq desc limit ${p("limit")}`,
);
