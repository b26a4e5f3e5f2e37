/** Tells an empty store, a store of Relay and the database of another program apart, by their tables. */

import { sql } from "./sql.ts";
import { rowsOf, statement } from "./statement.ts";
import type { Cell, Statement } from "./store.ts";

/** The store must not be used as it is. The message says why, and names no secret. */
export class RefusedStore extends Error {
  override readonly name = "RefusedStore";
}

/** Tables that every store of Relay has one of, from the first write on. */
const OWN_TABLES: ReadonlySet<Cell> = new Set(["relay_migrations", "store_facts"]);

/** Names of everything that a program made: tables, views, indexes and triggers. */
const names = statement(
  sql`select name from sqlite_schema where substr(name, 1, 7) not in ('sqlite_', 'libsql_')`,
  { gives: rowsOf<[name: string]>() },
);

/**
 * True for a store of Relay, also one whose migrations were cut off, and false for an empty database.
 * Throws {@link RefusedStore} for the database of another program. Writes nothing.
 */
export async function hasContents(
  read: (statement: Statement<[name: string]>) => Promise<Cell[][]> | Cell[][],
): Promise<boolean> {
  const found = await read(names({}));
  if (found.length === 0) return false;
  if (found.some(([name]) => OWN_TABLES.has(name!))) return true;
  throw new RefusedStore("the database belongs to another program; name one of its own for Relay");
}
