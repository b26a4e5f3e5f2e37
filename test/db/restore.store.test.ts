/** Restored stores: they send nothing again, and accept nothing that was replaced; and moves between places. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createClient } from "@libsql/client";
import { backupStore } from "../../db/backup/backup.ts";
import { listBackups } from "../../db/backup/list.ts";
import { moveStore } from "../../db/backup/move.ts";
import { restoreStore } from "../../db/backup/restore.ts";
import { tablesOf } from "../../db/backup/server-writer.ts";
import { sharedSecret } from "../../db/secrets.ts";
import { endpointOf } from "../../db/store/hrana.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { createVault } from "../../db/store/vault.ts";
import { systemClock } from "../../src/clock.ts";
import { createLog } from "../../src/log.ts";
import { startTestApp, type TestApp } from "../support/app.ts";
import { ask, client, createAgent, createPerson, pair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startNtfy } from "../support/ntfy.ts";
import { startReceiver } from "../support/receiver.ts";
import { rejectionOf } from "../support/rejection.ts";
import { startSqld } from "../support/sqld.ts";
import { createEmptyStore, createTestStore, STORE_KIND } from "../support/store.ts";
import { tempFolder } from "../support/temp.ts";

let runs = 0;
const placeOf = (url: string) => ({ url, auth_token: undefined });
const ofStore = (url: string) => ({ store: placeOf(url), clock: systemClock });
/** Restores into a new place of this run's kind. */
async function restore(file: string, more: { as_copy?: boolean; old?: string } = {}) {
  const { url } = await createEmptyStore();
  const { as_copy = false, old = null } = more;
  const run = `run ${++runs}`;
  return { url, ...(await restoreStore({ ...ofStore(url), file, as_copy, old, run })) };
}

test("a restored store sends nothing again and accepts no token replaced since; a copy does [§2.11.2]", async () => {
  const clock = createTestClock();
  const receiver = startReceiver();
  const ntfy = await startNtfy();
  const { url } = await createTestStore();
  const settle = async (app: TestApp, seconds = 0) => {
    for (let left = seconds; left >= 0; left -= 20) {
      await app.webhooks.settled();
      await app.sender.settled();
      if (left > 0) await clock.skip(20);
      await app.jobs.settled();
    }
    await app.webhooks.settled();
    await app.sender.settled();
  };
  const app = await startTestApp({ clock, database_url: url, jitter: () => 0.5 });
  const person = await createPerson(app.url);
  const agent = await createAgent(app.url, person);
  const other = await pair(app.url, person);
  const blocked = await createPerson(app.url);
  const hook = { type: "webhook", label: "CI", url: receiver.url("/hook") };
  const phone = { type: "ntfy", label: "Phone", url: `${ntfy.url}/topic` };
  for (const one of [hook, phone]) await person.send("POST /v1/channels", one);
  await settle(app);
  receiver.behave(() => 503);
  ntfy.behave(503);
  const question = await ask(agent.send);
  await settle(app);
  const told = async (send: typeof person.send) =>
    (await send(`GET /v1/questions/${question.id}/deliveries`)).body.deliveries
      .map(({ target, status, reason }: any) => `${target.label} ${status} ${reason}`)
      .sort();
  expect(await told(person.send)).toEqual(["CI queued null", "Phone queued null"]);

  const file = join(tempFolder(), "relay.db");
  await backupStore({ ...ofStore(url), file, keep: null });
  receiver.behave(() => 200);
  ntfy.behave("ok");
  const count = (): [hooks: number, messages: number] => [
    receiver.got.filter((one) => one.data.question?.id === question.id && one.status === 200)
      .length,
    ntfy.published.filter(({ message }) => message?.includes(question.prompt)).length,
  ];
  const before = count();
  await settle(app, 600);
  const [hooks, messages] = count();
  expect([hooks - before[0], messages - before[1]]).toEqual([1, 1]);
  await person.send(`DELETE /v1/sessions/${other.session.id}`);
  const { secret } = (await person.send(`POST /v1/keys/${agent.key.id}/secret`, {})).body;
  await app.services.people.setBlocked(
    blocked.account.id,
    true,
    createLog("error", () => {}),
  );
  const old = join(tempFolder(), "old.db");
  await backupStore({ ...ofStore(url), file: old, keep: null });
  await app.stop();

  const restored = await restore(file, { old });
  expect(restored.forgotten).toMatchObject({ notifications: 1, webhook_messages: 1, replaced: 1 });
  const again = await startTestApp({ clock, database_url: restored.url, jitter: () => 0.5 });
  await settle(again, 600);
  expect(count()).toEqual([hooks, messages]);
  const as = (token: string) => client(again.url, token);
  const status = async (token: string) => (await as(token)("GET /v1/tasks")).status;
  expect(await told(as(person.token))).toEqual(["CI failed restored", "Phone failed restored"]);
  const credentials = [person.token, other.token, agent.secret, secret, blocked.token];
  expect(await Promise.all(credentials.map(status))).toEqual([200, 401, 401, 200, 403]);
  // It goes on with new questions.
  await ask(as(secret), { prompt: "And now?" });
  await settle(again, 60);
  expect(ntfy.published.filter(({ message }) => message?.includes("And now?"))).toHaveLength(1);
  await again.stop();

  const copy = await restore(file, { as_copy: true });
  const twin = await startTestApp({ clock, database_url: copy.url, jitter: () => 0.5 });
  await settle(twin, 600);
  expect(count()).toEqual([hooks + 1, messages + 1]);
  expect((await client(twin.url, other.token)("GET /v1/tasks")).status).toBe(200);
});

/** Texts and numbers of all sorts. */
const SAMPLE = `insert into secrets (name, value) values ('sample', 'a "text" of\n''two'' lines\t\\ é 🙂 <\u2028>');
  insert into tasks (id, key_id, account_id, title, description, status, priority, notify, source, created_at, updated_at, revision, progress)
    with recursive c(n) as (select 1 union all select n + 1 from c where n < 2500)
    select 'tsk_' || n, 'key', 'acc', n || char(10), hex(randomblob(300)), 'todo', 'low', 1, 'agent', n * 1000000000, n, 'r', case when n % 2 then n % 100 end from c`;

/** Another process that has the file open, as a Relay has. */
const HOLDER = `const db = new (require("bun:sqlite").Database)(process.argv[1]);
  db.query("select count(*) from relay_migrations").get();
  console.log("open");
  setInterval(() => {}, 1000);`;

test("moving to the other kind of store and back loses nothing, and refuses a place in use", async () => {
  const { url } = await createTestStore();
  const folder = tempFolder();
  const move = (from: string, to: string) =>
    moveStore({ from: placeOf(from), to: placeOf(to), run: `run ${++runs}`, clock: systemClock });
  const file = `file:${join(folder, "moved.db")}`;
  if (STORE_KIND === "embedded") {
    const path = url.slice("file:".length);
    // Not by the binding: it keeps the locks of a closed connection until its statements are collected.
    const database = new Database(path);
    database.run(SAMPLE);
    database.close();
    const holder = Bun.spawn([process.execPath, "-e", HOLDER, path], { stdout: "pipe" });
    await holder.stdout.getReader().read();
    expect(String(await rejectionOf(move(url, file)))).toContain("stop it first");
    holder.kill();
    await holder.exited;
  } else {
    await createClient({ url }).executeMultiple(SAMPLE);
  }
  const first = await move(url, file);
  expect(first.rows).toBeGreaterThan(2_500);
  expect(String(await rejectionOf(move(url, file)))).toContain("exists; move it away first");
  const { url: back } = await startSqld();
  // A move that was cut off: no Relay starts there, and the next move begins anew.
  await createClient({ url: back }).batch([
    "create table relay_restoring (run text)",
    "insert into relay_restoring values ('before')",
    "create table tasks (id text)",
  ]);
  expect(String(await rejectionOf(openStore(placeOf(back), systemClock)))).toContain(
    "is not complete",
  );
  expect(await move(file, back)).toMatchObject({ rows: first.rows, tables: first.tables });
  expect(String(await rejectionOf(move(file, back)))).toContain("has tables");
  const third = `file:${join(folder, "third.db")}`;
  expect(await move(back, third)).toMatchObject({ rows: first.rows });
});

test("no Relay starts in a place where a restore is under way, failed or was cut off, until one is complete [§11.4.7]", async () => {
  const { url } = await createTestStore();
  const file = join(tempFolder(), "relay.db");
  await backupStore({ ...ofStore(url), file, keep: null });
  const place = await createEmptyStore();
  const refusal = async () => String(await rejectionOf(openStore(placeOf(place.url), systemClock)));
  const restoreTo = (from: string, target: string, clock = systemClock) =>
    restoreStore({
      ...{ store: placeOf(target), file: from, as_copy: true, old: null, run: `run ${++runs}` },
      clock,
    });
  // It is marked before the backup is read, which may take minutes, and stays so after a failure or a kill.
  const marked: Promise<boolean>[] = [];
  const now = () => {
    marked.push(isMarked(place.url));
    return systemClock.now();
  };
  const bad = join(tempFolder(), "bad.db");
  const broken = new Database(bad);
  broken.run("create table relay_migrations (hash text)");
  broken.close();
  const refused = await rejectionOf(restoreTo(bad, place.url, { ...systemClock, now }));
  expect(String(refused)).toContain("is no copy of a store");
  expect(await Promise.all(marked)).toContain(true);
  expect(await refusal()).toMatch(/is not complete; run it again, or delete .* if you want a new/);
  // Also if the disk of the backup is missing, or of what is to be moved.
  const next = await createEmptyStore();
  const move = { from: placeOf(`file:${bad}.none`), to: placeOf(next.url), clock: systemClock };
  for (const [{ url }, failing] of [
    [place, () => restoreTo(`${bad}.none`, place.url)],
    [next, () => moveStore({ ...move, run: `run ${++runs}` })],
  ] as const) {
    expect(String(await rejectionOf(failing()))).toContain("there is no");
    expect(await isMarked(url)).toBe(true);
  }
  for (const { url } of [place, next]) {
    await restoreTo(file, url);
    expect(await isMarked(url)).toBe(false);
    await (await openStore(placeOf(url), systemClock)).close();
  }
});

/** True if a place says that a store is being restored there. */
async function isMarked(url: string): Promise<boolean> {
  if (STORE_KIND === "server") {
    const found = tablesOf(endpointOf(url, undefined), { clock: systemClock });
    return (await found.catch((): string[] => [])).includes("relay_restoring");
  }
  return readdirSync(dirname(url.slice("file:".length))).some((name) =>
    name.includes(".unfinished."),
  );
}

test("it refuses what is no backup, a damaged one, and one of a later version", async () => {
  const { url } = await createTestStore();
  const store = await openStore(placeOf(url), systemClock);
  const folder = tempFolder();
  const file = join(folder, "relay.db");
  const refusal = async (path: string) => String(await rejectionOf(restore(path)));
  await backupStore({ ...ofStore(url), file, keep: null });
  const good = new Uint8Array(await Bun.file(file).arrayBuffer());
  const bad = join(folder, "bad.db");
  writeFileSync(bad, good.slice(0, good.length - 20 * 4096));
  expect(await refusal(bad)).toMatch(/damaged|cannot be/);
  writeFileSync(bad, "text");
  expect(await refusal(bad)).toContain("is not a database");
  expect(await refusal(join(folder, "none.db"))).toContain("there is no file");
  await store.write([statement(sql`update store_facts set value = '99.0.0'`)({})]);
  await backupStore({ ...ofStore(url), file, keep: null });
  expect(await refusal(file)).toContain("needs version 99.0.0 or later");
  await store.close();
});

test.skipIf(STORE_KIND !== "embedded")(
  "the old store may be on a disk that is read-only, as it was stopped or killed",
  async () => {
    const { url } = await createTestStore();
    const folder = tempFolder();
    const disk = tempFolder();
    const file = join(folder, "relay.db");
    const used = await openStore(placeOf(url), systemClock);
    await sharedSecret(used, "signing", "secret");
    await backupStore({ ...ofStore(url), file, keep: null });
    const path = url.slice("file:".length);
    const link = join(folder, "linked.db");
    symlinkSync(path, link);
    for (const one of [path, link]) {
      expect(String(await rejectionOf(restore(one)))).toContain("is in use or was killed");
    }
    for (const end of ["", "-wal", "-shm"]) copyFileSync(path + end, join(disk, `killed.db${end}`));
    copyFileSync(join(disk, "killed.db"), join(disk, "lost.db"));
    copyFileSync(join(disk, "killed.db-wal"), join(disk, "lost.db-wal"));
    await used.close();
    copyFileSync(path, join(disk, "stopped.db"));
    const script = `mount --bind -o ro "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"`;
    const user = process.getuid?.() === 0 ? [] : ["--map-root-user"];
    const code = `const [file, disk, folder] = process.argv.slice(1);
      const load = (name) => import("${join(import.meta.dir, "../../db/backup")}/" + name + ".ts");
      const [{ restoreStore }, { backupStore }, { moveStore }] =
        await Promise.all(["restore", "backup", "move"].map(load));
      const { systemClock: clock } = await import("${join(import.meta.dir, "../../src/clock.ts")}");
      const place = (path) => ({ url: "file:" + path, auth_token: undefined });
      const tell = (run) => run.then(() => "done", (error) => error.message).then(console.log);
      const from = (old) => restoreStore({ store: place(folder + "/from-" + old), file, as_copy: false,
        old: disk + "/" + old, run: "run", clock });
      for (const old of ["stopped.db", "killed.db", "lost.db"]) await tell(from(old));
      const stopped = place(disk + "/stopped.db");
      await tell(backupStore({ store: stopped, file: folder + "/copy.db", keep: null, clock }));
      await tell(moveStore({ from: stopped, to: place(folder + "/moved.db"), run: "run", clock }));`;
    const child = Bun.spawn(
      [
        ...["unshare", "--mount", ...user, "sh", "-c", script, disk],
        ...[process.execPath, "-e", code, file, disk, folder],
      ],
      { env: { PATH: process.env.PATH ?? "" } },
    );
    expect((await new Response(child.stdout).text()).trim().split("\n")).toEqual([
      "done",
      "done",
      expect.stringContaining("lost.db-wal has changes, and its folder may not be written"),
      "done",
      expect.stringContaining("stopped.db cannot be written"),
    ]);
  },
);

test("with an encryption key, backups are encrypted, known as backups, and restored with the key only", async () => {
  const { url } = await createEmptyStore();
  const encryption_key = new Uint8Array(32).fill(7);
  const place = { ...placeOf(url), encryption_key };
  const used = await openStore(place, systemClock);
  await sharedSecret(used, "signing", "secret");
  await used.close();
  const folder = tempFolder();
  const file = join(folder, "relay.db");
  for (let day = 0; day < 3; day++) {
    const clock = { ...systemClock, now: () => systemClock.now() + day * 86_400 };
    await backupStore({ store: place, file, keep: 2, clock });
  }
  const [newest, ...others] = await listBackups(file, {
    secret: "secret",
    vault: createVault(encryption_key),
  });
  expect(others).toHaveLength(1);
  expect(await Bun.file(newest!.file).text()).not.toContain("relay_migrations");
  const restoreWith = (key: Uint8Array | undefined, name: string, old: string | null) =>
    restoreStore({
      store: { url: `file:${join(folder, name)}`, auth_token: undefined, encryption_key: key },
      file: newest!.file,
      as_copy: false,
      old,
      run: "run",
      clock: systemClock,
    });
  const wrong = new Uint8Array(32).fill(8);
  for (const key of [wrong, undefined]) {
    expect(String(await rejectionOf(restoreWith(key, "wrong.db", null)))).toContain(
      "is not a database, or",
    );
  }
  expect(await restoreWith(encryption_key, "again.db", newest!.file)).toMatchObject({
    forgotten: { ended: 0 },
  });
  const store = await openStore(
    { url: `file:${join(folder, "again.db")}`, auth_token: undefined, encryption_key },
    systemClock,
  );
  await store.close();
});
