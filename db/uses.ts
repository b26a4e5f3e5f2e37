/** Limits of any hour that the store keeps: a row counts its uses in a column of moments. */

import type { Rate } from "../src/limits.ts";
import { p, type Sql, sql } from "./sql.ts";
import { rowOf, statement } from "./statement.ts";

/**
 * Statements on the column `column` of the row of `table` that `which` names; it has milliseconds, as JSON. Clocks
 * of processes may differ by a minute.
 */
export function usesOf<P>(
  table: "accounts" | "channels" | "keys",
  column: string,
  rate: Rate,
  which: Sql<P>,
) {
  const [of, moments] = [sql.identifier(table), sql.identifier(column)];
  const lately = sql`value > ${p("now_ms")} - ${sql.raw(rate.window * 1000)} and value <= ${p("now_ms")} + 60000`;
  const recent = sql`from json_each(${of}.${moments}) where ${lately}`;
  return {
    /** Counts one more use, if there were fewer than `limit` within the hour. */
    count: statement(
      sql`update ${of} set ${moments} = (select json_group_array(value) from (select value ${recent} union all select ${p("now_ms")}))
        where ${which} and (select count(*) ${recent}) < ${p("limit")}`,
    ),
    /** When the oldest use of the last hour was, in milliseconds; null when there was none. */
    first: statement(sql`select (select min(value) ${recent}) from ${of} where ${which}`, {
      gives: rowOf<[at_ms: number | null]>(),
    }),
  };
}
