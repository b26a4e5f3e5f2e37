/** The migrations produce the schemas in db. If one is missing: `bun run db:generate`. */

import { expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { generateSQLiteDrizzleJson, generateSQLiteMigration } from "drizzle-kit/api";
import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import config from "../../db/drizzle.config.ts";

const root = new URL("../../", import.meta.url);
const META = new URL("db/migrations/meta/", root);

const { entries } = await Bun.file(new URL("_journal.json", META)).json();

const snapshotOf = ({ idx }: { idx: number }) =>
  Bun.file(new URL(`${String(idx).padStart(4, "0")}_snapshot.json`, META)).json();

/** Statements of a migration from the last snapshot to the schemas. */
async function missing(more: Record<string, unknown> = {}): Promise<string[]> {
  const last = await snapshotOf(entries.at(-1));
  const tables = { ...more };
  for (const path of [config.schema ?? []].flat()) {
    Object.assign(tables, await import(new URL(path, root).href));
  }
  return generateSQLiteMigration(last, await generateSQLiteDrizzleJson(tables, last.id));
}

test("every change of a schema in db has its migration", async () => {
  expect(await missing()).toEqual([]);
  // The check does detect a change, so finding none above means something.
  const later = sqliteTable("later", { id: text().primaryKey() });
  expect(await missing({ later })).toHaveLength(1);
});

test("only the last migration has a snapshot, since drizzle-kit reads no other", () => {
  const names = [...new Bun.Glob("*_snapshot.json").scanSync(fileURLToPath(META))];
  expect(names).toEqual([`${String(entries.at(-1).idx).padStart(4, "0")}_snapshot.json`]);
});
