/** Faults of an embedded store: what clients, the log, /health and /metrics report. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { createFaultLog } from "../../db/store/faults.ts";
import { HranaError } from "../../db/store/hrana.ts";
import { isAway, unavailable } from "../../db/store/store.ts";
import { cannotOpen } from "../../src/config-files.ts";
import { createLog } from "../../src/log.ts";
import { client, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { failToStart, startProcess } from "../support/process.ts";
import { STORE_KIND } from "../support/store.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";

const ADMIN_TOKEN = "x".repeat(32);
const embedded = test.if(STORE_KIND === "embedded");

/** Log lines of this event. */
const linesOf = (log: string, event: string): Record<string, unknown>[] =>
  log
    .split("\n")
    .filter((line) => line.includes(`"event":"${event}"`))
    .map((line) => JSON.parse(line));

const faultCount = async (url: string, kind: string): Promise<number> => {
  const answer = await fetch(`${url}/metrics`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  const found = new RegExp(`relay_store_faults_total\\{kind="${kind}"\\} (\\d+)`).exec(
    await answer.text(),
  );
  return Number(found?.[1]);
};

/** How a start on this store ended: its exit code and output. */
const startOf = (database_url: string, wrap?: readonly string[]) =>
  failToStart({ DATABASE_URL: database_url }, wrap);

/** Runs a command on a file system of its own with this many bytes, mounted at `folder`. */
const onSmallDisk = (folder: string, bytes: number): readonly string[] => [
  "unshare",
  ...(process.getuid?.() === 0 ? ["--mount"] : ["--mount", "--map-root-user"]),
  "sh",
  "-c",
  `mount -t tmpfs -o size=${bytes} tmpfs "$0" && exec "$@"`,
  folder,
];

test("each kind of fault is logged once, with the end of the outage and how long it took [§11.4.4]", async () => {
  const clock = createTestClock();
  const lines: string[] = [];
  const faults = createFaultLog({ clock, log: createLog("info", (line) => lines.push(line)) });
  const full = Object.assign(new Error("secret content"), { code: "SQLITE_FULL" });
  for (let i = 0; i < 5; i++) faults.report(unavailable(full));
  faults.report(unavailable(new TypeError("secret content")));
  await clock.advance(90);
  faults.report(unavailable(full));
  expect(faults.isOut()).toBe(true);
  // What a libSQL server says when its disk is full.
  faults.report(unavailable(new HranaError({ message: "disk I/O error", code: "SQLITE_IOERR" })));
  expect(faults.current()).toBe("disk full");
  faults.works();
  expect(faults.current()).toBeNull();
  faults.works();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: "error", event: "disk full", count: 1, code: "SQLITE_FULL" },
    // A mistake in the code shows where it is.
    { level: "error", event: "store unavailable", count: 1, at: expect.any(String) },
    { event: "store is back", after: "disk full, store unavailable", seconds: 90, count: 8 },
  ]);
  expect(JSON.parse(lines[0]!)).not.toHaveProperty("at");
  expect(faults.totals()).toMatchObject({ "disk full": 7, "store unavailable": 1, corrupt: 0 });
  expect(faults.isOut()).toBe(false);
  expect(lines.join("")).not.toContain("secret");
});

test("a start on a libSQL server that does not answer says so", () => {
  const why = "DATABASE_URL: the store cannot be opened: the server does not answer";
  for (const cause of [new DOMException("", "TimeoutError"), "the server does not answer"]) {
    const error = unavailable(cause);
    expect(cannotOpen("http://sqld:8080", error).message).toBe(why);
  }
});

test("an error of SQLite's binding that has only a number gets the kind of its family", () => {
  // A damaged index, and a folder in which no log can be created (https://sqlite.org/rescode.html).
  for (const [code, kind] of [
    [779, "corrupt"],
    [1544, "read-only"],
  ] as const) {
    const error = Object.assign(new Error(), { code: `UNKNOWN_SQLITE_ERROR_${code}` });
    expect([code, isAway(error)]).toEqual([code, true]);
    const faults = createFaultLog({ clock: createTestClock(), log: createLog("info", () => {}) });
    faults.report(unavailable(error));
    expect(faults.totals()[kind]).toBe(1);
    expect(cannotOpen("file:/srv/relay.db", error).message).toContain(
      kind === "corrupt" ? "damaged" : "at /srv/relay.db by the user",
    );
  }
});

embedded(
  "a full disk refuses writes but not reads, is reported, and recovers by itself",
  async () => {
    const folder = tempFolder();
    const app = await startProcess(
      { DATABASE_URL: `file:${folder}/relay.db`, ADMIN_TOKEN },
      onSmallDisk(folder, 6 * 1024 * 1024),
    );
    const { agent } = await createPair(app.url);
    const task = await createTask(agent.send, { title: "Kept" });
    const health = () => client(app.url)("GET /health");
    expect((await health()).status).toBe(200);

    // Only the process itself sees the file system, so it is reached through the process.
    const filler = `/proc/${app.pid}/root${folder}/filler`;
    const fill = openSync(filler, "w");
    try {
      for (;;) writeSync(fill, Buffer.alloc(4_096));
    } catch {
      closeSync(fill);
    }
    const refused = await until(async () => {
      const answer = await agent.send("POST /v1/tasks", { title: "x".repeat(200) });
      return answer.status === 503 && answer;
    });
    expect(refused.body.code).toBe("store_unavailable");
    expect((await agent.send(`GET /v1/tasks/${task.id}`)).body).toEqual(task);
    expect(await health()).toMatchObject({ status: 503, body: { store: "unavailable" } });
    expect(await faultCount(app.url, "disk full")).toBeGreaterThan(0);
    await until(() => linesOf(app.log(), "disk full").length > 0);
    expect(linesOf(app.log(), "disk full")).toHaveLength(1);
    const before = (await agent.send("GET /v1/tasks")).body.tasks;

    rmSync(filler);
    // No client writes meanwhile: the service notices by itself.
    await until(async () => (await health()).status === 200);
    expect((await agent.send("POST /v1/tasks", { title: "Again" })).status).toBe(201);
    expect((await agent.send("GET /v1/tasks")).body.tasks.slice(1)).toEqual(before);
    await until(() => linesOf(app.log(), "store is back").length === 1);
  },
  300_000,
);

embedded(
  "a start on a full disk, a foreign file or a folder that cannot be created stops",
  async () => {
    const disk = tempFolder();
    const full = await startOf(`file:${disk}/relay.db`, onSmallDisk(disk, 64 * 1024));
    expect(full).toEqual({
      code: 1,
      said: `Relay cannot start: DATABASE_URL: the store cannot be opened at ${disk}/relay.db: there is no room left on the disk (SQLITE_FULL)`,
    });

    const foreign = join(tempFolder(), "relay.db");
    writeFileSync(foreign, "This is no database.".repeat(500));
    const kept = readFileSync(foreign);
    expect(await startOf(`file:${foreign}`)).toEqual({
      code: 1,
      said: `Relay cannot start: DATABASE_URL: the store cannot be opened at ${foreign}: the file is not a database, or is encrypted (SQLITE_NOTADB)`,
    });
    expect(readFileSync(foreign)).toEqual(kept);
    const whole = new Database(join(tempFolder(), "whole.db"));
    whole.run("create table relay_migrations (hash)");
    whole.close();
    writeFileSync(foreign, readFileSync(whole.filename).subarray(0, 4_096));
    expect((await startOf(`file:${foreign}`)).said).toContain("the file is damaged or cut off");

    const nowhere = await startOf("file:/proc/relay/relay.db");
    expect(nowhere.code).toBe(1);
    expect(nowhere.said).toMatch(
      /^Relay cannot start: DATABASE_URL: the store cannot be opened at \/proc\/relay\/relay.db by the user \S.* \(ENOENT\)$/,
    );
  },
  300_000,
);

embedded(
  "a start on a read-only store stops with one line",
  async () => {
    const folder = tempFolder();
    const path = join(folder, "relay.db");
    const first = await startProcess({ DATABASE_URL: `file:${path}` });
    first.kill("SIGTERM");
    await first.exited;
    const [command, ...rest] = onSmallDisk(folder, 0);
    const read_only = rest.map((word) =>
      word.startsWith("mount")
        ? 'mount --bind -o ro "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
        : word,
    );
    const { code, said } = await startOf(`file:${path}`, [command!, ...read_only]);
    expect(code).toBe(1);
    expect(said).toMatch(
      /^Relay cannot start: DATABASE_URL: the store cannot be opened at \S+ by the user \S.* \(EROFS\)$/,
    );
  },
  300_000,
);

/** Each way to take the file away from a running server. */
const TAKEN: readonly (readonly [string, (path: string, link: string) => void])[] = [
  ["the file is deleted", (path) => rmSync(path)],
  ["the log beside the file is deleted", (path) => rmSync(`${path}-wal`)],
  ["the log of a linked file is deleted", (path) => rmSync(`${path}-wal`)],
  [
    "the link leads to another file",
    (path, link) => {
      copyFileSync(path, `${path}.copy`);
      rmSync(link);
      symlinkSync(`${path}.copy`, link);
    },
  ],
  [
    "the file is replaced by a copy",
    (path) => {
      copyFileSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
  ],
  ["the folder is moved away", (path) => renameSync(join(path, ".."), join(path, "../../moved"))],
  [
    "the folder is replaced by a file",
    (path) => {
      renameSync(join(path, ".."), join(path, "../../moved"));
      writeFileSync(join(path, ".."), "");
    },
  ],
];

embedded.each(TAKEN)(
  "once %s, nothing is acknowledged and the process ends with an error",
  async (name, take) => {
    const folder = join(tempFolder(), "store");
    mkdirSync(folder);
    const path = join(folder, "relay.db");
    const link = join(tempFolder(), "linked.db");
    symlinkSync(path, link);
    const app = await startProcess({ DATABASE_URL: `file:${name.includes("link") ? link : path}` });
    const { agent } = await createPair(app.url);
    take(path, link);
    // The check once a second may have come first: then the server no longer listens.
    const answer = await agent.send("POST /v1/tasks", { title: "Into nothing" }).catch(() => null);
    if (answer) expect(answer.status).toBe(503);
    expect(await app.exited).toBe(1);
    const [fault] = linesOf(app.log(), "file gone");
    expect(fault).toMatchObject({ level: "error" });
    expect(linesOf(app.log(), "ending")).toHaveLength(1);
  },
  300_000,
);

embedded(
  "a corrupt file is reported as such, and requests get no 500",
  async () => {
    const path = join(tempFolder(), "relay.db");
    const database_url = `file:${path}`;
    const first = await startProcess({ DATABASE_URL: database_url });
    const { agent } = await createPair(first.url);
    for (let i = 0; i < 40; i++) await createTask(agent.send, { title: "x".repeat(200) });
    first.kill("SIGTERM");
    await first.exited;
    // Moves the log into the file.
    const database = new Database(path);
    database.run("pragma wal_checkpoint(truncate)");
    database.close();

    const app = await startProcess({ DATABASE_URL: database_url, ADMIN_TOKEN });
    // Every page but the first, where the schema begins.
    const { size } = statSync(path);
    const file = openSync(path, "r+");
    writeSync(file, Buffer.alloc(size - 4_096, 0xa5), 0, size - 4_096, 4_096);
    closeSync(file);
    const send = client(app.url, agent.secret);
    const found = await until(async () => {
      const answer = await send("GET /v1/tasks?limit=500");
      return answer.status !== 200 && answer;
    });
    expect(found.body.code).toBe("store_unavailable");
    expect((await client(app.url)("GET /health")).status).toBe(503);
    expect((await send("POST /v1/tasks", { title: "No" })).status).toBe(503);
    expect(await faultCount(app.url, "corrupt")).toBeGreaterThan(0);
    await until(() => linesOf(app.log(), "corrupt").length > 0);
    expect(linesOf(app.log(), "corrupt")).toHaveLength(1);
    expect(linesOf(app.log(), "internal error")).toEqual([]);
  },
  300_000,
);

embedded("only the owner can read the store and its folder", async () => {
  const folder = join(tempFolder(), "made", "here");
  const path = join(folder, "relay.db");
  const app = await startProcess({ DATABASE_URL: `file:${path}` });
  await createPair(app.url);
  const modeOf = (name: string) => (statSync(name).mode & 0o777).toString(8);
  expect(modeOf(folder)).toBe("700");
  expect(modeOf(join(folder, ".."))).toBe("700");
  for (const end of ["", "-wal", "-shm"]) {
    expect(existsSync(path + end)).toBe(true);
    expect(modeOf(path + end)).toBe("600");
  }
});
