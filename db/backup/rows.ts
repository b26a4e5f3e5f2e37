/** The tables and rows of a store, read from a file or a libSQL server, and sums that compare two of them. */

import type { openConnection } from "../store/connection.ts";
import { BACKUP_TABLE } from "../store/store-contents.ts";
import { BackupError } from "./backup-files.ts";

/** A value as both kinds of store return it. A `bigint` is an integer beyond 2^53. */
export type Value = string | number | bigint | null | Uint8Array;

/** What `create` made, with its text. */
interface Created {
  /** `table`, `index`, `view` or `trigger`. */
  readonly type: string;
  readonly name: string;
  readonly sql: string;
}

export interface Schema {
  readonly tables: readonly (Created & { readonly columns: readonly string[] })[];
  /** Indexes, then triggers and views. */
  readonly others: readonly Created[];
}

/** Takes the rows of one table after the other. A promise delays the next row. */
export interface RowTaker {
  /** All rows until the next call are those of this table. */
  table(name: string, columns: readonly string[]): void | Promise<void>;
  row(values: readonly Value[]): void | Promise<void>;
}

/** Makes {@link Schema} of the rows of this query. */
export const SCHEMA_QUERY = `select type, name, sql, (select json_group_array(name) from pragma_table_info(s.name)) from sqlite_schema s
  where sql is not null and name not glob 'sqlite_*' and name not glob 'libsql_*' and name not glob '_litestream_*'
    and name <> '${BACKUP_TABLE}' order by rowid`;

export function toSchema(rows: readonly (readonly Value[])[]): Schema {
  const created = rows.map(([type, name, sql, columns]) => ({
    type: String(type),
    name: String(name),
    sql: String(sql),
    columns: JSON.parse(String(columns)) as string[],
  }));
  const of = (type: string) => created.filter((one) => one.type === type);
  const tables = of("table");
  if (tables.some(({ sql }) => /^create virtual/i.test(sql))) {
    throw new BackupError("the store has a virtual table, which Relay did not make");
  }
  return { tables, others: [...of("index"), ...of("view"), ...of("trigger")] };
}

/** A name in SQL. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** The query of all rows of a table. */
export const selectAll = (name: string, columns: readonly string[]): string =>
  `select ${columns.map(quoted).join(", ")} from ${quoted(name)}`;

/** The counters of AUTOINCREMENT, which are read like a table. */
export const SEQUENCE = { name: "sqlite_sequence", columns: ["name", "seq"] } as const;

type Connection = ReturnType<typeof openConnection>;

/** Rows after which the event loop runs, so that the signal is heard. */
const TURN_EVERY = 1_000;

/** Leaves out of a store what is not to be read. */
export type Choose = (schema: Schema) => Schema | Promise<Schema>;

/** Reads all tables of a file in one transaction. `begin` gets the tables before their rows. */
export async function readFile(
  connection: Connection,
  taker: RowTaker,
  signal?: AbortSignal,
  begin: (schema: Schema) => void | Promise<void> = () => {},
  choose: Choose = (schema) => schema,
): Promise<Schema> {
  connection.exec("begin");
  try {
    const schema = await choose(schemaOf(connection));
    await begin(schema);
    for (const { name, columns } of [...schema.tables, SEQUENCE]) {
      await taker.table(name, columns);
      const rows = connection.prepare(selectAll(name, columns)).iterate() as Iterable<Value[]>;
      let count = 0;
      for (const row of rows) {
        const wait = taker.row(row);
        if (wait) await wait;
        if (++count % TURN_EVERY > 0) continue;
        await new Promise<void>((next) => setImmediate(next));
        signal?.throwIfAborted();
      }
    }
    return schema;
  } finally {
    connection.exec("commit");
  }
}

export const schemaOf = (connection: Connection): Schema =>
  toSchema(connection.prepare(SCHEMA_QUERY).all() as Value[][]);

/** The rows of a table, and a sum of their hashes that does not depend on their order. */
export interface TableSum {
  rows: number;
  hash: bigint;
}

const MASK = (1n << 64n) - 1n;

/** Sums the rows of each table, and passes them on to `next`. */
export function createSums(next?: RowTaker) {
  const sums = new Map<string, TableSum>();
  let current: TableSum;
  const taker: RowTaker = {
    table(name, columns) {
      current = { rows: 0, hash: 0n };
      sums.set(name, current);
      return next?.table(name, columns);
    },
    row(values) {
      current.rows++;
      current.hash = (current.hash + BigInt(Bun.hash(textOf(values)))) & MASK;
      return next?.row(values);
    },
  };
  return { taker, sums };
}

/** Equal for equal rows of both kinds of store. */
const textOf = (values: readonly Value[]): string =>
  JSON.stringify(values, (_key, value: unknown) =>
    typeof value === "bigint"
      ? `${value}n`
      : value instanceof Uint8Array
        ? `x${value.toHex()}`
        : value,
  );

/** The tables in which two stores differ. */
export function differences(
  one: ReadonlyMap<string, TableSum>,
  other: ReadonlyMap<string, TableSum>,
): string[] {
  const names = new Set([...one.keys(), ...other.keys()]);
  return [...names].filter((name) => {
    const [a, b] = [one.get(name), other.get(name)];
    return a?.rows !== b?.rows || a?.hash !== b?.hash;
  });
}

/** The rows of all tables together. */
export const countRows = (sums: ReadonlyMap<string, TableSum>): number =>
  [...sums].reduce((all, [name, { rows }]) => all + (name === SEQUENCE.name ? 0 : rows), 0);
