/** Recent account creations of an address, counted in the store so that a restart forgets none. */

import { accountCreations } from "./credentials-schema.ts";
import { pruner } from "./retention.ts";
import { accounts } from "./schema.ts";
import { isNewToken } from "./sessions.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, rowOf, statement } from "./store/statement.ts";
import type { Store } from "./store/store.ts";

const time = <Name extends string>(name: Name) => p(name, accountCreations.created_at);

const in_window = sql`origin = ${p("origin")}
  and created_at > ${time("since")} and created_at <= ${time("until")}`;

const creations = statement(
  sql`select count(*), min(created_at), max(created_at) from account_creations where ${in_window}`,
  { returns: rowOf<[count: number, first_ms: number | null, last_ms: number | null]>() },
);

/** The digest of an address, and the period in epoch seconds in which its account creations count. */
export interface CreationWindow {
  readonly origin: string;
  readonly since: number;
  readonly until: number;
}

/**
 * Reads how many accounts the address created in the window, and when it created the first and the last one (epoch
 * seconds; 0 without any).
 */
export async function countCreations(store: Store, window: CreationWindow) {
  const [row] = await store.read(creations({ ...window }));
  const [count, first_ms, last_ms] = row!;
  return {
    count,
    first_at: (first_ms ?? 0) / 1000,
    last_at: (last_ms ?? 0) / 1000,
  };
}

/** Inserts an account if its address created fewer than `limit` in the window. */
export const insertAccountWithin = statement(
  insertWhere(
    accounts,
    sql`(select count(*) from account_creations where ${in_window}) < ${p("limit")} and ${isNewToken("digest")}`,
  ),
);

/** Counts the account `id` if the same batch made it. */
export const insertCreation = statement(
  insertWhere(accountCreations, sql`exists (select 1 from accounts where id = ${p("id")})`),
);

/** Forgets creations from before `before`. */
export const pruneCreations = pruner(
  sql`delete from account_creations where created_at < ${time("before")}
    and seq in (select seq from account_creations order by seq limit ${p("limit")})`,
);
