/** Checks that a backup is complete: once when it is made, and once before a restore. */

import { VERSION } from "../../src/version.ts";
import type { openConnection } from "../store/connection.ts";
import { BACKUP_TABLE } from "../store/store-contents.ts";
import { BACKUP_ID, BackupError } from "./backup-files.ts";
import { quoted, schemaOf, type Value } from "./rows.ts";

type Connection = ReturnType<typeof openConnection>;

/** Says who made a backup, when, and the rows of each table. */
const MARK_TABLE = BACKUP_TABLE;
const ROWS = "rows:";

/** Makes a copy a backup: counts its rows, and marks it. */
export async function markBackup(connection: Connection, made_at: number): Promise<void> {
  const counts = schemaOf(connection).tables.map(
    ({ name }) =>
      `insert into ${MARK_TABLE} select '${ROWS}${name.replaceAll("'", "''")}', count(*) from ${quoted(name)}`,
  );
  // Off the event loop, since the disk may hang.
  await connection.execAsync(
    [
      // Of a backup that became the store without being restored.
      UNMARK,
      `create table ${MARK_TABLE} (name text primary key, value text not null)`,
      ...counts,
      `insert into ${MARK_TABLE} values ('version', '${VERSION}'), ('made_at', '${made_at}')`,
      `pragma application_id = ${BACKUP_ID}`,
    ].join(";"),
  );
}

const UNMARK = `drop table if exists ${MARK_TABLE}; pragma application_id = 0`;

/** Removes what {@link markBackup} added. */
export const unmarkBackup = (connection: Connection): void => connection.exec(UNMARK);

/** Rows in all tables of a backup. */
export function rowsIn(connection: Connection): number {
  const [row] = connection
    .prepare(`select coalesce(sum(value), 0) from ${MARK_TABLE} where name glob '${ROWS}*'`)
    .all() as [[number]];
  return Number(row[0]);
}

/** The oldest version that may use the store; undefined for a store of a version that did not say. */
export function oldestVersionIn(connection: Connection): string | undefined {
  const has = connection.prepare("select 1 from sqlite_schema where name = 'store_facts'").all();
  if (has.length === 0) return undefined;
  const [row] = connection
    .prepare("select value from store_facts where name = 'oldest_version'")
    .all() as [string][];
  return row?.[0];
}

/** When a backup was made, in epoch seconds; null for a copy without a mark. */
export function madeAt(connection: Connection): number | null {
  if (!hasMark(connection)) return null;
  const [row] = connection
    .prepare(`select value from ${MARK_TABLE} where name = 'made_at'`)
    .all() as Value[][];
  return row ? Number(row[0]) : null;
}

const hasMark = (connection: Connection): boolean =>
  connection.prepare(`select 1 from sqlite_schema where name = '${MARK_TABLE}'`).all().length > 0;

/**
 * Throws {@link BackupError} unless the structure of the file is whole, the tables of a backup have the rows that it
 * counted (unless it was `used` as a store since), and it is a store of Relay. Runs in a thread of the binding. `fully`: also compares the indexes with the rows.
 */
export async function checkCopy(
  connection: Connection,
  {
    fully,
    what,
    used = false,
  }: { readonly fully: boolean; readonly what: string; readonly used?: boolean },
): Promise<void> {
  const check = fully ? "integrity_check" : "quick_check";
  await connection.execAsync(
    `create temp table checked as select ${check} as fault from pragma_${check}(1, 'main')`,
  );
  const [found] = connection.prepare("select fault from temp.checked").all() as Value[][];
  connection.exec("drop table temp.checked");
  if (found?.[0] !== "ok") throw new BackupError(`${what} is damaged`);
  const has = (sql: string) => connection.prepare(sql).all().length > 0;
  if (
    !has("select 1 from sqlite_schema where name = 'relay_migrations'") ||
    !has("select 1 from relay_migrations")
  ) {
    throw new BackupError(`${what} is no copy of a store of Relay`);
  }
  if (hasMark(connection) && !used) await checkCounts(connection, what);
}

async function checkCounts(connection: Connection, what: string): Promise<void> {
  const counted = connection
    .prepare(
      `select substr(name, ${ROWS.length + 1}), value from ${MARK_TABLE} where name glob '${ROWS}*'`,
    )
    .all() as Value[][];
  const { tables } = schemaOf(connection);
  if (counted.length !== tables.length) throw new BackupError(`${what} lacks tables`);
  await connection.execAsync("create temp table counted (name text, rows integer)");
  for (const [name] of counted) {
    const text = String(name);
    if (!tables.some((one) => one.name === text)) throw new BackupError(`${what} lacks tables`);
    await connection.execAsync(
      `insert into temp.counted select '${text.replaceAll("'", "''")}', count(*) from ${quoted(text)}`,
    );
  }
  const wrong = connection
    .prepare(
      `select c.name from temp.counted c join ${MARK_TABLE} b on b.name = '${ROWS}' || c.name where c.rows <> cast(b.value as integer)`,
    )
    .all();
  connection.exec("drop table temp.counted");
  if (wrong.length > 0) throw new BackupError(`${what} lacks rows`);
}
