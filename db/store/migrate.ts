/** Applies each migration that drizzle-kit wrote once, also if two processes start at the same time. */

import type { Clock } from "../../src/clock.ts";
import {
  assertCompatible,
  hasVersionLine,
  isOlderStore,
  raiseOldestVersion,
} from "./compatibility.ts";
import { readMigrations } from "./migration-files.ts";
import { p, sql } from "./sql.ts";
import { rowsOf, statement } from "./statement.ts";
import type { Store } from "./store.ts";

/** The table of the migrations that a store has. */
export const createMigrationsTable =
  "create table if not exists relay_migrations (hash text primary key, applied_at integer not null)";

const createTable = statement(sql.raw(createMigrationsTable));
const applied = statement(sql`select hash from relay_migrations`, {
  returns: rowsOf<[hash: string]>(),
});
const claim = statement(
  sql`insert into relay_migrations (hash, applied_at) values (${p("hash")}, ${p("applied_at")})`,
);

/**
 * Each migration is one batch that first inserts its unique hash. So one of two processes applies it, and the batch
 * of the other fails as a whole. `beforeUpgrade` runs before a migration that older versions cannot work on; if it
 * rejects, nothing has changed. Throws `OutdatedError`, before anything is written, if the store permits only newer
 * versions.
 */
export async function applyMigrations(
  store: Store,
  clock: Clock,
  beforeUpgrade?: () => Promise<void>,
): Promise<void> {
  const done = async () => new Set((await store.read(applied({}))).map(([hash]) => hash));
  const has_line = await hasVersionLine(store);
  if (has_line) await assertCompatible(store);
  if (beforeUpgrade && (await isOlderStore(store))) await beforeUpgrade();
  if (has_line) {
    // First, so that a start that is cut off leaves no older version on new tables.
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
  // A newer process may have moved the line meanwhile.
  await assertCompatible(store);
}
