/** The upgrade of a store of an earlier version to 0.3.0: its backup, the way back, and what stops it (§17.4, §17.5). */

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "@libsql/client";
import { restoreStore } from "../../db/backup/restore.ts";
import { systemClock } from "../../src/clock.ts";
import { VERSION } from "../../src/version.ts";
import { startTestApp } from "../support/app.ts";
import { client } from "../support/client.ts";
import { rejectionOf } from "../support/rejection.ts";
import { createEmptyStore, createTestStore, STORE_KIND } from "../support/store.ts";
import { tempFolder } from "../support/temp.ts";
import recorded from "./earlier/store-0.1.0.json";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const DUMP = new URL("./earlier/store-0.1.0.sql", import.meta.url);
const is_file = STORE_KIND === "embedded";
const NAME = "relay-before-0.3.0.db";

/** A store of 0.1.0 with data of every kind, and what its tables are. */
async function createOldStore() {
  const { url } = await createEmptyStore();
  const read = async (text: string, at = url) => {
    const raw = createClient({ url: at });
    const { rows } = await raw.execute(text);
    raw.close();
    return rows.map((row) => Object.values(row));
  };
  const raw = createClient({ url });
  await raw.executeMultiple(await Bun.file(DUMP).text());
  raw.close();
  return {
    url,
    read,
    schema: (at = url) => read("select type, name, sql from sqlite_schema order by 1, 2", at),
  };
}

/** Where the backup is made: beside the file, or in `BACKUP_DIR`. */
const placeOf = (url: string) => {
  const folder = is_file ? dirname(url.slice("file:".length)) : tempFolder();
  return { folder, file: join(folder, NAME), env: is_file ? {} : { BACKUP_DIR: folder } };
};

const works = async (url: string) =>
  (await client(url, recorded.account)("GET /v1/account")).status;

test("an upgrade first makes a backup, from which the version before can go on [§17.5]", async () => {
  const { url, schema, read } = await createOldStore();
  const before = await schema();
  const tasks = await read("select id, title from tasks order by id");
  const { folder, file, env } = placeOf(url);
  const app = await startTestApp({ database_url: url, env });
  expect(await works(app.url)).toBe(200);
  expect(app.lines.filter((line) => line.includes('"backup before upgrade"')).length).toBe(1);
  await app.stop();

  const back = `file:${join(tempFolder(), "relay.db")}`;
  const store = { url: back, auth_token: undefined };
  await restoreStore({ store, file, as_copy: true, old: null, run: "back", clock: systemClock });
  expect(await schema(back)).toEqual(before);
  expect(await read("select id, title from tasks order by id", back)).toEqual(tasks);

  // The next start has nothing to upgrade.
  const again = await startTestApp({ database_url: url, env });
  expect(again.lines.filter((line) => line.includes("upgrade"))).toEqual([]);
  expect(readdirSync(folder).filter((name) => name.includes("before"))).toEqual([NAME]);
});

test("without its backup, an upgrade does not begin, and the store stays as it is [§17.5]", async () => {
  const { url, schema } = await createOldStore();
  const before = await schema();
  const { file, env } = placeOf(url);
  mkdirSync(file);
  const fault = (await rejectionOf(startTestApp({ database_url: url, env }))) as Error;
  expect(fault.message).toStartWith("The backup before the upgrade failed: ");
  expect(fault.message).toContain(`${NAME} is a folder`);
  expect(await schema()).toEqual(before);
  if (is_file) return;

  // The disk of the folder may not be mounted.
  const folder = join(dirname(file), "not-mounted");
  const missing = startTestApp({ database_url: url, env: { BACKUP_DIR: folder } });
  expect(((await rejectionOf(missing)) as Error).message).toContain(`there is no folder ${folder}`);
  expect(existsSync(folder)).toBe(false);
  expect(await schema()).toEqual(before);

  const unprepared = (await rejectionOf(startTestApp({ database_url: url }))) as Error;
  expect(unprepared.message).toContain("UPGRADE_WITHOUT_BACKUP=0.3.0");
  const other = { UPGRADE_WITHOUT_BACKUP: "0.2.0" };
  expect(await rejectionOf(startTestApp({ database_url: url, env: other }))).toBeInstanceOf(Error);
  expect(await schema()).toEqual(before);
  const app = await startTestApp({ database_url: url, env: { UPGRADE_WITHOUT_BACKUP: "0.3.0" } });
  expect(await works(app.url)).toBe(200);
});

test("an upgrade that is killed or fails is completed by the next start [§17.5]", async () => {
  const { url, read } = await createOldStore();
  const { env } = placeOf(url);
  const killed = Bun.spawn([process.execPath, MAIN], {
    env: { PATH: process.env.PATH ?? "", PORT: "0", DATABASE_URL: url, ...env },
    stderr: "pipe",
  });
  for await (const text of killed.stderr.pipeThrough(new TextDecoderStream())) {
    if (text.includes("backup before upgrade")) killed.kill("SIGKILL");
  }
  expect(await killed.exited).not.toBe(0);

  // Fails in the migration that renames, after all before it.
  await read("create table deliveries (x)");
  expect(await rejectionOf(startTestApp({ database_url: url, env }))).toBeInstanceOf(Error);
  await read("drop table deliveries");
  const app = await startTestApp({ database_url: url, env });
  expect(await works(app.url)).toBe(200);
  const line = "select value from store_facts where name = 'oldest_version'";
  expect(await read(line)).toEqual([[VERSION]]);
});

test("a store has at most 40 triggers", async () => {
  const { url } = await createTestStore();
  const raw = createClient({ url });
  const { rows } = await raw.execute("select name from sqlite_schema where type = 'trigger'");
  raw.close();
  expect(rows.length).toBeLessThanOrEqual(40);
});
