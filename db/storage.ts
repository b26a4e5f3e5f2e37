/**
 * What is counted of the bytes that an account stores (§10.8): by its keys, in `keys.stored_bytes`, and what belongs to no
 * key in `accounts.stored_bytes`. Statements say what they add or free (`counts`, `frees`); src/services/storage.ts adds it
 * up. Messages that wait for webhooks are counted in their channels, by triggers.
 */

import { p, type Sql, sql } from "./store/sql.ts";
import { rowsOf, statement } from "./store/statement.ts";

/**
 * By table: bytes of a row with its indexes, without the texts that may be long, and these texts. What is not here has few
 * rows, or small rows of a bounded number.
 */
export const COUNTED = {
  tasks: { row: 530, texts: ["title", "description", "status_note", "history"] },
  task_history: { row: 100, texts: ["entries"] },
  questions: {
    row: 650,
    texts: [
      ...["prompt", "options", "url", "fallback", "context", "draft"],
      ...["action", "action_text", "answer", "note"],
    ],
  },
  items: { row: 380, texts: ["last_task", "text"] },
  idempotency: { row: 390, texts: [] },
  delivery_records: { row: 400, texts: [] },
} as const satisfies Record<string, { readonly row: number; readonly texts: readonly string[] }>;

type CountedTable = keyof typeof COUNTED;

/** The bytes of a row of the table, in SQL. */
const bytesIn = (table: CountedTable): Sql =>
  sql.raw(
    [
      COUNTED[table].row,
      ...COUNTED[table].texts.map((text) => `ifnull(octet_length(${text}), 0)`),
    ].join(" + "),
  );

/** The end of a DELETE of counted rows, for a statement that `frees`. */
export const freed = <P, Q>(
  table: CountedTable,
  owner: Sql<P>,
  account_id: Sql<Q> = sql`account_id` as Sql<Q>,
) => sql`returning ${owner}, ${account_id}, -(${bytesIn(table)})`;

const sumOf = (
  table: CountedTable,
  from: Sql = sql`from ${sql.raw(table)} where key_id = keys.id`,
) => sql`ifnull((select sum(${bytesIn(table)}) ${from}), 0)`;

/** Rows of a key in one table, beyond which it is not counted again, since that takes long. */
const MANY = 20_000;
const isSmall = (table: CountedTable) =>
  sql`not exists (select 1 from ${sql.raw(table)} where key_id = keys.id limit 1 offset ${sql.raw(MANY)})`;

/**
 * Counts the keys `ids` (JSON list) anew. Null: not counted yet, as for a key from before this column or of an older
 * version. Others may differ by what a killed process had not written, or an older version wrote.
 */
export const recount = statement(
  sql`update keys set stored_bytes = ${sumOf("tasks")}
      + ${sumOf("task_history", sql`from tasks t join task_history h on h.task_id = t.id where t.key_id = keys.id`)}
      + ${sumOf("questions")} + ${sumOf("items")} + ${sumOf("idempotency")} + ${sumOf("delivery_records")}
    where id in (select value from json_each(${p("ids")}))
      and (stored_bytes is null or (${sql.join((["items", "idempotency", "delivery_records"] as const).map(isSmall), sql` and `)}))`,
);

export const uncountedKeys = statement(
  sql`select id from keys where stored_bytes is null limit ${p("limit")}`,
  { returns: rowsOf<[id: string]>() },
);

/** Adds to the counts. `owners`: a JSON list of pairs of a key or an account, and bytes. */
export const addStored = (["keys", "accounts"] as const).map((table) =>
  statement(
    sql`update ${sql.raw(table)} set stored_bytes = max(0, stored_bytes + (o.value ->> 1)) from json_each(${p("owners")}) o
      where ${sql.raw(table)}.id = o.value ->> 0`,
    { synced: false },
  ),
);

/** What the account `a` stores, in SQL, deleted keys included until their rows are gone. */
export const storedBy = (a: string): Sql =>
  sql.raw(`(${a}.stored_bytes
    + ifnull((select sum(stored_bytes) from keys where account_id = ${a}.id), 0)
    + ifnull((select sum(queued_bytes) from channels where account_id = ${a}.id), 0))`);

/** What each of the accounts `ids` (JSON list) stores. */
export const storedByAccounts = statement(
  sql`select id, ${storedBy("accounts")} from accounts where id in (select value from json_each(${p("ids")}))`,
  { returns: rowsOf<[id: string, bytes: number]>() },
);
