/** Backups of a store: a file or a real libSQL server. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { backupStore } from "../../db/backup/backup.ts";
import { createPrivateFolder, removeFolder } from "../../db/backup/backup-files.ts";
import { listBackups } from "../../db/backup/list.ts";
import { restoreStore } from "../../db/backup/restore.ts";
import { sharedSecret } from "../../db/secrets.ts";
import { openConnection } from "../../db/store/connection.ts";
import { openStore } from "../../db/store/open.ts";
import { p, sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { createVault, PLAIN } from "../../db/store/vault.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import { createTestClock } from "../support/clock.ts";
import { startCutProxy } from "../support/cut-proxy.ts";
import { rejectionOf } from "../support/rejection.ts";
import { freePort, startSqld } from "../support/sqld.ts";
import { createTestStore, STORE_KIND } from "../support/store.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";

/** This machine in the names of temporary files. */
const HOST = hostname().replace(/[^A-Za-z0-9.]/g, "");
const placeOf = (url: string) => ({ url, auth_token: undefined });
const add = statement(sql`insert into secrets (name, value) values (${p("name")}, ${p("value")})`);

test("a backup of a store in use is one checked file for its owner, and runs again", async () => {
  const { url } = await createTestStore();
  const place = { url, auth_token: undefined };
  const store = await openStore(place, systemClock);
  const value = "a 'quoted' text\nof \"two\" lines: ä 🙂";
  await store.write([add({ name: "first", value })]);
  const folder = tempFolder();
  const file = join(folder, "new", "relay.db");
  const backup = (keep: number | null, to = file) =>
    backupStore({ store: place, file: to, keep, clock: systemClock });

  const first = await backup(null);
  expect(first).toMatchObject({ file, removed: [] });
  expect(first.rows).toBeGreaterThan(0);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  // A file that a killed run left behind.
  const killed = Bun.spawnSync(["true"]).pid;
  writeFileSync(join(folder, "new", `.relay.db.${HOST}-${killed}-1.partial-journal`), "");
  await store.write([add({ name: "second", value })]);
  const second = await backup(null);
  expect(second.rows).toBe(first.rows + 1);
  expect(readdirSync(join(folder, "new"))).toEqual(["relay.db"]);

  const placeIn = (name: string) => placeOf(`file:${join(folder, name)}`);
  const restore = (from: string, to: string) =>
    restoreStore({
      ...{ store: placeIn(to), file: from, as_copy: true, old: null },
      ...{ run: "run", clock: systemClock },
    });
  // Its queues would be sent again.
  const started = await rejectionOf(openStore(placeOf(`file:${file}`), systemClock));
  expect(String(started)).toContain("the file is a backup");
  await restore(file, "copy.db");
  const copy = await openStore(placeIn("copy.db"), systemClock);
  const names = statement(sql`select name, value from secrets order by name`)({});
  expect(await copy.read({ ...names, returns: "rows", read: (rows) => rows })).toEqual([
    ["first", value],
    ["second", value],
  ]);
  await copy.close();
  await store.close();

  // A backup that became a store by another version can be backed up and restored like any other.
  const used = join(folder, "used.db");
  copyFileSync(file, used);
  const database = new Database(used);
  database.run("pragma journal_mode = wal");
  database.run("insert into secrets (name, value) values ('third', '')");
  database.close();
  const third = await backupStore({
    ...{ store: placeIn("used.db"), file: join(folder, "third.db") },
    ...{ keep: null, clock: systemClock },
  });
  expect(third.rows).toBe(second.rows + 1);
  expect(await restore(used, "again.db")).toMatchObject({ rows: third.rows, made_at: null });
});

test.skipIf(STORE_KIND !== "embedded")(
  "what a restore writes for a server lies in a folder for this user alone, and not longer than it runs",
  async () => {
    const parent = tempFolder();
    const killed = join(parent, `relay-restore-${HOST}-${Bun.spawnSync(["true"]).pid}-x1y2z3`);
    const running = join(parent, `relay-restore-${HOST}-${process.ppid}-x1y2z3`);
    for (const path of [killed, running]) mkdirSync(path);
    writeFileSync(join(killed, "relay.db"), "");
    const folders = await Promise.all([1, 2].map(() => createPrivateFolder(parent)));
    expect(new Set(folders).size).toBe(2);
    for (const path of folders) expect(statSync(path).mode & 0o777).toBe(0o700);
    expect([killed, running].map((path) => existsSync(path))).toEqual([false, true]);
    await Promise.all(folders.map(removeFolder));
    expect(readdirSync(parent)).toEqual([basename(running)]);
  },
);

test.skipIf(STORE_KIND !== "server")(
  "a backup from a replica has all that its primary had, or fails",
  async () => {
    const grpc = `127.0.0.1:${freePort()}`;
    const { url } = await createTestStore(["--grpc-listen-addr", grpc]);
    const link = await startCutProxy(`http://${grpc}`);
    const replica = await startSqld(tempFolder(), ["--primary-grpc-url", link.url]);
    const place = { url, auth_token: undefined };
    const store = await openStore(place, systemClock);
    const file = join(tempFolder(), "relay.db");
    // A minute is a second.
    const after: Clock["after"] = (seconds, run) => systemClock.after(seconds / 60, run);
    const backup = (replica_url: string) =>
      backupStore({
        store: { ...place, replica_url },
        file,
        keep: null,
        clock: { ...systemClock, after },
      });
    const names = () => {
      const copy = new Database(file, { readonly: true });
      const rows = copy.query<{ name: string }, []>("select name from secrets order by 1").all();
      copy.close();
      return rows.map(({ name }) => name);
    };
    await store.write([add({ name: "signing", value: "one" })]);
    await backup(replica.url);
    expect(names()).toEqual(["signing"]);

    link.down();
    await store.write([add({ name: "later", value: "two" })]);
    // A replica that has just lost its primary may also close the connection.
    expect(String(await rejectionOf(backup(replica.url)))).toMatch(
      /the replica (sent .* 60 seconds: it does not get the changes|cannot be reached)/,
    );
    expect(names()).toEqual(["signing"]);
    link.up();
    await until(async () => {
      await backup(replica.url);
      return true;
    });
    expect(names()).toEqual(["later", "signing"]);

    const other = await createTestStore();
    expect(String(await rejectionOf(backup(other.url)))).toContain("is no replica of the store");
    // Nor is a copy, such as the server that the store was moved away from, even with more changes of its own.
    const former = await openStore(placeOf(other.url), systemClock);
    await former.write([add({ name: "signing", value: "one" })]);
    for (let i = 0; i < 20; i++) await former.write([add({ name: `own ${i}`, value: "" })]);
    await former.close();
    expect(String(await rejectionOf(backup(other.url)))).toContain("is no replica of the store");
    await replica.kill();
    expect(String(await rejectionOf(backup(replica.url)))).toContain(
      "the replica cannot be reached",
    );
    await store.close();
  },
);

test.skipIf(STORE_KIND !== "server")(
  "a libSQL server that trickles bytes makes a backup fail in a minute, and nothing is left of it",
  async () => {
    const { promise: stream, resolve } =
      Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
    const body = () => new ReadableStream<Uint8Array>({ start: resolve });
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(body()) });
    const clock = createTestClock();
    let waits = 0;
    const after: Clock["after"] = (seconds, run) => {
      waits++;
      return clock.after(seconds, run);
    };
    const folder = tempFolder();
    const store = placeOf(`http://127.0.0.1:${server.port}`);
    const file = join(folder, "relay.db");
    const refusal = rejectionOf(backupStore({ store, file, keep: 2, clock: { ...clock, after } }));
    const controller = await stream;
    const before = waits;
    for (let byte = 1; byte <= 8; byte++) {
      await clock.skip(7);
      controller.enqueue(new Uint8Array([0x20]));
      // The head of the answer has come, and each byte until now: it waits for the next.
      await until(() => waits === before + 1 + byte);
    }
    await clock.skip(7);
    expect(String(await refusal)).toContain("sent only 8 bytes in 60 seconds");
    expect(readdirSync(folder)).toEqual([]);
    await server.stop(true);
  },
);

test("it keeps the newest backups, and touches nothing else", async () => {
  const { url } = await createTestStore();
  const place = { url, auth_token: undefined };
  const folder = tempFolder();
  const file = join(folder, "relay.db");
  const mine = join(folder, "relay-20200101T000000Z.db");
  writeFileSync(mine, "not a backup");
  writeFileSync(file, "not a backup either");
  let now = Date.UTC(2026, 10, 26, 3) / 1000;
  const clock = { ...systemClock, now: () => now };
  const backup = (keep: number | null, to = file) =>
    backupStore({ store: place, file: to, keep, clock });
  for (let day = 0; day < 3; day++) {
    await backup(2);
    now += 86_400;
  }
  // The clock was set back. What the other clock made is counted apart.
  now -= 10 * 86_400;
  expect((await backup(2)).removed).toEqual([]);
  // A run that stood still leaves what another process made meanwhile.
  const times = [now - 60];
  const stood = { ...clock, now: () => times.pop() ?? now };
  const old = await backupStore({ store: place, file, keep: 1, clock: stood });
  expect(old.removed).toEqual([join(folder, "relay-20261127T030000Z.db")]);
  unlinkSync(old.file);
  const names = ["relay-20261119T030000Z.db", "relay-20261128T030000Z.db"];
  expect((await listBackups(file, { secret: null, vault: PLAIN })).map((one) => one.file)).toEqual(
    names.toReversed().map((name) => join(folder, name)),
  );
  expect(readdirSync(folder).sort()).toEqual(["relay-20200101T000000Z.db", ...names, "relay.db"]);

  const refusal = await rejectionOf(backup(null));
  expect(String(refusal)).toContain("is no backup of Relay");
  symlinkSync(join(folder, "nothing"), join(folder, "link"));
  expect(String(await rejectionOf(backup(null, join(folder, "link"))))).toContain("is a link");
  symlinkSync(join(folder, names[0]!), join(folder, "linked.db"));
  const linked = await backup(null, join(folder, "linked.db"));
  expect(linked.file).toBe(join(folder, names[0]!));
  // With the time in the name, it is a backup of its own.
  const timed = await backup(1, join(folder, "linked.db"));
  expect(timed.file).toBe(join(folder, "linked-20261119T030000Z.db"));

  // Another store with backups of the same name, and an encrypted file, whose header says nothing.
  const theirs = await createTestStore();
  const encryption_key = new Uint8Array(32).fill(7);
  const used = await openStore(placeOf(theirs.url), systemClock);
  await sharedSecret(used, "signing", "another secret");
  await used.close();
  const other = (to: string, keep: number | null) =>
    backupStore({ store: placeOf(theirs.url), file: to, keep, clock });
  now += 86_400;
  // Both in one second, as when cron starts them: each gets a name of its own.
  const [first, second] = await Promise.all([backup(9), other(file, 9)]);
  expect(first.file).not.toBe(second.file);
  for (const { file } of [first, second]) unlinkSync(file);
  expect(String(await rejectionOf(backup(2, `${folder}/`)))).toContain("is a folder");
  expect((await other(file, 1)).removed).toEqual([]);
  expect((await backup(1)).removed).toEqual([join(folder, names[0]!)]);
  expect(await listBackups(file, { secret: "another secret", vault: PLAIN })).toHaveLength(1);
  const taken = String(await rejectionOf(other(join(folder, names[1]!), null)));
  expect(taken).toContain("is a backup of another store");
  const encrypted = join(folder, "encrypted.db");
  const connection = openConnection(encrypted, 0, createVault(encryption_key).file_key);
  connection.exec("create table relay_migrations (hash)");
  connection.close();
  for (const key of [undefined, encryption_key]) {
    const store = { ...placeOf(url), encryption_key: key };
    const attempt = backupStore({ store, file: encrypted, keep: null, clock });
    expect(String(await rejectionOf(attempt))).toContain("encrypted.db exists, and is no backup");
  }
  if (!url.startsWith("file:")) return;
  const path = url.slice("file:".length);
  const open = await openStore(placeOf(url), systemClock);
  symlinkSync(path, join(folder, "store.db"));
  const linked_store = placeOf(`file:${join(folder, "store.db")}`);
  for (const given of [path, `${path}-wal`]) {
    for (const store of [placeOf(url), linked_store]) {
      const itself = await rejectionOf(backupStore({ store, file: given, keep: null, clock }));
      expect(String(itself)).toContain("is the store itself");
    }
  }
  await open.close();
});
