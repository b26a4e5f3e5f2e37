/**
 * drizzle's `sql` with the parameters of a text in its type: a statement that is called with a missing or an unknown
 * one does not compile.
 */

import { type Column, sql as drizzle, type GetColumnData, type SQL, type Table } from "drizzle-orm";
import type { Cell } from "./store.ts";

declare const PARAMS: unique symbol;

/** SQL text whose parameters are the fields of `P`. A text with fewer parameters is assignable to one with more. */
export interface Sql<P = unknown> extends SQL {
  readonly [PARAMS]: (values: P) => void;
}

/** An interpolation: other text, or a column or table by its name. */
type Part = Sql<never> | Column | Table;

/** The parameters of all parts together. */
type ParamsOf<Parts extends readonly unknown[]> = Parts extends readonly [
  infer First,
  ...infer Rest,
]
  ? (First extends Sql<infer P> ? P : unknown) & ParamsOf<Rest>
  : unknown;

function tag<Parts extends readonly Part[]>(
  texts: TemplateStringsArray,
  ...parts: Parts
): Sql<ParamsOf<Parts>> {
  return drizzle(texts, ...parts) as Sql<ParamsOf<Parts>>;
}

export const sql = Object.assign(tag, {
  /** Text as it is. Never pass what a client sent. */
  raw: (text: string | number): Sql => drizzle.raw(String(text)) as Sql,
  identifier: (name: string): Sql => drizzle`${drizzle.identifier(name)}` as Sql,
  join: <P>(parts: readonly Sql<P>[], separator: Sql): Sql<P> =>
    drizzle.join([...parts], separator) as Sql<P>,
});

/** The parameter `name`: a value of the store, or of the type of `column` and encoded as its values are. */
export function p<Name extends string>(name: Name): Sql<Readonly<Record<Name, Cell>>>;
export function p<Name extends string, C extends Column>(
  name: Name,
  column: C,
): Sql<Readonly<Record<Name, GetColumnData<C, "query">>>>;
export function p(name: string, column?: Column): SQL {
  const placeholder = drizzle.placeholder(name);
  return column ? drizzle`${drizzle.param(placeholder, column)}` : drizzle`${placeholder}`;
}
