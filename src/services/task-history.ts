/** The history of a task: its status, progress and status note over time (§5.5.7). */

import { historyBlocks } from "../../db/task-history.ts";
import { taskById } from "../../db/tasks.ts";
import { LIMITS } from "../limits.ts";
import { type Caller, callerId } from "../model/caller.ts";
import { type HistoryEntry, readBlock, readRecent } from "../model/task-history.ts";
import { readOwn, type ServiceDeps } from "./shared/deps.ts";
import { type PageQuery, readCursor, writeCursor } from "./shared/list-page.ts";

interface HistoryQuery extends PageQuery {
  readonly task_id: string;
}

export function createTaskHistory(deps: Pick<ServiceDeps, "store" | "assertLive">) {
  return {
    /** The entries of the caller's task, newest first. `404 not_found`, `422 fields.cursor`. */
    async list(caller: Caller, { task_id, limit, cursor }: HistoryQuery) {
      const most = limit ?? LIMITS.history_page_default;
      const bound_to = ["history", callerId(caller), task_id];
      const before =
        cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor(cursor, bound_to).at;
      const row = await readOwn(deps, caller, taskById(caller, task_id), "task_id");
      const recent = readRecent(row.history, row.task);
      const found = recent.entries.filter(({ seq }) => seq < before);
      const wanted = most + 1 - found.length;
      if (wanted > 0 && recent.first > recent.oldest) {
        // A block may have left the row of the task since it was read.
        const end = Math.min(before, recent.first);
        const blocks = await deps.store.read(
          historyBlocks({ task_id, before: end, limit: wanted }),
        );
        found.push(...blocks.flatMap(readBlock).filter(({ seq }) => seq < end));
      }
      const kept = found.filter(({ seq }) => seq >= recent.oldest);
      const page = kept.slice(0, most);
      const items: HistoryEntry[] = page.flatMap(({ entry }) => entry ?? []);
      const next_cursor =
        kept.length > most ? writeCursor({ at: page.at(-1)!.seq, id: task_id }, bound_to) : null;
      return { items, next_cursor };
    },
  };
}
