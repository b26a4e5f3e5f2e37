/** Hourly limits that the store keeps: a column of a row lists the times of its recent uses. */

import type { Rate } from "../src/limits.ts";
import { p, type Sql, sql } from "./store/sql.ts";
import { rowOf, statement } from "./store/statement.ts";

/**
 * Makes the statements of one limit. `column` of the row of `table` that `which` selects holds the times of its uses as
 * JSON, in milliseconds. Clocks of processes may differ by up to a minute.
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
    /** Counts one more use, if there were fewer than `limit` within the window of `rate`. */
    count: statement(
      sql`update ${of} set ${moments} = (select json_group_array(value) from (select value ${recent} union all select ${p("now_ms")}))
        where ${which} and (select count(*) ${recent}) < ${p("limit")}`,
    ),
    /** When the oldest use within the window was, in milliseconds; null if there was none. */
    first: statement(sql`select (select min(value) ${recent}) from ${of} where ${which}`, {
      returns: rowOf<[at_ms: number | null]>(),
    }),
  };
}
