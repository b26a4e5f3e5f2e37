/** Applies the migrations that drizzle-kit wrote, once each, also when two processes start at once. */

import type { Clock } from "../src/clock.ts";
import { assertCompatible, hasVersionLine, raiseOldestVersion } from "./compatibility.ts";
import { readMigrations } from "./migration-files.ts";
import { p, sql } from "./sql.ts";
import { rowsOf, statement } from "./statement.ts";
import type { Store } from "./store.ts";

const createTable = statement(
  sql`create table if not exists relay_migrations (hash text primary key, applied_at integer not null)`,
);
const applied = statement(sql`select hash from relay_migrations`, {
  gives: rowsOf<[hash: string]>(),
});
const claim = statement(
  sql`insert into relay_migrations (hash, applied_at) values (${p("hash")}, ${p("applied_at")})`,
);

/**
 * Each migration is one batch that inserts its unique hash first, so of two processes one applies
 * it and the other's batch fails whole; that one then sees it as applied. Throws `OutdatedError`
 * before anything is written when this build is older than the store permits.
 */
export async function applyMigrations(store: Store, clock: Clock): Promise<void> {
  const done = async () => new Set((await store.read(applied({}))).map(([hash]) => hash));
  if (await hasVersionLine(store)) {
    await assertCompatible(store);
    // Before the migrations: a start that is cut off here leaves no older version on new tables.
    await raiseOldestVersion(store);
  }
  await store.write([createTable({})]);
  let hashes = await done();
  for (const migration of readMigrations()) {
    if (hashes.has(migration.hash)) continue;
    const steps = migration.sql.map((text) => statement(sql.raw(text))({}));
    const applied_at = Math.round(clock.now() * 1000);
    try {
      await store.write([claim({ hash: migration.hash, applied_at }), ...steps]);
    } catch (error) {
      hashes = await done();
      if (!hashes.has(migration.hash)) throw error;
    }
  }
  await raiseOldestVersion(store);
  // A newer process may have moved the line since the first look.
  await assertCompatible(store);
}
