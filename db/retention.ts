/** Keeps the finished questions of each key within their number (decisions.md, Limits). */

import { sql } from "drizzle-orm";
import { LIMITS } from "../src/limits.ts";
import { statement } from "./statement.ts";
import type { Store } from "./store.ts";

const p = sql.placeholder;

const nextKeys = statement(
  sql`select id from keys where id > ${p("after")} and deleted_at is null order by id limit ${p("limit")}`,
  { gives: "rows" },
);

/** Rows that one statement removes, so that none takes long; what is left goes in the next round. */
const BITE = 200;

const prune = statement(
  sql`delete from questions where rowid in (
    select rowid from questions where key_id = ${p("key_id")} and status <> 'pending'
    order by created_at desc, id desc
    limit ${sql.raw(`${BITE} offset ${LIMITS.finished_questions_per_key}`)})`,
);

/**
 * Goes through the keys, at most `limit` in one call, and begins anew after the last one. Where it
 * stands is kept in memory alone: after a restart it just begins at the first key.
 */
export function createQuestionPruner(store: Store) {
  let after = "";
  return async (limit: number): Promise<boolean> => {
    const keys = (await store.read(nextKeys({ after, limit }))).map(([id]) => id as string);
    for (const key_id of keys) {
      while ((await store.write([prune({ key_id })]))[0]!.changes === BITE);
    }
    const more = keys.length === limit;
    after = more ? keys.at(-1)! : "";
    return more;
  };
}
