/** Compiles drizzle's typed builders and SQL texts, once each, into statements of the store port. */

import {
  Column,
  type GetColumnData,
  getTableColumns,
  getTableName,
  is,
  noopDecoder,
  Param,
  Placeholder,
  type SQL,
  sql,
} from "drizzle-orm";
import { SQLiteAsyncDialect, type SQLiteTable } from "drizzle-orm/sqlite-core";
import { drizzle } from "drizzle-orm/sqlite-proxy";
import { KNOWN_JSON, LEFT_OUT } from "../schema.ts";
import type { Sql } from "./sql.ts";
import { type Cell, type ManyRows, type Statement, textBytes } from "./store.ts";

type Values = Record<string, unknown>;

/** The text of every statement, for the test of the query plans. */
export const STATEMENT_TEXTS = new Set<string>();

/** Builds queries. It is not connected to a database. */
export const qb = drizzle(() => {
  throw new Error("queries run through the store port");
});

const dialect = new SQLiteAsyncDialect();

interface Prepared {
  getQuery(): { sql: string; params: unknown[] };
  /** The selected columns, each with the path of its value in the row. */
  readonly fields: readonly {
    readonly path: readonly string[];
    readonly field: Column | SQL.Aliased;
  }[];
}

interface SelectOptions<Row = unknown, Name extends string = string> {
  /** True if the WHERE names a unique column, so that there is at most one row. */
  readonly one?: boolean;
  /** Names of parameters in the columns of the query, which are not in its type. */
  readonly params?: readonly Name[];
  /**
   * Sorts the rows of a join that finds them in this order anyway. An ORDER BY would make SQLite write each row into a
   * temporary table.
   */
  readonly order?: (a: Row, b: Row) => number;
  /**
   * How to read a value that only a newer version knows (`oneOf` in schema.ts). `part`, the default: leave out the row
   * if the value is in the table in FROM, or read a joined part as if it were not there. `row`: always leave out the
   * row. `kept`: read the value as it is.
   */
  readonly unknown?: "part" | "row" | "kept";
}

/** Lists without some rows of a newer version. */
const lacking = new WeakSet<readonly unknown[]>();

/** True if a {@link select} left out rows of a newer version. */
export const lacksRows = (rows: readonly unknown[]): boolean => lacking.has(rows);

/** True in SQL for rows of the table with only values that this version knows. */
export function isKnown(table: SQLiteTable): Sql {
  const columns = Object.entries(getTableColumns(table)).filter(
    ([, { enumValues }]) => enumValues?.length,
  );
  const terms = columns.map(([, column]) => {
    const values = column.enumValues!.map((value: string) => sql.raw(`'${value}'`));
    return sql`${sql.identifier(getTableName(table))}.${sql.identifier(column.name)} in (${sql.join(values, sql`, `)})`;
  });
  return sql.join(terms, sql` and `) as Sql;
}

/** A query of drizzle's builder. */
export interface Query<Row> {
  prepare(): { execute: (values?: Values) => Promise<Row[]> };
}

/**
 * A SELECT as a function of its parameters: the columns and tables of `query`, then `tail`, from WHERE on. The row type
 * follows from the columns, and the parameters from `tail`.
 */
export function select<Row, P, Name extends string = never>(
  query: Query<Row>,
  tail: Sql<P>,
  options?: SelectOptions<Row, Name>,
): (values: P & Readonly<Record<Name, Cell>>) => Statement<Row>;
export function select(
  query: Query<unknown>,
  tail_sql: SQL,
  { one = false, params = [], order, unknown = "part" }: SelectOptions = {},
): (values: Values) => Statement {
  const tail = dialect.sqlToQuery(tail_sql);
  const prepared = query.prepare() as unknown as Prepared;
  const head = prepared.getQuery();
  if (
    !Bun.deepEquals(
      slotsOf(head.params).map(({ name }) => name),
      params,
    )
  ) {
    throw new Error("a parameter of the query is in no type: move it to the tail");
  }
  const text = `${head.sql} ${tail.sql}`;
  STATEMENT_TEXTS.add(text);
  const fill = filler([...head.params, ...tail.params]);
  const toRow = reader(prepared.fields, tableOf(query), unknown);
  const read = (cells: Cell[][]) => {
    const rows = cells.map(toRow);
    const lacks = rows.includes(undefined);
    const known = lacks ? rows.filter((row) => row !== undefined) : rows;
    if (lacks) lacking.add(known);
    return order ? known.sort(order) : known;
  };
  const returns = one ? "row" : "rows";
  return (values) => ({
    sql: text,
    args: fill(values),
    returns,
    list_owner: one ? undefined : ((values.owner ?? values.key_id) as string | undefined),
    read,
  });
}

/** The table in FROM. */
const tableOf = (query: Query<unknown>): unknown =>
  (query as unknown as { readonly config: { readonly table: unknown } }).config.table;

type IsKnown = (value: unknown) => boolean;

/** Tells whether this version knows a value of the column; null if it knows all. */
function knownOf(column: Column): IsKnown | null {
  const { enumValues } = column;
  if (!enumValues?.length) return KNOWN_JSON.get(column) ?? null;
  const values = new Set<unknown>(enumValues);
  return (value) => values.has(value);
}

/**
 * Makes a row of cells, or undefined for one that is left out ({@link SelectOptions.unknown}). The columns of a group
 * stand together. Drizzle's own mapping checks the kind of every value, which takes several times as long.
 */
function reader(
  fields: Prepared["fields"],
  table: unknown,
  unknown: NonNullable<SelectOptions["unknown"]>,
): (cells: readonly Cell[]) => unknown {
  const slots = fields.map(({ path, field }) => ({
    isKnown: unknown !== "kept" && is(field, Column) ? knownOf(field) : null,
    is_part: unknown === "part" && path.length > 1 && is(field, Column) && field.table !== table,
    group: path.length > 1 ? path[0]! : null,
    name: path.at(-1)!,
    left_out: LEFT_OUT.has(field),
    decode: decoderOf(field),
  }));
  if (!slots.some(({ left_out, is_part }) => left_out || is_part)) return compiledReader(slots);
  return (cells) => {
    const row: Record<string, unknown> = {};
    let group: Record<string, unknown> = row;
    let group_name: string | null = null;
    let unknown_parts: Record<string, unknown>[] | undefined;
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i]!;
      if (slot.group !== group_name) {
        group_name = slot.group;
        group = group_name === null ? row : {};
        if (group_name !== null) row[group_name] = group;
      }
      const cell = cells[i]!;
      if (cell === null && slot.left_out) continue;
      const value = cell === null || slot.decode === null ? cell : slot.decode(cell);
      if (slot.isKnown !== null && cell !== null && !slot.isKnown(value)) {
        if (!slot.is_part) return undefined;
        unknown_parts ??= [];
        unknown_parts.push(group);
      }
      group[slot.name] = value;
    }
    for (const part of unknown_parts ?? []) for (const name in part) part[name] = null;
    return row;
  };
}

type Decode = (cell: Cell) => unknown;

/** Decodes the cells of a column, or of an expression with `mapWith`; null if they are the values themselves. */
function decoderOf(field: Column | SQL.Aliased): Decode | null {
  if (is(field, Column)) {
    const is_plain = field.mapFromDriverValue === Column.prototype.mapFromDriverValue;
    return is_plain ? null : (cell) => field.mapFromDriverValue(cell);
  }
  // Not in its type.
  const { decoder } = field.getSQL() as SQL & { readonly decoder: typeof noopDecoder };
  return decoder === noopDecoder ? null : decoder.mapFromDriverValue;
}

type Slot = Readonly<{
  isKnown: IsKnown | null;
  group: string | null;
  name: string;
  decode: Decode | null;
}>;

/** As {@link reader}, for rows that always have every column: a literal takes a third of the time of assignments. */
function compiledReader(slots: readonly Slot[]): (cells: readonly Cell[]) => unknown {
  const decoded = slots.map(({ decode }, i) =>
    decode ? `cells[${i}] === null ? null : slots[${i}].decode(cells[${i}])` : `cells[${i}]`,
  );
  const unknown = slots.flatMap(({ isKnown }, i) =>
    isKnown ? `cells[${i}] !== null && !slots[${i}].isKnown(value${i})` : [],
  );
  const groups = new Map<string | null, string[]>();
  slots.forEach(({ group, name }, i) => {
    groups.set(group, [...(groups.get(group) ?? []), `${JSON.stringify(name)}: value${i}`]);
  });
  const members = [...groups].map(([group, own]) =>
    group === null ? own.join() : `${JSON.stringify(group)}: { ${own.join()} }`,
  );
  const text = `return (cells) => {
    ${decoded.map((value, i) => `const value${i} = ${value};`).join("\n")}
    if (${unknown.join(" || ") || "false"}) return undefined;
    return { ${members.join()} };
  };`;
  return new Function("slots", text)(slots);
}

declare const ROW: unique symbol;
/** {@link Statement.returns}, with the type of the rows. */
type Returns<Row> = Statement["returns"] & { readonly [ROW]?: Row };

/** For {@link statement}: it returns rows of these cells, or at most one. */
export const rowsOf = <Row extends Cell[]>(): Returns<Row> => "rows";
export const rowOf = <Row extends Cell[]>(): Returns<Row> => "row";

interface StatementOptions<Row, P = never> {
  readonly returns?: Returns<Row>;
  readonly synced?: boolean;
  /** See {@link Statement.only_if}. */
  readonly only_if?: (values: P) => Statement;
  /** Of an {@link insertWhere}: the columns that {@link ManyRows} returns. */
  readonly many?: { readonly row_id: string; readonly key: string };
  /** What the parameters `key_id` and `account_id` store with it: bytes of the row, and parameters with its texts. */
  readonly counts?: { readonly row: number; readonly texts: readonly string[] };
  /** See {@link Statement.frees}. */
  readonly frees?: boolean;
}

/** A statement written as SQL, as a function of its parameters. */
export function statement<P, Row extends Cell[] = Cell[]>(
  query: Sql<P>,
  options?: StatementOptions<Row, P>,
): (values: P) => Statement<Row>;
export function statement(
  query: SQL,
  {
    returns = "nothing",
    synced = true,
    only_if,
    many: returned,
    counts,
    frees = false,
  }: StatementOptions<Cell[], Values> = {},
): (values: Values) => Statement<Cell[]> {
  const compiled = dialect.sqlToQuery(query);
  STATEMENT_TEXTS.add(compiled.sql);
  const fill = filler(compiled.params);
  const many = returned && manyRows(compiled, returned);
  const names = counts && slotsOf(compiled.params).map(({ name }) => name);
  const texts = counts?.texts.map((name) => names!.indexOf(name));
  return (values) => {
    const args = fill(values);
    return {
      sql: compiled.sql,
      args,
      returns: frees ? "rows" : returns,
      synced,
      only_if: only_if?.(values),
      many,
      stored: counts && [
        {
          owner: (values.key_id ?? values.account_id) as string,
          account_id: values.account_id as string | undefined,
          bytes: counts.row + textBytes(...texts!.map((place) => args[place])),
        },
      ],
      frees,
      read: (rows) => rows,
    };
  };
}

function manyRows(
  { sql: text, params }: ReturnType<typeof dialect.sqlToQuery>,
  { row_id, key }: { readonly row_id: string; readonly key: string },
): ManyRows {
  let i = 0;
  const each = text.replaceAll("?", () => `(r.value ->> ${i++})`);
  const many = `${each.replace(" where ", " from json_each(?) r where ")} returning ${row_id}, ${key}`;
  STATEMENT_TEXTS.add(many);
  return { sql: many, key: slotsOf(params).findIndex(({ name }) => name === key) };
}

/** The name of each parameter, and how its value is encoded. */
function slotsOf(params: readonly unknown[]) {
  return params.map((param) => {
    if (is(param, Placeholder)) return { name: param.name, encode: (value: unknown) => value };
    if (is(param, Param) && is(param.value, Placeholder)) {
      const { encoder } = param;
      return {
        name: param.value.name,
        encode: (value: unknown) => encoder.mapToDriverValue(value),
      };
    }
    throw new Error("every parameter of a statement is a placeholder");
  });
}

/** Makes parameters from named values. Unlike drizzle's own, it leaves null alone, which an encoder would change. */
function filler(params: readonly unknown[]): (values: Values) => Cell[] {
  const slots = slotsOf(params);
  return (values) =>
    slots.map(({ name, encode }) => {
      const value = values[name];
      if (value === undefined) throw new Error(`no value for placeholder ${name}`);
      return (value === null ? null : encode(value)) as Cell;
    });
}

type Columns<T extends SQLiteTable> = T["_"]["columns"];

/** Values by column. */
type ColumnValues<T extends SQLiteTable, Name extends keyof Columns<T> = keyof Columns<T>> = {
  readonly [N in Name]: GetColumnData<Columns<T>[N], "query"> extends infer Value
    ? Value extends unknown[]
      ? Readonly<Value>
      : Value
    : never;
};

/** The columns of an INSERT: those without a default. */
type Inserted<T extends SQLiteTable> = {
  [N in keyof Columns<T>]: Columns<T>[N]["_"]["hasDefault"] extends true ? never : N;
}[keyof Columns<T>];

/**
 * `INSERT … SELECT … WHERE guard`: inserts one row from parameters named like the columns, or none. With `OR ROLLBACK`
 * SQLite keeps no journal for the statement alone, which saves a fifth of the time if a trigger writes too. A fault
 * undoes the whole batch in any case.
 */
export function insertWhere<T extends SQLiteTable, P>(
  table: T,
  guard: Sql<P>,
): Sql<ColumnValues<T, Inserted<T>> & P>;
export function insertWhere(table: SQLiteTable, guard: SQL): SQL {
  const columns = Object.entries(getTableColumns(table)).filter(
    ([, { hasDefault }]) => !hasDefault,
  );
  const names = columns.map(([, column]) => sql.identifier(column.name));
  const values = columns.map(([name, column]) => new Param(new Placeholder(name), column));
  return sql`insert or rollback into ${sql.identifier(getTableName(table))} (${sql.join(names, sql`, `)}) select ${sql.join(values, sql`, `)} where ${guard}`;
}

/** `UPDATE … SET column = :column, … WHERE` for the named columns. */
export function updateSet<T extends SQLiteTable, Name extends keyof Columns<T> & string, P>(
  table: T,
  names: readonly Name[],
  where: Sql<P>,
): Sql<ColumnValues<T, Name> & P>;
export function updateSet(table: SQLiteTable, names: readonly string[], where: SQL): SQL {
  const columns = getTableColumns(table);
  const sets = names.map((name) => {
    const column = columns[name]!;
    return sql`${sql.identifier(column.name)} = ${new Param(new Placeholder(name), column)}`;
  });
  return sql`update ${sql.identifier(getTableName(table))} set ${sql.join(sets, sql`, `)} where ${where}`;
}

/** The names of all columns of a table, added ones included, but the `fixed` ones. */
export const columnsBut = <T extends SQLiteTable, Fixed extends keyof Columns<T> & string>(
  table: T,
  fixed: readonly Fixed[],
) =>
  Object.keys(getTableColumns(table)).filter(
    (name) => !(fixed as readonly string[]).includes(name),
  ) as Exclude<keyof Columns<T> & string, Fixed>[];

/** Builds a statement once for each `shape` of its text. */
export function byShape<P, Row>() {
  const built = new Map<string, (values: P) => Statement<Row>>();
  return (shape: string, build: () => (values: P) => Statement<Row>) => {
    const found = built.get(shape) ?? build();
    built.set(shape, found);
    return found;
  };
}
