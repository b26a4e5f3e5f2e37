/** Tells an empty database, a store of Relay and the database of another program apart by their tables. */

import { sql } from "./sql.ts";
import { rowsOf, statement } from "./statement.ts";
import type { Cell, Statement } from "./store.ts";

/** The store must not be used as it is. The message says why, and names no secret. */
export class RefusedStore extends Error {
  override readonly name = "RefusedStore";
}

/** Why a store is refused whose encryption does not match the key of the process. */
export const NEEDS_KEY = "the store is encrypted; set DATABASE_ENCRYPTION_KEY to its key";
export const OTHER_KEY = "the store is encrypted with another key than DATABASE_ENCRYPTION_KEY";
export const NOT_ENCRYPTED =
  "the store is not encrypted, but DATABASE_ENCRYPTION_KEY is set; run relay rekey to encrypt it";

export const UNFINISHED = "relay restore or relay migrate is not complete; run it again";

/** A libSQL server has this table from the start of `relay restore` or `relay migrate` until one is complete. */
export const UNFINISHED_TABLE = "relay_restoring";

/** A backup has this table beside those of the store. */
export const BACKUP_TABLE = "relay_backup";

/** Why a backup is refused where a store is expected: what waits in it would be sent again. */
export const IS_BACKUP = "the file is a backup; relay restore makes a store of it in another place";

/** A store of Relay has one of these tables from its first write on. */
const OWN_TABLES: ReadonlySet<Cell> = new Set(["relay_migrations", "store_facts"]);

/** The tables, views, indexes and triggers that a program created. */
const names = statement(
  sql`select name from sqlite_schema where substr(name, 1, 7) not in ('sqlite_', 'libsql_')`,
  { returns: rowsOf<[name: string]>() },
);

/**
 * Throws {@link RefusedStore} for the database of another program. An empty database passes, and so does a store of
 * Relay whose migrations were cut off. Writes nothing.
 */
export async function assertNotForeign(
  read: (statement: Statement<[name: string]>) => Promise<Cell[][]> | Cell[][],
): Promise<void> {
  const found = await read(names({}));
  if (found.length === 0 || found.some(([name]) => OWN_TABLES.has(name!))) return;
  if (found.some(([name]) => name === UNFINISHED_TABLE)) {
    throw new RefusedStore(`${UNFINISHED}, or delete all tables if you want a new store`);
  }
  throw new RefusedStore("the database belongs to another program; name one of its own for Relay");
}
