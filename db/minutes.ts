/** Figures of each process by the minute, so that the administrator's charts outlive a restart. */

import { p, sql } from "./store/sql.ts";
import { rowsOf, statement } from "./store/statement.ts";

/** Writes what a process measured in a minute (a number of minutes since the epoch). Not waited for. */
export const keepMinute = statement(
  sql`insert into minutes (minute, process, figures) values (${p("minute")}, ${p("process")}, ${p("figures")})
    on conflict (minute, process) do update set figures = excluded.figures`,
  { synced: false },
);

/** Deletes up to `limit` rows of minutes before `before`. */
export const dropMinutes = statement(
  sql`delete from minutes where (minute, process) in (
    select minute, process from minutes where minute < ${p("before")} order by minute limit ${p("limit")})`,
  { synced: false },
);

/** Figures of the other processes from the minute `since` to `until`, the newest `limit` rows. */
export const minutesOfOthers = statement(
  sql`select minute, figures from minutes where minute >= ${p("since")} and minute <= ${p("until")} and process <> ${p("process")}
    order by minute desc limit ${p("limit")}`,
  { returns: rowsOf<[minute: number, figures: string]>() },
);
