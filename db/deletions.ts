/** Removes the rows of deleted keys and accounts, a few at a time (interface.md §4 Keys). */

import { type SQL, sql } from "drizzle-orm";
import { statement } from "./statement.ts";
import type { Store } from "./store.ts";

const p = sql.placeholder;

const deadKey = statement(
  sql`select id from keys where deleted_at is not null order by deleted_at, id limit 1`,
  { gives: "row" },
);

const deadAccount = statement(
  sql`select id from accounts where deleted_at is not null order by deleted_at, id limit 1`,
  { gives: "row" },
);

/** Up to `limit` rows of `owner` in a table that has an index on the owner. */
const some = (table: string, owner: "key_id" | "account_id", which: SQL = sql`true`) =>
  statement(
    sql
      .raw(`delete from ${table} where rowid in (select rowid from ${table} where ${owner} = `)
      .append(sql`${p("owner")} and ${which} limit ${p("limit")})`),
  );

/** A registration goes once its `end` push was sent or has expired (push.md). */
const ended = sql`not exists (select 1 from pushes where token = push_token and kind = 'end')`;

/** What belongs to a key and to an account, besides keys; the events go with their retention. */
const OF_KEY = [
  some("live_activities", "key_id", ended),
  some("push_records", "key_id"),
  some("idempotency", "key_id"),
  some("items", "key_id"),
  some("questions", "key_id"),
  some("tasks", "key_id"),
  some("activity_blocks", "key_id"),
];
const OF_ACCOUNT = [
  some("live_activities", "account_id", ended),
  some("push_records", "account_id"),
  // Those with a copy of the token tell the devices of the deletion.
  some("pushes", "account_id", sql`token is null`),
  some("idempotency", "account_id"),
  some("devices", "account_id"),
];

const dropKey = statement(sql`delete from keys where id = ${p("id")} and deleted_at is not null`);
const dropAccount = statement(
  sql`delete from accounts where id = ${p("id")} and deleted_at is not null
    and not exists (select 1 from keys where account_id = ${p("id")})`,
);

/**
 * One small step: at most `limit` rows of one deleted key or account, or its own row once nothing
 * else is left of it. True while something may be left. What to do next follows from the tables
 * alone, so a step that a crash cut off, or that two processes do at once, is done again.
 */
export async function deleteStep(store: Store, limit: number): Promise<boolean> {
  const [key] = await store.read(deadKey({}));
  const [account] = key ? [] : await store.read(deadAccount({}));
  const owner = (key ?? account)?.[0] as string | undefined;
  if (owner === undefined) return false;
  for (const remove of key ? OF_KEY : OF_ACCOUNT) {
    const [result] = await store.write([remove({ owner, limit })]);
    if (result!.changes > 0) return true;
  }
  await store.write([key ? dropKey({ id: owner }) : dropAccount({ id: owner })]);
  return true;
}
