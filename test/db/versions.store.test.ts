/** Versions side by side on one store (§17.4, §17.5). */

import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  assertCompatible,
  OutdatedError,
  raiseOldestVersion,
} from "../../db/store/compatibility.ts";
import { openEmbedded } from "../../db/store/embedded.ts";
import { openStore } from "../../db/store/open.ts";
import { openServer } from "../../db/store/server.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import type { Store } from "../../db/store/store.ts";
import { systemClock } from "../../src/clock.ts";
import { OLDEST_COMPATIBLE, VERSION } from "../../src/version.ts";
import { startTestApp } from "../support/app.ts";
import { client } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startProcess } from "../support/process.ts";
import { rejectionOf } from "../support/rejection.ts";
import { createEmptyStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const MIGRATIONS = new URL("../../db/migrations/", import.meta.url);

const rows = (store: Store, text: string) =>
  store.read(statement(sql.raw(text), { returns: "rows" })({}));
const change = (store: Store, text: string) => store.write([statement(sql.raw(text))({})]);
const lineOf = async (store: Store) =>
  (await rows(store, "select value from store_facts where name = 'oldest_version'")).flat();
const setLine = (store: Store, version: string) =>
  change(store, `update store_facts set value = '${version}' where name = 'oldest_version'`);

/** Opens a migrated store and closes it with the test. */
async function open(url: string): Promise<Store> {
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  afterAll(() => store.close());
  return store;
}

test("a store names the oldest version that may use it, and that version line only moves up", async () => {
  const { url } = await createEmptyStore();
  const store = await open(url);
  expect(await lineOf(store)).toEqual([OLDEST_COMPATIBLE]);
  await raiseOldestVersion(store, "0.9.0");
  // Compared as numbers, not as text.
  const moves = ["0.10.0", "0.2.0", "0.9.9", "0.10.0", "0.3.0"];
  await Promise.all(moves.map((version) => raiseOldestVersion(store, version)));
  expect(await lineOf(store)).toEqual(["0.10.0"]);
  await assertCompatible(store, "0.10.0");
  await assertCompatible(store, "1.0.0");
  expect(await rejectionOf(assertCompatible(store, "0.9.9"))).toBeInstanceOf(OutdatedError);
});

test("a start leaves a version line that is newer than the one of its own build", async () => {
  const { url } = await createEmptyStore();
  const store = await open(url);
  await setLine(store, VERSION);
  const again = await open(url);
  expect(await lineOf(again)).toEqual([VERSION]);
});

test("an older version does not start, says why in one line, and writes nothing", async () => {
  const { url } = await createEmptyStore();
  // Tables of a future version, of which this one knows only the version line.
  const bare = url.startsWith("file:")
    ? await openEmbedded(url, systemClock, () => {})
    : openServer({ url, auth_token: undefined }, systemClock, () => {});
  afterAll(() => bare.close());
  await change(bare, "create table store_facts (name text primary key not null, value text)");
  await change(bare, "insert into store_facts values ('oldest_version', '99.0.0')");
  const schema = () => rows(bare, "select name, sql from sqlite_schema order by name");
  const before = await schema();

  const child = Bun.spawn([process.execPath, MAIN], {
    env: { PATH: process.env.PATH ?? "", PORT: "0", DATABASE_URL: url },
    stdout: "pipe",
    stderr: "pipe",
  });
  const said = (await child.stdout.text()) + (await child.stderr.text());
  expect([await child.exited, said]).toEqual([
    1,
    `Relay cannot start: DATABASE_URL: the store needs version 99.0.0 or later, and this is ${VERSION}\n`,
  ]);
  expect(await schema()).toEqual(before);
  expect(await lineOf(bare)).toEqual(["99.0.0"]);
});

test("a process ends only once the version line has moved past it", async () => {
  const { url: database_url } = await createEmptyStore();
  const clock = createTestClock();
  const app = await startTestApp({ clock, database_url });
  const store = await open(database_url);
  await setLine(store, VERSION);
  const passes = async () => {
    await clock.advance(4);
    await app.jobs.settled();
  };
  await passes();
  expect(app.endings).toEqual([]);
  await setLine(store, "99.0.0");
  await passes();
  expect(app.endings[0]).toBe(`the store needs version 99.0.0 or later, and this is ${VERSION}`);
});

test("a running process that is too old stops gracefully with exit code 1", async () => {
  const { url: DATABASE_URL } = await createEmptyStore();
  const relay = await startProcess({ DATABASE_URL });
  const send = client(relay.url);
  expect((await send("POST /v1/accounts")).status).toBe(201);
  await setLine(await open(DATABASE_URL), "99.0.0");
  expect(await relay.exited).toBe(1);
  const [ending] = await until(() => {
    const found = relay
      .log()
      .split("\n")
      .filter((line) => line.includes('"ending"'));
    return found.length > 0 && found;
  });
  expect(JSON.parse(ending!)).toMatchObject({
    level: "error",
    reason: `the store needs version 99.0.0 or later, and this is ${VERSION}`,
  });
});

/** The last migration that an older version cannot work on: its version is {@link OLDEST_COMPATIBLE}. */
const LAST_BREAKING = "0046_one-name";

/** The statements that break a version which does not know them: all but additions. */
function breaksOlder(statements: readonly string[]): string[] {
  // Tables that the oldest version does not know: their rows and unique indexes break nothing.
  const added = statements.flatMap((text) => /^CREATE TABLE `(\w+)`/i.exec(text)?.[1] ?? []);
  const known = added.join("|");
  // So is a trigger that an earlier one of these migrations added, which may be replaced.
  const drops_added = (text: string, at: number) => {
    const [, name] = /^DROP TRIGGER (`\w+`);$/i.exec(text) ?? [];
    return statements.slice(0, at).some((one) => one.startsWith(`CREATE TRIGGER ${name} `));
  };
  // A column must be one that an INSERT may leave out.
  const ADDS = [
    /^CREATE (TABLE|INDEX|TRIGGER) /i,
    new RegExp(`^CREATE UNIQUE INDEX \\S+ ON \`(${known})\``, "i"),
    new RegExp(`^(INSERT INTO|UPDATE) \`(${known})\``, "i"),
    /^ALTER TABLE \S+ ADD (?!.*NOT NULL)/i,
    /^ALTER TABLE \S+ ADD .* DEFAULT /i,
  ];
  const others = statements.filter((text) => !ADDS.some((adds) => adds.test(text)));
  return others.filter((text) => !drops_added(text, statements.indexOf(text)));
}

test("migrations since the oldest compatible version are additive", () => {
  const journal = JSON.parse(readFileSync(new URL("meta/_journal.json", MIGRATIONS), "utf8"));
  const tags = (journal.entries as { tag: string }[]).map(({ tag }) => tag);
  const statementsOf = (tag: string) =>
    readFileSync(new URL(`${tag}.sql`, MIGRATIONS), "utf8")
      .split("--> statement-breakpoint")
      .map((text) => text.replace(/^--.*$/gm, "").trim());
  const breaking = tags.indexOf(LAST_BREAKING);
  expect(breaksOlder(statementsOf(LAST_BREAKING)).length).toBeGreaterThan(40);
  expect(breaksOlder(tags.slice(breaking + 1).flatMap(statementsOf))).toEqual([]);
  expect(Bun.semver.order(OLDEST_COMPATIBLE, VERSION)).toBeLessThanOrEqual(0);
});
