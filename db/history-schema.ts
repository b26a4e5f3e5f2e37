/** The tables of what happened: the histories of tasks, and the request logs of keys. */

import { integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { PackedEntry } from "../src/model/request-log.ts";
import { timestamp } from "./schema.ts";

/**
 * Older entries of the history of each task (§5.5.7), in blocks that left the row of the task; `seq` is the number of the
 * first entry. The table is WITHOUT ROWID. A trigger deletes the blocks with the task.
 */
export const task_history = sqliteTable(
  "task_history",
  {
    task_id: text().notNull(),
    seq: integer().notNull(),
    entries: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.task_id, t.seq] })],
);

/** The newest requests of each key (§15), all entries of one write in one row. `at` and `id` are those of the newest. */
export const request_log = sqliteTable(
  "request_log",
  {
    id: text().notNull(),
    key_id: text().notNull(),
    at: timestamp().notNull(),
    /** The number of entries. */
    size: integer().notNull(),
    entries: text({ mode: "json" }).$type<readonly PackedEntry[]>().notNull(),
  },
  // Unique, so that a write with an unknown outcome can be repeated.
  (t) => [uniqueIndex("request_log_key").on(t.key_id, t.at, t.id)],
);
