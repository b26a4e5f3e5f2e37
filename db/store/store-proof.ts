/** How a process recognises its store on a libSQL server, which may come back with an empty or another one. */

import { readMigrations } from "./migration-files.ts";
import { p, sql } from "./sql.ts";
import { rowOf, statement } from "./statement.ts";
import type { Statement } from "./store.ts";

const proof = statement(
  sql`select case when exists (select 1 from secrets where name = 'signing' and value = ${p("secret")})
    and exists (select 1 from relay_migrations where hash = ${p("hash")}) then 1 else json('') end`,
  { returns: rowOf<[1]>() },
);

/**
 * A query that fails on every store but the one whose signing secret is `stored`, and that has all migrations of this build. It also
 * fails on a copy from before an upgrade, whose tables this build cannot use.
 */
export function proofOf(stored: string): Statement {
  return proof({ secret: stored, hash: readMigrations().at(-1)!.hash });
}

/** True for the error of {@link proofOf} on another store. */
export function isDisproof({ message }: { readonly message: string }): boolean {
  return message.includes("malformed JSON") || lacksTables({ message });
}

/** True if a table or a column that this build uses is missing. */
export function lacksTables({ message }: { readonly message: string }): boolean {
  return /no such (table|column)|has no column named/.test(message);
}
