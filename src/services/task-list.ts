/** The list of tasks, in list pages bounded by number and by bytes (§5.5.2). */

import type { Store } from "../../db/store/store.ts";
import {
  type TaskFilter,
  type TaskPageRow,
  type TaskRow,
  taskPage,
  taskPosition,
  tasksByIds,
} from "../../db/tasks.ts";
import { LIMITS } from "../limits.ts";
import { type Caller, callerId } from "../model/caller.ts";
import { TASK_STATUSES, type Task, taskUnits } from "../model/task.ts";
import type { Keys } from "./keys.ts";
import type { Confirm } from "./shared/deps.ts";
import { endPage, type PageQuery, readCursor, readPage, writeCursor } from "./shared/list-page.ts";

/** Bytes up to which a long text is always read with its row; longer texts are read once the list page is known. */
const INLINE_TEXT_MIN = 2 * 1024;

interface ListQuery extends PageQuery {
  readonly key_id?: string | undefined;
  readonly status?: readonly Task["status"][] | undefined;
  readonly priority?: readonly Task["priority"][] | undefined;
}

interface ListOptions {
  /** False for HEAD: no task is marked as seen. */
  readonly effects: boolean;
  /** Bytes of JSON for the list page, at most. */
  readonly page_bytes: number;
  readonly confirmed?: Confirm;
}

interface TaskListDeps {
  readonly store: Pick<Store, "read">;
  readonly keys: Pick<Keys, "find">;
  /** Marks tasks as seen by their agent, and leaves out deleted ones. */
  readonly seen: (
    caller: Caller,
    rows: readonly TaskRow[],
    confirmed: Confirm | undefined,
  ) => Promise<Task[]>;
}

export function createTaskList({ store, keys, seen }: TaskListDeps) {
  /** Reads the missing descriptions. A task that was deleted meanwhile, or no longer fits the filter, is left out. */
  const complete = async (
    filter: Pick<TaskFilter, "scope" | "owner" | "statuses" | "priorities">,
    rows: readonly TaskPageRow[],
  ): Promise<TaskRow[]> => {
    const ids = rows.filter((row) => !isWhole(row)).map(({ task }) => task.id);
    const { statuses, priorities } = filter;
    const now = new Map<string, TaskRow>();
    for (const row of await store.read(tasksByIds(filter, ids))) {
      const { id, status, priority } = row.task;
      if (statuses.includes(status) && (priorities?.includes(priority) ?? true)) now.set(id, row);
    }
    return rows
      .map((row) => (isWhole(row) ? row : now.get(row.task.id)))
      .filter((row) => row !== undefined);
  };

  /** Returns a list page, newest `updated_at` first. `422 fields.cursor`. */
  return async (
    caller: Caller,
    query: ListQuery,
    { effects, page_bytes, confirmed }: ListOptions,
  ) => {
    const of_key = caller.kind === "key" ? caller.key_id : query.key_id;
    const owner = of_key ?? caller.account_id;
    const statuses = query.status ?? TASK_STATUSES;
    const priorities = query.priority ?? null;
    const limit = query.limit ?? LIMITS.task_page_default;
    const bound_to = [
      callerId(caller),
      owner,
      [...new Set(statuses)].sort(),
      priorities && [...new Set(priorities)].sort(),
    ];
    const cursor = query.cursor === undefined ? null : readCursor(query.cursor, bound_to);
    const after = cursor && { updated_at: cursor.at / 1000, id: cursor.id };
    if (caller.kind === "account" && of_key !== undefined) await keys.find(caller, of_key);

    const scope: "key" | "account" = of_key === undefined ? "account" : "key";
    const filter = { scope, owner, statuses, priorities, after, down_to: null };
    // For a rare priority, a list page must not look through every task: it ends after a stretch.
    const [stretch_end] = priorities
      ? await store.read(
          taskPosition({ ...filter, priorities: null, limit: 0 }, LIMITS.task_scan - 1),
        )
      : [];
    const down_to = stretch_end ?? null;
    const found = await readPage(store, (only_known) =>
      taskPage(
        { ...filter, down_to, limit: limit + 1, only_known },
        { inline_bytes: inlineBytes(limit) },
      ),
    );
    const fitting = withoutExcess(found, limit, page_bytes);
    const rows = fitting.every(isWhole) ? fitting : await complete(filter, fitting);
    const page = endPage(rows, {
      limit,
      bytes: page_bytes,
      unitsOf: ({ task }) => taskUnits(task),
      recordOf: ({ task }) => task,
    });

    /** The last task of the list page, as it was listed; null at the end of the list. */
    const end = (): TaskPageRow["task"] | null => {
      const cut = page.length < rows.length;
      if (!cut && fitting.length === found.length) return null;
      const last_id = cut ? page.at(-1)!.task.id : fitting.at(-1)!.task.id;
      return fitting.find(({ task }) => task.id === last_id)!.task;
    };
    const next = end() ?? down_to;
    return {
      tasks:
        caller.kind === "key" && effects
          ? await seen(caller, page, confirmed)
          : page.map(({ task }) => task),
      next_cursor:
        next && writeCursor({ at: Math.round(next.updated_at * 1000), id: next.id }, bound_to),
    };
  };
}

/** Bytes up to which a description is read with its row: all of them fill about one list page. */
const inlineBytes = (limit: number): number =>
  Math.max(INLINE_TEXT_MIN, Math.floor(LIMITS.page_bytes / limit));

const isWhole = (row: TaskPageRow): row is TaskRow => typeof row.task.description === "string";

/** The first rows that fit into a list page, by what is known of their size. */
function withoutExcess(
  rows: readonly TaskPageRow[],
  limit: number,
  bytes: number,
): readonly TaskPageRow[] {
  let sum = 0;
  for (let count = 0; count < rows.length; count++) {
    const { description } = rows[count]!.task;
    sum += typeof description === "string" ? description.length : description;
    if (count === limit || (sum > bytes && count > 0)) return rows.slice(0, count);
  }
  return rows;
}
