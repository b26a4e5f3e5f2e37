/** Tells what Relay made in a store from what somebody else added, which is not taken over into another store. */

import { VERSION } from "../../src/version.ts";
import { openConnection } from "../store/connection.ts";
import { createMigrationsTable } from "../store/migrate.ts";
import { readMigrations } from "../store/migration-files.ts";
import { BackupError } from "./backup-files.ts";
import { quoted, type Schema, type Value } from "./rows.ts";

type Connection = ReturnType<typeof openConnection>;

interface Made {
  readonly type: string;
  readonly name: string;
  /** Its text, as SQLite keeps it. */
  readonly sql: string;
}

/** The query of the migrations that a store has, by their hashes. */
export const APPLIED = "select hash from relay_migrations";

/** Everything that was created in a database. Without text are only the indexes that a table brings with it. */
function madeIn(connection: Connection): Made[] {
  const rows = connection
    .prepare("select type, name, sql from sqlite_schema where sql is not null order by rowid")
    .all() as Value[][];
  return rows.map(([type, name, sql]) => ({
    type: String(type),
    name: String(name),
    sql: String(sql),
  }));
}

/**
 * What these migrations make: tables, indexes and triggers, in the order in which they can be created. Throws
 * {@link BackupError} for a migration of a newer version, whose tables cannot be told from those of somebody else.
 */
function madeBy(applied: ReadonlySet<string>, what: string): Made[] {
  const migrations = readMigrations();
  const known = new Set(migrations.map(({ hash }) => hash));
  if ([...applied].some((hash) => !known.has(hash))) {
    throw new BackupError(
      `${what} has tables of a later version than ${VERSION}; use the relay command of that version`,
    );
  }
  const connection = openConnection(":memory:", 0);
  try {
    connection.exec(createMigrationsTable);
    for (const { hash, sql } of migrations) {
      if (applied.has(hash)) for (const text of sql) connection.exec(text);
    }
    return madeIn(connection);
  } finally {
    connection.close();
  }
}

/** Throws {@link BackupError} unless each table of Relay is there, with exactly its columns, defaults and checks. */
function assertTables(own: readonly Made[], found: readonly Made[], what: string): void {
  for (const table of own) {
    if (table.type !== "table" || found.some((one) => isSame(one, table))) continue;
    throw new BackupError(`the table ${table.name} of ${what} is not as Relay made it`);
  }
}

/** SQLite may keep the blanks between a text and its semicolon, which a copy of a store writes. */
const isSame = (one: Made, other: Made): boolean =>
  one.type === other.type && one.name === other.name && one.sql.trimEnd() === other.sql.trimEnd();

/** For a message, such as `trigger copied`. */
const nameOf = ({ type, name }: Made): string => `${type} ${name}`;

/**
 * Makes the tables, indexes, triggers and views of a store exactly those of Relay, of the version that wrote it. Returns
 * what was removed, since Relay did not make it. Throws {@link BackupError} for a table of Relay that was changed.
 */
export function keepOwn(connection: Connection, what: string): string[] {
  const hashes = connection.prepare(APPLIED).all() as Value[][];
  const own = madeBy(new Set(hashes.map(([hash]) => String(hash))), what);
  const found = madeIn(connection);
  assertTables(own, found, what);
  const foreign = found.filter((one) => !own.some((other) => isSame(one, other)));
  const missing = own.filter((one) => !found.some((other) => isSame(one, other)));
  // A table takes its indexes and triggers with it, so it comes last; so does a view its triggers.
  const last = foreign.toSorted(
    (one, other) => Number(one.type === "table") - Number(other.type === "table"),
  );
  for (const { type, name } of last) connection.exec(`drop ${type} if exists ${quoted(name)}`);
  for (const { sql } of missing) connection.exec(sql);
  return foreign.map(nameOf);
}

/**
 * Tells what Relay made from what else there is, for a store that is copied row by row: its tables with their indexes and
 * triggers, and the names of the rest. `applied`: the migrations of the store. Throws {@link BackupError} as {@link keepOwn} does.
 */
export function ownOf(
  { tables, others }: Schema,
  applied: readonly string[],
  what: string,
): { readonly schema: Schema; readonly left_out: readonly string[] } {
  const own = madeBy(new Set(applied), what);
  const found: Made[] = [...tables.map((one) => ({ ...one, type: "table" })), ...others];
  // The counters of AUTOINCREMENT come with their tables.
  const mine = own.filter(({ name }) => !name.startsWith("sqlite_"));
  assertTables(mine, found, what);
  const isOwn = ({ name }: { readonly name: string }) =>
    mine.some((one) => one.type === "table" && one.name === name);
  const schema = {
    tables: tables.filter(isOwn),
    others: mine.filter(({ type }) => type !== "table"),
  };
  const left_out = found.filter((one) => !mine.some((other) => isSame(one, other))).map(nameOf);
  return { schema, left_out };
}
