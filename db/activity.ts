/** Queries on the activity log. */

import { desc, sql } from "drizzle-orm";
import { LIMITS } from "../src/limits.ts";
import type { ActivityEntry } from "../src/model/activity.ts";
import { activity } from "./schema.ts";
import { qb, select, statement } from "./statement.ts";
import type { Statement } from "./store.ts";

const p = sql.placeholder;
const time = (name: string) => sql.param(p(name), activity.at);
const kept = sql.raw(String(LIMITS.activity_per_key));

/** An entry with the key that it is of; its `status` follows from its `code`. */
export type ActivityRow = Omit<ActivityEntry, "status"> & { readonly key_id: string };

/**
 * A page of a key's entries, newest first: placeholders `key_id`, `account_id`, `since`, `after_at`
 * and `after_id` (the entry before the page), `limit`. Nothing once the key is deleted; and never more
 * than the newest 200, since the rest is removed a little later.
 */
export const activityPage = select(
  qb
    .select({
      id: activity.id,
      at: activity.at,
      surface: activity.surface,
      action: activity.action,
      code: activity.code,
      message: activity.message,
      duration_ms: activity.duration_ms,
      client: activity.client,
      host: activity.host,
    })
    .from(activity)
    .where(
      sql`key_id = ${p("key_id")} and at >= ${time("since")}
        and exists (select 1 from keys where keys.id = ${p("key_id")}
          and keys.account_id = ${p("account_id")} and keys.deleted_at is null)
        and rowid in (select rowid from activity where key_id = ${p("key_id")}
          order by at desc, id desc limit ${kept})
        and (at, id) < (${time("after_at")}, ${p("after_id")})`,
    )
    .orderBy(desc(activity.at), desc(activity.id))
    .limit(p("limit")),
);

/** The columns in the order of a row of {@link insertActivity}. */
const COLUMNS = [
  "id",
  "key_id",
  "at",
  "surface",
  "action",
  "code",
  "message",
  "duration_ms",
  "client",
  "host",
] as const;

const insert = statement(
  sql`insert into activity (${sql.raw(COLUMNS.join(", "))})
    select ${sql.raw(COLUMNS.map((_, i) => `value ->> ${i}`).join(", "))} from json_each(${p("rows")})
    where exists (select 1 from keys where keys.id = value ->> 1 and keys.deleted_at is null)
    on conflict do nothing`,
);

/** Inserts the rows of keys that are not deleted; those that are there already stay as they are. */
export function insertActivity(rows: readonly ActivityRow[]): Statement {
  const cells = rows.map((row) =>
    COLUMNS.map((name) => {
      if (name === "at") return Math.round(row.at * 1000);
      return name === "client" && row.client ? JSON.stringify(row.client) : row[name];
    }),
  );
  return insert({ rows: JSON.stringify(cells) });
}

const trim = statement(
  sql`delete from activity where rowid in (
    select old.rowid from json_each(${p("key_ids")}) as k, activity as old
    where old.key_id = k.value and (old.at, old.id) <= (
      select at, id from activity where key_id = k.value
      order by at desc, id desc limit 1 offset ${kept}))`,
);

/** Removes what the keys have beyond their newest 200 entries. */
export function trimActivity(key_ids: readonly string[]): Statement {
  return trim({ key_ids: JSON.stringify(key_ids) });
}
