/** Writes tables and rows into an empty file, off the event loop: a disk may hang, and Relay must go on serving. */

import type { Clock } from "../../src/clock.ts";
import { openConnection } from "../store/connection.ts";
import { onDisk, SLOW, STALLED, syncFile } from "./backup-files.ts";
import { quoted, type RowTaker, type Schema, SEQUENCE, type Value } from "./rows.ts";

/** Seconds for some rows. Fewer, since the writes of a libSQL server may wait for its read. */
const ROWS = 10;

/** Characters of SQL that are run at once. */
const BATCH = 250_000;

/** Throws {@link BackupError} if the disk hangs. Indexes and triggers come after the rows. */
export function createFileWriter(path: string, file_key: string | null, clock: Clock) {
  const connection = openConnection(path, 0, file_key);
  let running: Promise<void> = Promise.resolve();
  let is_running = false;
  let insert = "";
  let rows: string[] = [];
  let characters = 0;

  const run = async (statements: readonly string[], seconds = STALLED): Promise<void> => {
    is_running = true;
    // A comment may end a statement.
    running = connection.execAsync(statements.join("\n;\n")).finally(() => {
      is_running = false;
    });
    await onDisk(running, path, clock, seconds);
  };

  const flush = async (): Promise<void> => {
    if (rows.length === 0) return;
    const statement = insert + rows.join(",");
    rows = [];
    characters = 0;
    await run([statement], ROWS);
  };

  return {
    async begin({ tables }: Schema): Promise<void> {
      // The whole file is written to the disk at its end, and removed if that is not reached.
      const settings = ["pragma journal_mode = off", "pragma synchronous = off"];
      await run([...settings, "begin", ...tables.map(({ sql }) => sql)]);
    },

    async table(name: string, columns: readonly string[]): Promise<void> {
      await flush();
      if (name === SEQUENCE.name) await run(["delete from sqlite_sequence"]);
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
      for (const { sql } of others) await run([sql], SLOW);
      await run(["commit"]);
      // A network folder writes what is left when the file is closed, which would be on the event loop.
      await onDisk(syncFile(path), path, clock, SLOW);
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
