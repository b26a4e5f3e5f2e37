/** Turns drizzle's typed builders into statements of the store port, compiled once. */

import {
  Column,
  getTableColumns,
  getTableName,
  is,
  Param,
  Placeholder,
  type SQL,
  sql,
} from "drizzle-orm";
import { SQLiteAsyncDialect, type SQLiteTable } from "drizzle-orm/sqlite-core";
import { drizzle } from "drizzle-orm/sqlite-proxy";
import type { Cell, Statement } from "./store.ts";

type Values = Record<string, unknown>;

/** Builds queries; it is connected to nothing and runs none. */
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

interface SelectOptions {
  /** True: the WHERE names a unique column, so there is at most one row. */
  readonly one?: boolean;
}

/** A typed SELECT as a function of its placeholders' values. */
export function select<Row>(
  query: { prepare(): { execute: (values?: Values) => Promise<Row[]> } },
  { one = false }: SelectOptions = {},
): (values: Values) => Statement<Row> {
  const prepared = query.prepare() as unknown as Prepared;
  const compiled = prepared.getQuery();
  const fill = filler(compiled.params);
  const toRow = reader(prepared.fields);
  const read = (rows: Cell[][]) => rows.map(toRow) as Row[];
  const gives = one ? "row" : "rows";
  return (values) => ({
    sql: compiled.sql,
    args: fill(values),
    gives,
    of: one ? undefined : ((values.owner ?? values.key_id) as string | undefined),
    read,
  });
}

/**
 * Makes rows of cells; the columns of a group stand together. Drizzle's own mapping takes several
 * times as long, since it asks each value anew for its kind.
 */
function reader(fields: Prepared["fields"]): (cells: readonly Cell[]) => unknown {
  const asIs = Column.prototype.mapFromDriverValue;
  const slots = fields.map(({ path, field }) => ({
    group: path.length > 1 ? path[0]! : null,
    name: path.at(-1)!,
    // The cell of an expression is taken as it is.
    decode:
      !is(field, Column) || field.mapFromDriverValue === asIs
        ? null
        : (cell: Cell) => field.mapFromDriverValue(cell),
  }));
  return (cells) => {
    const row: Record<string, unknown> = {};
    let group: Record<string, unknown> = row;
    let group_name: string | null = null;
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i]!;
      if (slot.group !== group_name) {
        group_name = slot.group;
        group = group_name === null ? row : {};
        if (group_name !== null) row[group_name] = group;
      }
      const cell = cells[i]!;
      group[slot.name] = cell === null || slot.decode === null ? cell : slot.decode(cell);
    }
    return row;
  };
}

/** A statement written as SQL, as a function of its placeholders' values. */
export function statement(
  query: SQL,
  { gives = "nothing", synced = true }: Partial<Pick<Statement, "gives" | "synced">> = {},
): (values: Values) => Statement<Cell[]> {
  const compiled = dialect.sqlToQuery(query);
  const fill = filler(compiled.params);
  return (values) => ({
    sql: compiled.sql,
    args: fill(values),
    gives,
    synced,
    read: (rows) => rows,
  });
}

/**
 * Parameters from values by name. Unlike drizzle's own filling it leaves null alone, which a
 * column's encoder would turn into a value.
 */
function filler(params: readonly unknown[]): (values: Values) => Cell[] {
  const slots = params.map((param) => {
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
  return (values) =>
    slots.map(({ name, encode }) => {
      const value = values[name];
      if (value === undefined) throw new Error(`no value for placeholder ${name}`);
      return (value === null ? null : encode(value)) as Cell;
    });
}

/** `INSERT … SELECT … WHERE guard`: one row from placeholders named as the columns, or none. */
export function insertWhere(table: SQLiteTable, guard: SQL): SQL {
  const columns = Object.values(getTableColumns(table)).filter((column) => !column.hasDefault);
  const names = columns.map((column) => sql.identifier(column.name));
  const values = columns.map((column) => new Param(new Placeholder(column.name), column));
  return sql`insert into ${sql.identifier(getTableName(table))} (${sql.join(names, sql`, `)}) select ${sql.join(values, sql`, `)} where ${guard}`;
}

/** `UPDATE … SET column = :column, …` for the named columns, to be followed by its WHERE. */
export function updateSet<T extends SQLiteTable>(
  table: T,
  names: readonly (keyof T["_"]["columns"] & string)[],
  where: SQL,
): SQL {
  const columns = getTableColumns(table) as Record<
    string,
    ReturnType<typeof getTableColumns>[string]
  >;
  const sets = names.map(
    (name) => sql`${sql.identifier(name)} = ${new Param(new Placeholder(name), columns[name]!)}`,
  );
  return sql`update ${sql.identifier(getTableName(table))} set ${sql.join(sets, sql`, `)} where ${where}`;
}
