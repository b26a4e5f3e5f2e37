/** The version line: the oldest version that may use the store, kept in the store (§17.5). */

import { OLDEST_COMPATIBLE, OLDEST_WITH_KEY, VERSION } from "../../src/version.ts";
import { storeFacts } from "../schema.ts";
import { p, sql } from "./sql.ts";
import { qb, rowOf, select, statement } from "./statement.ts";
import type { Store } from "./store.ts";

const hasFacts = statement(
  sql`select 1 from sqlite_schema where type = 'table' and name = 'store_facts'`,
  { returns: rowOf<[1]>() },
);
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

/** The oldest version that may use a store with encrypted values. A build before that version does not shut itself out. */
export const oldestWithKey = (version = VERSION): string =>
  isOlder(version, OLDEST_WITH_KEY) ? OLDEST_COMPATIBLE : OLDEST_WITH_KEY;

/** Moves the line back from {@link oldestWithKey}, once nothing is encrypted any more. */
export const lowerFromKey = statement(
  sql`update store_facts set value = ${p("oldest")} where name = 'oldest_version' and value = ${p("seen")}`,
);

/** Throws {@link OutdatedError} if `version` may no longer use the store. Reads one row. */
export async function assertCompatible(store: Store, version = VERSION): Promise<void> {
  const [row] = await store.read(line({}));
  const oldest = row?.oldest;
  if (oldest === undefined || !isOlder(version, oldest)) return;
  throw new OutdatedError(`the store needs version ${oldest} or later, and this is ${version}`);
}

/** False if no version that writes a version line has migrated the store. Writes nothing. */
export async function hasVersionLine(store: Store): Promise<boolean> {
  return (await store.read(hasFacts({}))).length > 0;
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
