/** What restores, moves and backups take over, and to whom it belongs. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { chownSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import { backupStore } from "../../db/backup/backup.ts";
import { moveStore } from "../../db/backup/move.ts";
import { restoreStore } from "../../db/backup/restore.ts";
import { SIGNING, sharedSecret } from "../../db/secrets.ts";
import { openStore } from "../../db/store/open.ts";
import { systemClock } from "../../src/clock.ts";
import { rejectionOf } from "../support/rejection.ts";
import { startSqld } from "../support/sqld.ts";
import { createEmptyStore, createTestStore, STORE_KIND } from "../support/store.ts";
import { tempFolder } from "../support/temp.ts";

let runs = 0;
const placeOf = (url: string) => ({ url, auth_token: undefined });
const ofStore = (url: string) => ({ store: placeOf(url), clock: systemClock });
/** Restores into a new place of this run's kind. */
async function restore(file: string, { as_copy = false } = {}) {
  const { url } = await createEmptyStore();
  const run = `run ${++runs}`;
  return { url, ...(await restoreStore({ ...ofStore(url), file, as_copy, old: null, run })) };
}

/** Names and texts of everything in a store, as SQLite keeps them. */
async function schemaAt(url: string): Promise<unknown[][]> {
  const database = createClient({ url });
  const { rows } = await database.execute(
    "select type, name, sql from sqlite_schema where sql is not null and name not glob 'libsql_*' order by type, name",
  );
  database.close();
  return rows.map(({ type, name, sql }) => [type, name, String(sql).trimEnd()]);
}

/** What somebody added to a store, and how it is named. Each of the first five would run, or hide something. */
const FOREIGN = {
  "trigger evil": "create trigger evil after insert on tasks begin delete from keys; end",
  "view people": "create view people as select * from accounts",
  "trigger of_people":
    "create trigger of_people instead of insert on people begin delete from keys; end",
  "index tasks_by_title": "create index tasks_by_title on tasks (lower(title))",
  "trigger _litestream_x":
    "create trigger _litestream_x after update on accounts begin delete from tasks; end",
  "table notes": "create table notes (a, b as (a || 'x') stored)",
  "trigger items_counted": `drop trigger items_counted;
    create trigger items_counted after insert on tasks begin delete from accounts; end`,
};

test("a backup is restored with exactly the tables, indexes and triggers that Relay made", async () => {
  const { url } = await createTestStore();
  const file = join(tempFolder(), "relay.db");
  await backupStore({ ...ofStore(url), file, keep: null });
  const whole = await restore(file);
  expect(whole.left_out).toEqual([]);
  const schema = await schemaAt(whole.url);
  expect(schema.length).toBeGreaterThan(150);
  const open = () => new Database(file);
  let database = open();
  for (const [name, text] of Object.entries(FOREIGN)) {
    // The rows of tables are counted in a backup.
    if (!name.startsWith("table")) database.run(text);
  }
  // Whatever is missing is made again.
  database.run("drop index keys_account; drop trigger items_read");
  database.close();
  for (const as_copy of [false, true]) {
    const { url: place, left_out } = await restore(file, { as_copy });
    const names = Object.keys(FOREIGN).filter((name) => !name.startsWith("table"));
    expect(left_out.toSorted()).toEqual(names.toSorted());
    expect(await schemaAt(place)).toEqual(schema);
  }

  for (const [change, found] of [
    ["alter table tasks add column also text as (title || 'x')", "the table tasks of "],
    ["alter table tasks rename to work; create view tasks as select * from work", "lacks tables"],
    ["insert into relay_migrations values ('of tomorrow', 1)", "lacks rows"],
  ] as const) {
    await backupStore({ ...ofStore(url), file, keep: null });
    database = open();
    database.run(change);
    database.close();
    expect(String(await rejectionOf(restore(file)))).toContain(found);
  }
});

test.skipIf(STORE_KIND !== "embedded" || process.getuid?.() !== 0)(
  "what root restores, moves or backs up belongs to the user who owns the folder, for that user's service",
  async () => {
    const { url } = await createTestStore();
    const folder = tempFolder();
    const file = join(tempFolder(), "relay.db");
    await backupStore({ ...ofStore(url), file, keep: null });
    chownSync(folder, 10_001, 10_002);
    const inner = join(folder, "a", "b");
    const place = (name: string) => placeOf(`file:${join(inner, name)}`);
    const more = { file, as_copy: false, old: null, clock: systemClock };
    await restoreStore({ ...more, store: place("restored.db"), run: `run ${++runs}` });
    const failing = { ...more, file: join(folder, "none.db"), run: `run ${++runs}` };
    await rejectionOf(restoreStore({ ...failing, store: place("failed.db") }));
    Bun.gc(true);
    await moveStore({ ...more, from: placeOf(url), to: place("moved.db"), run: `run ${++runs}` });
    await backupStore({ ...ofStore(url), file: join(inner, "backup.db"), keep: null });
    const names = ["restored.db", ".failed.db.unfinished.txt", "moved.db", "backup.db"];
    expect(readdirSync(inner).toSorted()).toEqual(names.toSorted());
    for (const path of [join(folder, "a"), inner, ...names.map((name) => join(inner, name))]) {
      const { uid, gid, mode } = statSync(path);
      expect([path, uid, gid, mode & 0o077]).toEqual([path, 10_001, 10_002, 0]);
    }
  },
);

test("a store is moved without what somebody else added, and not if its tables are not those of Relay", async () => {
  const { url } = await createTestStore();
  const run = async (text: string) => {
    const database = createClient({ url });
    await database.executeMultiple(text);
    database.close();
  };
  const move = async (to: string) => {
    // The binding keeps the locks of a closed connection until its statements are collected.
    Bun.gc(true);
    return moveStore({
      from: placeOf(url),
      to: placeOf(to),
      run: `r${++runs}`,
      clock: systemClock,
    });
  };
  const { url: plain } = await startSqld();
  expect((await move(plain)).left_out).toEqual([]);
  const schema = await schemaAt(plain);
  for (const text of Object.values(FOREIGN)) await run(text);
  for (const to of [(await startSqld()).url, `file:${join(tempFolder(), "moved.db")}`]) {
    const { left_out } = await move(to);
    // Names of Litestream are not looked at.
    const names = Object.keys(FOREIGN).filter((name) => !name.includes("_litestream_"));
    expect(left_out.toSorted()).toEqual(names.toSorted());
    expect(await schemaAt(to)).toEqual(schema);
  }
  const refusal = async () =>
    String(await rejectionOf(move(`file:${join(tempFolder(), "moved.db")}`)));
  await run("insert into relay_migrations values ('of tomorrow', 1)");
  expect(await refusal()).toContain("has tables of a later version than");
  await run("delete from relay_migrations where hash = 'of tomorrow'");
  await run("alter table tasks add column also text as (title || 'x')");
  expect(await refusal()).toContain("the table tasks of ");
});

test("a move or backup with another key than that of the store, or none, names the variable and writes nothing", async () => {
  const { url } = await createEmptyStore();
  const key = new Uint8Array(32).fill(7);
  const used = await openStore({ ...placeOf(url), encryption_key: key }, systemClock);
  await sharedSecret(used, SIGNING, "secret");
  await used.close();
  const folder = tempFolder();
  for (const encryption_key of [new Uint8Array(32).fill(8), undefined]) {
    Bun.gc(true);
    const from = { ...placeOf(url), encryption_key };
    const to = { ...placeOf(`file:${join(folder, "moved.db")}`), encryption_key };
    const more = { run: `run ${++runs}`, clock: systemClock };
    const refusals = [
      await rejectionOf(moveStore({ from, to, ...more })),
      await rejectionOf(backupStore({ store: from, file: join(folder, "b.db"), keep: 3, ...more })),
    ];
    for (const refusal of refusals) expect(String(refusal)).toContain("DATABASE_ENCRYPTION_KEY");
    expect(readdirSync(folder)).toEqual([".moved.db.unfinished.txt"]);
  }
});
