/** Writes tables and rows into an empty file, off the event loop, so that a hanging disk lets the work be aborted. */

import { dirname } from "node:path";
import { showPath } from "../../src/config-files.ts";
import { openConnection } from "../store/connection.ts";
import { BackupError } from "./backup-files.ts";
import { quoted, type RowTaker, type Schema, SEQUENCE, type Value } from "./rows.ts";
import type { Work } from "./snapshot.ts";

/** Seconds after which the disk hangs. Few, since the writes of a libSQL server may wait for its read. */
const STALLED = 10;

/** Characters of SQL that are run at once. */
const BATCH = 250_000;

/** Rejects with the reason of the signal once it aborts. The work then goes on. */
export async function orAborted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  signal?.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal!.reason);
  signal?.addEventListener("abort", abort);
  const end = () => signal?.removeEventListener("abort", abort);
  return await Promise.race([work, promise]).finally(end);
}

/** Throws {@link BackupError} if the disk takes no rows. Indexes and triggers come after them. */
export function createFileWriter(path: string, file_key: string | null, { clock, signal }: Work) {
  const connection = openConnection(path, 0, file_key);
  let running: Promise<void> = Promise.resolve();
  let is_running = false;
  let insert = "";
  let rows: string[] = [];
  let characters = 0;

  const run = async (statements: readonly string[], ended = signal): Promise<void> => {
    is_running = true;
    // A comment may end a statement.
    running = connection.execAsync(statements.join("\n;\n")).finally(() => {
      is_running = false;
    });
    await orAborted(running, ended);
  };

  /** While the store is read. */
  const runInTime = async (statements: readonly string[]): Promise<void> => {
    const hanging = new AbortController();
    const why = `nothing was written to ${showPath(dirname(path))} for ${STALLED} seconds`;
    const cancel = clock.after(STALLED, () => hanging.abort(new BackupError(why)));
    const ended = signal ? AbortSignal.any([signal, hanging.signal]) : hanging.signal;
    await run(statements, ended).finally(cancel);
  };

  const flush = async (): Promise<void> => {
    if (rows.length === 0) return;
    const statement = insert + rows.join(",");
    rows = [];
    characters = 0;
    await runInTime([statement]);
  };

  return {
    async begin({ tables }: Schema): Promise<void> {
      // The whole file is written to the disk at its end, and removed if that is not reached.
      const settings = ["pragma journal_mode = off", "pragma synchronous = off"];
      await runInTime([...settings, "begin", ...tables.map(({ sql }) => sql)]);
    },

    async table(name: string, columns: readonly string[]): Promise<void> {
      await flush();
      if (name === SEQUENCE.name) await runInTime(["delete from sqlite_sequence"]);
      insert = `insert into ${quoted(name)} (${columns.map(quoted).join(", ")}) values `;
    },

    row(values: readonly Value[]): void | Promise<void> {
      const text = `(${values.map(literal).join(",")})`;
      rows.push(text);
      characters += text.length;
      return characters >= BATCH ? flush() : undefined;
    },

    async finish({ others }: Schema): Promise<void> {
      await flush();
      for (const { sql } of others) await run([sql]);
      await run(["commit"]);
    },

    /** Closing a connection that is busy would block the process. */
    close(): void {
      const close = () => connection.close();
      if (is_running) running.then(close, close);
      else close();
    },
  } satisfies RowTaker & Record<string, unknown>;
}

/** A value as text of SQL. */
function literal(value: Value): string {
  if (value === null) return "null";
  if (value instanceof Uint8Array) return `x'${value.toHex()}'`;
  // Text has no infinity, but a number beyond the largest one becomes it.
  if (typeof value !== "string") return String(value).replace("Infinity", "9e999");
  // The text of SQL ends at the first such character.
  if (value.includes("\0")) return `cast(x'${Buffer.from(value).toString("hex")}' as text)`;
  return `'${value.replaceAll("'", "''")}'`;
}
