/** The files of an embedded store: what a stop leaves behind, and what a start refuses to touch. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { openConnection } from "../../db/store/connection.ts";
import { client, createPair, createTask } from "../support/client.ts";
import { measureSlowdown } from "../support/cpu-share.ts";
import { failToStart, type RelayProcess, startProcess } from "../support/process.ts";
import { STORE_KIND } from "../support/store.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";

const embedded = test.if(STORE_KIND === "embedded");

const start = (path: string) => startProcess({ DATABASE_URL: `file:${path}` });

/** How a start on this file ended, without the words that every refusal has. */
async function refusalOf(path: string): Promise<string> {
  const { code, said } = await failToStart({ DATABASE_URL: `file:${path}` });
  expect([code, said.split("\n").length]).toEqual([1, 1]);
  expect(said).toStartWith("Relay cannot start: DATABASE_URL: ");
  return said.slice("Relay cannot start: DATABASE_URL: ".length);
}

async function stop(relay: RelayProcess): Promise<void> {
  relay.kill("SIGTERM");
  expect(await relay.exited).toBe(0);
}

/** Every file of a folder with its content. */
const contentsOf = (folder: string) =>
  readdirSync(folder)
    .sort()
    .map((name) => [name, readFileSync(join(folder, name)).toString("base64")]);

/** A store that a killed process left, and the credential of an agent with a task in it. */
async function killedStore(rows: number) {
  const path = join(tempFolder(), "relay.db");
  const relay = await start(path);
  const { agent } = await createPair(relay.url);
  for (let i = 0; i < rows; i++) await createTask(agent.send, { title: "x".repeat(200) });
  const task = await createTask(agent.send, { title: "Newest" });
  relay.kill();
  await relay.exited;
  return { path, agent, task };
}

embedded(
  "after a stop, the database file alone is the whole store [§11.4.8]",
  async () => {
    const path = join(tempFolder(), "relay.db");
    const [first, second] = [await start(path), await start(path)];
    const { agent } = await createPair(first.url);
    const task = await createTask(agent.send, { title: "Kept" });
    // The first to stop leaves the store to the other, which is not disturbed.
    await stop(first);
    const by_second = client(second.url, agent.secret);
    const later = await createTask(by_second, { title: "Later" });
    await stop(second);
    expect(statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);

    const copy = join(tempFolder(), "relay.db");
    copyFileSync(path, copy);
    const send = client((await start(copy)).url, agent.secret);
    for (const one of [task, later]) {
      expect((await send(`GET /v1/tasks/${one.id}`)).body).toEqual(one);
    }
  },
  300_000,
);

embedded(
  "another program that reads the file does not hold up a stop [§11.4.8]",
  async () => {
    const path = join(tempFolder(), "relay.db");
    const relay = await start(path);
    const { agent } = await createPair(relay.url);
    const reader = new Database(path);
    reader.run("begin");
    const count = () => reader.query("select count(*) as tasks from tasks").get();
    const before = count();
    const task = await createTask(agent.send, { title: "Kept" });
    const allowed = await measureSlowdown();
    const from = performance.now();
    await stop(relay);
    const seconds = (performance.now() - from) / 1_000;
    expect(seconds).toBeLessThan(await allowed(8));
    expect(count()).toEqual(before);
    reader.run("commit");
    reader.close();
    const send = client((await start(path)).url, agent.secret);
    expect((await send(`GET /v1/tasks/${task.id}`)).body).toEqual(task);
  },
  300_000,
);

/** Each way to lose the file of a log, or to get another one. */
const ORPHANED: readonly (readonly [string, (path: string) => void])[] = [
  ["is missing", (path) => rmSync(path)],
  ["is empty", (path) => truncateSync(path)],
  [
    "was replaced by a copy that VACUUM made",
    (path) => {
      const whole = `${path}.whole`;
      for (const end of ["", "-wal"]) copyFileSync(path + end, whole + end);
      const database = new Database(whole);
      database.run(`vacuum into '${path}.copy'`);
      database.close();
      for (const end of ["", "-wal", "-shm"]) rmSync(whole + end, { force: true });
      renameSync(`${path}.copy`, path);
    },
  ],
  ["was replaced by an older copy", (path) => copyFileSync(`${path}.older`, path)],
];

embedded.each(ORPHANED)(
  "a log whose file %s is refused and kept until the file is back [§11.4.7]",
  async (_, lose) => {
    const { path, agent, task } = await killedStore(0);
    // The log from here on does not reach back to the older copy.
    const database = new Database(path);
    database.run("pragma wal_checkpoint(truncate)");
    database.close();
    copyFileSync(path, `${path}.older`);
    const relay = await start(path);
    const send = client(relay.url, agent.secret);
    for (let i = 0; i < 60; i++)
      await createTask(send, { title: "x".repeat(200), description: "y".repeat(4_000) });
    relay.kill();
    await relay.exited;
    const moved = new Database(path);
    moved.run("pragma wal_checkpoint(restart)");
    moved.run("insert into store_facts values ('test', 'frames of a new log')");
    copyFileSync(path, `${path}.right`);
    const log = readFileSync(`${path}-wal`);
    moved.close();
    writeFileSync(`${path}-wal`, log);
    rmSync(`${path}-shm`, { force: true });
    lose(path);

    expect(await refusalOf(path)).toContain("relay.db-wal");
    expect(readFileSync(`${path}-wal`)).toEqual(log);
    copyFileSync(`${path}.right`, path);
    rmSync(`${path}-shm`, { force: true });
    const again = client((await start(path)).url, agent.secret);
    expect((await again(`GET /v1/tasks/${task.id}`)).body).toEqual(task);
  },
  300_000,
);

embedded(
  "the log of another Relay store is refused and kept, even if both have the same size [§11.4.7]",
  async () => {
    const path = join(tempFolder(), "relay.db");
    const relay = await start(path);
    const { agent } = await createPair(relay.url);
    const task = await createTask(agent.send, { title: "Kept" });
    await stop(relay);
    const other = await killedStore(0);
    for (const end of ["-wal", "-shm"]) {
      rmSync(path + end, { force: true });
      copyFileSync(other.path + end, path + end);
    }
    const [file, log] = [readFileSync(path), readFileSync(`${path}-wal`)];
    expect(await refusalOf(path)).toContain("belongs to another file");
    expect([readFileSync(path).equals(file), readFileSync(`${path}-wal`).equals(log)]).toEqual([
      true,
      true,
    ]);
    for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true });
    const send = client((await start(path)).url, agent.secret);
    expect((await send(`GET /v1/tasks/${task.id}`)).body).toEqual(task);
  },
  300_000,
);

embedded(
  "a store whose process was killed starts from its file and log, or from copies of both",
  async () => {
    const { path, agent, task } = await killedStore(60);
    const folder = tempFolder();
    for (const end of ["", "-wal"]) copyFileSync(path + end, join(folder, `relay.db${end}`));
    const link = join(tempFolder(), "linked.db");
    symlinkSync(path, link);
    for (const one of [join(folder, "relay.db"), link]) {
      const send = client((await start(one)).url, agent.secret);
      expect((await send(`GET /v1/tasks/${task.id}`)).body).toEqual(task);
    }
  },
  300_000,
);

embedded(
  "another program that closes the file, as after a backup, leaves the log of running processes alone",
  async () => {
    const { path, agent } = await killedStore(0);
    // Each program finds a log with changes in it.
    const [first, second] = [await start(path), await start(path)];
    const log = statSync(`${path}-wal`).ino;
    const backUp = (name: string) => {
      // Unlike Bun's SQLite, this program deletes the log if it finds no other lock.
      const database = openConnection(path, 0);
      database.exec(`vacuum into '${join(tempFolder(), name)}'`);
      database.close();
    };
    for (const relay of [first, second]) {
      backUp("backup.db");
      await createTask(client(relay.url, agent.secret), { title: "Kept" });
      expect(statSync(`${path}-wal`, { throwIfNoEntry: false })?.ino).toBe(log);
      await stop(relay);
    }
  },
  300_000,
);

embedded(
  "the database of another program is refused, and nothing is written [§11.4.7]",
  async () => {
    for (const mode of ["delete", "wal"] as const) {
      for (const ends of ["closed", "killed"] as const) {
        const folder = tempFolder();
        const path = join(folder, "relay.db");
        const source = join(tempFolder(), "other.db");
        const database = new Database(source);
        database.run(`pragma journal_mode = ${mode}`);
        database.run("create table notes (text text)");
        if (ends === "closed") database.close();
        for (const end of ["", "-wal"]) {
          if (existsSync(source + end)) copyFileSync(source + end, path + end);
        }
        const before = contentsOf(folder);
        expect(await refusalOf(path)).toContain("another program");
        const after = contentsOf(folder).filter(([name]) => name !== "relay.db-shm");
        expect([mode, ends, after]).toEqual([mode, ends, before]);
      }
    }
  },
  300_000,
);

embedded(
  "a path that is not a regular file is refused, and an interrupted first start continues",
  async () => {
    const folder = tempFolder();
    mkdirSync(join(folder, "a.db"));
    expect(await refusalOf(join(folder, "a.db"))).toStartWith("a folder, not a database (");
    expect(await refusalOf("/dev/null")).toStartWith("not a regular file, not a database (");
    // After the file was created, after WAL mode was turned on, and after the first table.
    for (const texts of [
      [],
      ["pragma journal_mode = wal"],
      [
        "pragma journal_mode = wal",
        "create table relay_migrations (hash text primary key, applied_at integer not null)",
      ],
    ]) {
      const path = join(tempFolder(), "relay.db");
      writeFileSync(path, "");
      const database = new Database(path);
      for (const text of texts) database.run(text);
      database.close();
      const relay = await start(path);
      expect(relay.output()).toContain(`\nCreated a new, empty store: ${path}\n`);
      await createPair(relay.url);
    }
  },
  300_000,
);

embedded(
  "a start says when it creates a new store, and where [§11.4.7]",
  async () => {
    const folder = tempFolder();
    const path = join(folder, "relay.db");
    const first = await start(path);
    expect(first.output()).toContain(`\nCreated a new, empty store: ${path}\n`);
    await until(() => first.log().includes('"event":"store created"'));
    await stop(first);
    const again = await start(path);
    expect(again.output()).not.toContain("Created");
    expect(again.log()).not.toContain("store created");
  },
  300_000,
);
