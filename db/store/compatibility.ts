/** The version line: the oldest version that may use the store, kept in the store (§17.5). */

import { OLDEST_COMPATIBLE, VERSION } from "../../src/version.ts";
import { storeFacts } from "../schema.ts";
import { p, sql } from "./sql.ts";
import { qb, rowOf, select, statement } from "./statement.ts";
import type { Store } from "./store.ts";

const hasTable = statement(
  sql`select 1 from sqlite_schema where type = 'table' and name = ${p("name")}`,
  { returns: rowOf<[1]>() },
);
const anyAccount = statement(sql`select 1 from accounts limit 1`, {
  returns: rowOf<[1]>(),
});
const line = select(
  qb.select({ oldest: storeFacts.value }).from(storeFacts),
  sql`where name = 'oldest_version'`,
  { one: true },
);
/** Inserts the line, or moves it from `seen`. Changes nothing if another process moved it. */
const moveLine = statement(
  sql`insert into store_facts (name, value) values ('oldest_version', ${p("next")})
    on conflict (name) do update set value = excluded.value where value = ${p("seen")}`,
);

/** This build is older than the store permits. The message names both versions. */
export class OutdatedError extends Error {
  override readonly name = "OutdatedError";
}

const isOlder = (version: string, than: string) => Bun.semver.order(version, than) < 0;

/** Throws {@link OutdatedError} if `version` may no longer use the store. Reads one row. */
export async function assertCompatible(store: Store, version = VERSION): Promise<void> {
  const [row] = await store.read(line({}));
  const oldest = row?.oldest;
  if (oldest === undefined || !isOlder(version, oldest)) return;
  throw new OutdatedError(`the store needs version ${oldest} or later, and this is ${version}`);
}

/** False if no version that writes a version line has migrated the store. Writes nothing. */
export async function hasVersionLine(store: Store): Promise<boolean> {
  return (await store.read(hasTable({ name: "store_facts" }))).length > 0;
}

/**
 * True if the store has accounts, and no version from {@link OLDEST_COMPATIBLE} on has migrated it. False while a
 * process makes the tables of a new store. Writes nothing.
 */
export async function isOlderStore(store: Store): Promise<boolean> {
  if ((await store.read(hasTable({ name: "accounts" }))).length === 0) return false;
  if ((await store.read(anyAccount({}))).length === 0) return false;
  if (!(await hasVersionLine(store))) return true;
  const [row] = await store.read(line({}));
  return row === undefined || isOlder(row.oldest, OLDEST_COMPATIBLE);
}

/** Moves the line up to `oldest`, and never down, also while other processes move it. */
export async function raiseOldestVersion(store: Store, oldest = OLDEST_COMPATIBLE): Promise<void> {
  for (;;) {
    const [row] = await store.read(line({}));
    const seen = row?.oldest;
    if (seen !== undefined && !isOlder(seen, oldest)) return;
    await store.write([moveLine({ next: oldest, seen: seen ?? "" })]);
  }
}
