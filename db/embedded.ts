/** The embedded store: a libSQL file through the native binding, with group commit. */

import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "libsql";
import type { Clock } from "../src/clock.ts";
import { createLane } from "./lane.ts";
import {
  type Cell,
  checkArgs,
  isAway,
  isBusy,
  type Statement,
  type Store,
  unavailable,
  type WriteResult,
  whenFree,
} from "./store.ts";

/** Milliseconds the binding itself waits for a lock; it blocks the event loop, so it is short. */
const LOCK_WAIT_MS = 5;

/** Polling a file for new events costs some 4 µs. */
const POLL_EVERY = 0.01;

/** Opens the file, making it and its folder when missing, in WAL mode with synchronous FULL. */
export async function openEmbedded(url: string, clock: Clock): Promise<Store> {
  const path = url.startsWith("file://") ? fileURLToPath(url) : url.slice("file:".length);
  mkdirSync(dirname(path), { recursive: true });
  const db = new Database(path, { timeout: LOCK_WAIT_MS });
  const prepared = new Map<string, Database.Statement>();
  let closed = false;

  const prepare = (text: string) => {
    let found = prepared.get(text);
    if (!found) {
      found = db.prepare(text);
      if (found.reader) found.raw(true);
      prepared.set(text, found);
    }
    return found;
  };

  const run = ({ sql, args, gives }: Statement): WriteResult => {
    checkArgs(sql, args);
    const found = prepare(sql);
    if (gives === "nothing") {
      const { changes, lastInsertRowid } = found.run(args);
      return { rows: [], changes, row_id: Number(lastInsertRowid) };
    }
    if (gives === "rows") return { rows: found.all(args) as Cell[][], changes: 0, row_id: 0 };
    const row = found.get(args) as Cell[] | undefined;
    return { rows: row ? [row] : [], changes: 0, row_id: 0 };
  };

  const commit = (statements: readonly Statement[]): WriteResult[] => {
    prepare("begin immediate").run();
    try {
      const results = statements.map(run);
      prepare("commit").run();
      return results;
    } catch (error) {
      if (db.inTransaction) prepare("rollback").run();
      throw error;
    }
  };

  const commitOf = (statements: readonly Statement[]): WriteResult[] => {
    if (statements.some(({ synced }) => synced !== false)) return commit(statements);
    db.exec("pragma synchronous = normal");
    try {
      return commit(statements);
    } finally {
      db.exec("pragma synchronous = full");
    }
  };

  const lane = createLane((statements) => whenFree(clock, () => commitOf(statements)), clock);

  // Two processes that start at once may both want to switch the journal: hence the retry.
  await whenFree(clock, () => prepare("pragma journal_mode = wal").all());
  db.exec("pragma synchronous = full");

  return {
    kind: "embedded",
    async read(statement) {
      if (closed) throw unavailable("closed");
      let result: WriteResult;
      try {
        // The usual case, without the retry's promises.
        result = run(statement);
      } catch (error) {
        if (!isBusy(error) && !isAway(error)) throw error;
        result = await whenFree(clock, () => run(statement));
      }
      return statement.read(result.rows);
    },
    write: lane.write,
    watch() {
      // Nothing tells one process of another's commit to a file: the feed polls.
    },
    pollEvery: () => POLL_EVERY,
    stats: lane.stats,
    walBytes: () => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? null,
    async close() {
      await lane.close();
      closed = true;
      prepared.clear();
      db.close();
    },
  };
}
