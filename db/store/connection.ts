/** A connection to a libSQL file, with cached statements and checked parameters. */

import { pathToFileURL } from "node:url";
import Database from "libsql";
import AsyncDatabase from "libsql/promise";
import { type Cell, checkArgs, type Statement, type WriteResult } from "./store.ts";

/**
 * The asynchronous half of the binding runs SQL in a thread, and keeps the native connection in the same field as the
 * synchronous half. This is undocumented: the version of libsql is pinned, and a test fails if it changes.
 */
const { exec: execAsync } = (
  AsyncDatabase as unknown as {
    readonly prototype: { exec(this: Database.Database, sql: string): Promise<void> };
  }
).prototype;

/**
 * `lock_wait`: milliseconds to wait for a lock, which blocks the event loop. `file_key`: that of an encrypted file
 * (`Vault.file_key`). Check a key with {@link openReadOnly} first: a connection that can write destroys a file with
 * changes in its log if the key is wrong, since closing it copies the log through that key.
 */
export function openConnection(path: string, lock_wait: number, file_key: string | null = null) {
  const encryptionKey = file_key === null ? {} : { encryptionKey: file_key };
  const db = new Database(path, { timeout: lock_wait, ...encryptionKey });
  // Temporary tables and sorts would be written to disk as plain text.
  if (file_key !== null) db.exec("pragma temp_store = memory");
  const prepared = new Map<string, Database.Statement>();

  const prepare = (text: string): Database.Statement => {
    let found = prepared.get(text);
    if (!found) {
      found = db.prepare(text);
      if (found.reader) found.raw(true);
      prepared.set(text, found);
    }
    return found;
  };

  return {
    prepare,

    run({ sql, args, returns }: Pick<Statement, "sql" | "args" | "returns">): WriteResult {
      checkArgs(sql, args);
      const found = prepare(sql);
      if (returns === "nothing") {
        const { changes, lastInsertRowid } = found.run(args);
        return { rows: [], changes, row_id: Number(lastInsertRowid) };
      }
      if (returns === "rows") return { rows: found.all(args) as Cell[][], changes: 0, row_id: 0 };
      const row = found.get(args) as Cell[] | undefined;
      return { rows: row ? [row] : [], changes: 0, row_id: 0 };
    },

    exec: (sql: string): void => void db.exec(sql),

    /** Runs off the event loop. Until it settles, any other use of the connection blocks the loop. */
    execAsync: (sql: string): Promise<void> => execAsync.call(db, sql),

    inTransaction: (): boolean => db.inTransaction,

    close(): void {
      prepared.clear();
      db.close();
    },
  };
}

/** Opens a connection that cannot write. `immutable`: the file alone, without its log, while nothing writes to it. */
export const openReadOnly = (path: string, immutable: boolean, file_key: string | null) =>
  openConnection(
    `${pathToFileURL(path).href}?${immutable ? "immutable=1" : "mode=ro"}`,
    0,
    file_key,
  );
