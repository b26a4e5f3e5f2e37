/** Queries on the older entries of the histories of tasks. The newest are in the rows of the tasks. */

import { LIMITS } from "../src/limits.ts";
import { BLOCK } from "../src/model/task-history.ts";
import { task_history } from "./history-schema.ts";
import { atRevision, guardOf, type RowRevision } from "./outbox.ts";
import { p, sql } from "./store/sql.ts";
import { qb, select, statement } from "./store/statement.ts";
import type { Statement } from "./store/store.ts";

const insert = statement(
  sql`insert or replace into task_history (task_id, seq, entries)
    select ${p("changed_id")}, ${p("seq")}, ${p("entries")} where ${atRevision("tasks")}`,
);

const prune = statement(
  sql`delete from task_history where task_id = ${p("changed_id")} and seq <= ${p("upto")} and ${atRevision("tasks")}`,
);

/** Entries by which a task may have more than the newest 200: that many are deleted at once. */
const SURPLUS = 2 * BLOCK;

/**
 * Stores entries that `changed` moved out of the row of its task, `seq` being the number of the last. Every second time,
 * also deletes those that are no longer among the newest 200.
 */
export function moveHistory(
  { seq, entries }: { readonly seq: number; readonly entries: string },
  changed: RowRevision,
): Statement[] {
  const guard = guardOf(changed);
  const store = insert({ ...guard, seq, entries });
  const upto = seq - LIMITS.history_per_task;
  const is_due = upto > 0 && seq % SURPLUS === 0;
  return is_due ? [store, prune({ ...guard, upto })] : [store];
}

const blocks = select(
  qb.select({ seq: task_history.seq, entries: task_history.entries }).from(task_history),
  sql`where task_id = ${p("task_id")} and seq < ${p("below")} order by seq desc limit ${p("limit")}`,
);

/** The blocks with the last `count` entries of a task whose numbers are lower than `before`, newest first. */
export const historyBlocks = (task_id: string, before: number, count: number) =>
  blocks({ task_id, below: before + BLOCK - 1, limit: Math.ceil(count / BLOCK) + 1 });
