/** The request log in the store: how much is kept, for how long, and what a crash loses. */

import { expect, test } from "bun:test";
import { logOfKey } from "../../db/request-log.ts";
import { createRequestLogPruner } from "../../db/retention.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import type { Store } from "../../db/store/store.ts";
import { systemClock } from "../../src/clock.ts";
import { ServiceError } from "../../src/errors.ts";
import { createIds } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import { type KeyRequest, type PackedEntry, unpackEntry } from "../../src/model/request-log.ts";
import { createRequestLogWriter } from "../../src/services/request-log.ts";
import { startTestApp } from "../support/app.ts";
import { ask, client, createAgent, createPair, createTask } from "../support/client.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { apart, readAll } from "../support/entries.ts";
import { holdWriteLock } from "../support/lock.ts";
import { startProcess } from "../support/process.ts";
import { createTestStore, STORE_KIND } from "../support/store.ts";
import { until } from "../support/until.ts";
import { MARK } from "../support/wire.ts";

const DAY = 86_400;

async function open(url: string) {
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  return {
    store,
    /** Every stored entry with its key; of one key if it is named. */
    rows: async (key_id?: string) => {
      const where = key_id === undefined ? "" : ` where key_id = '${key_id}'`;
      const all = sql.raw(`select id, key_id, entries from request_log${where} order by at, id`);
      const blocks = await store.read(statement(all, { returns: "rows" })({}));
      return blocks.flatMap(([id, key_id, entries]) =>
        (JSON.parse(entries as string) as PackedEntry[]).map((packed, i) => ({
          key_id,
          ...unpackEntry(id as string, packed, i),
        })),
      );
    },
  };
}

/** Moves time until the log is written: entries that arrive during a write wait for the next one. */
const untilWritten = <T>(clock: TestClock, check: () => Promise<T>) =>
  until(async () => {
    await clock.advance(0.1);
    return check();
  });

test("the newest 200 log entries of each key are kept [§15.1.5] [§10.5 activity_per_key]", async () => {
  const { url: database_url } = await createTestStore();
  const clock = createTestClock();
  const app = await startTestApp({ clock, database_url });
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person);
  const { store, rows } = await open(database_url);
  await other.send("GET /v1/questions");
  for (let i = 0; i < 250; i++) {
    await agent.send(i === 49 ? "GET /v1/questions" : "GET /v1/tasks", undefined, apart());
    if (i % 10 === 9) await clock.advance(0.1);
  }
  const [first] = await untilWritten(clock, async () => {
    const items = await readAll(person.send, agent.key.id);
    // The 50th request was a different one: it is gone once all requests are in the log.
    const complete = items.every(({ action }) => action === "GET /v1/tasks");
    return items.length === 200 && complete && items.reverse();
  });
  // The 50 oldest are no longer among them, and the store soon deletes them.
  expect(first.at).toBeGreaterThan(agent.key.created_at + 0.45);
  for (let i = 0; i < 20; i++) await agent.send("HEAD /v1/tasks", undefined, apart());
  /** Waits until the newest entry has this action and few more than 200 are stored. */
  const settled = (action: string) =>
    untilWritten(clock, async () => {
      const stored = await rows(agent.key.id);
      const items = await readAll(person.send, agent.key.id);
      return stored.length < 260 && items[0]!.action === action && items;
    });
  const actions = (await settled("HEAD /v1/tasks")).map(({ action }) => action);
  expect(actions).toEqual([
    ...Array(20).fill("HEAD /v1/tasks"),
    ...Array(180).fill("GET /v1/tasks"),
  ]);
  // One write with far more entries than are kept.
  for (let i = 0; i < 9; i++) {
    await Promise.all(
      Array.from({ length: 50 }, () => agent.send("GET /v1/questions", undefined, apart())),
    );
  }
  const burst = await settled("GET /v1/questions");
  expect(burst.map(({ action }) => action)).toEqual(Array(200).fill("GET /v1/questions"));
  // The entries of another key stay.
  expect((await rows(other.key.id)).length).toBe(1);
  await store.close();
});

test("a log entry is deleted after 7 days, and is hidden from then on [§15.1.5] [§10.5 activity_per_key]", async () => {
  const { url: database_url } = await createTestStore();
  const clock = createTestClock();
  const app = await startTestApp({ clock, database_url });
  const { person, agent } = await createPair(app.url);
  const agents = [agent, await createAgent(app.url, person), await createAgent(app.url, person)];
  const { store, rows } = await open(database_url);
  for (const { send } of agents) await send("GET /v1/tasks");
  const end = clock.now() + 7 * DAY;
  await untilWritten(clock, async () => (await rows()).length === 3);
  await app.jobs.settled();
  await clock.skip(6 * DAY);
  await app.jobs.settled();
  await agent.send("GET /v1/questions");
  await untilWritten(clock, async () => (await readAll(person.send, agent.key.id)).length === 2);

  await clock.skip(end - clock.now() - 0.1);
  await app.jobs.settled();
  expect((await readAll(person.send, agent.key.id)).length).toBe(2);
  await clock.advance(0.2);
  const [left, ...none] = await readAll(person.send, agent.key.id);
  expect([left.action, none]).toEqual(["GET /v1/questions", []]);
  // Hidden at once, and deleted by the job.
  await app.jobs.settled();
  await clock.skip(301);
  await app.jobs.settled();
  await until(async () => (await rows()).length === 1);
  expect((await rows(agent.key.id)).length).toBe(1);
  await store.close();
});

test("the job deletes a few log entries at a time, key by key [§15.1.5]", async () => {
  const { url: database_url } = await createTestStore();
  const clock = createTestClock();
  const app = await startTestApp({ clock, database_url });
  const { person, agent } = await createPair(app.url);
  const agents = [agent, await createAgent(app.url, person), await createAgent(app.url, person)];
  const { store, rows } = await open(database_url);
  for (let i = 1; i <= 5; i++) {
    for (const { send } of agents) await send("GET /v1/tasks", undefined, apart());
    await untilWritten(clock, async () => (await rows()).length === 3 * i);
  }
  const before = clock.now();
  await agent.send("GET /v1/tasks", undefined, apart());
  await untilWritten(clock, async () => (await rows()).length === 16);
  const prune = createRequestLogPruner(store);
  for (let more = true, count = 16; more; ) {
    more = await prune(before, 2);
    const left = (await rows()).length;
    expect(count - left).toBeLessThanOrEqual(2);
    count = left;
  }
  expect((await rows()).map(({ key_id }) => key_id)).toEqual([agent.key.id]);
  await store.close();
});

test("a list page of the log requires a live key of the account [§5.4.5] [§5.4.6(1)]", async () => {
  const { url: database_url } = await createTestStore();
  const clock = createTestClock();
  const app = await startTestApp({ clock, database_url });
  const { person, agent } = await createPair(app.url);
  const stranger = await createPair(app.url);
  await agent.send("GET /v1/tasks");
  const { store, rows } = await open(database_url);
  await untilWritten(clock, async () => (await rows()).length === 1);
  /** Reads as if after a lookup of the key, which may be deleted meanwhile. */
  const pageFor = ({ account }: typeof person) => {
    const of = { key_id: agent.key.id, account_id: account.id };
    return store.read(logOfKey({ ...of, since: 0, limit: 200 }));
  };
  expect((await pageFor(person)).length).toBe(1);
  expect(await pageFor(stranger.person)).toEqual([]);
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  expect((await rows()).length).toBe(1);
  expect(await pageFor(person)).toEqual([]);
  await store.close();
});

test("no log entry contains content or a credential [§2.8] [§15.1.4]", async () => {
  const { url: database_url } = await createTestStore();
  const clock = createTestClock();
  const app = await startTestApp({ clock, database_url });
  const { person, agent } = await createPair(app.url);
  const field = MARK.toLowerCase();
  const task = await createTask(agent.send, { title: MARK, description: MARK });
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status_note: MARK });
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: MARK, [field]: MARK, [MARK]: 1 });
  await agent.send(`GET /v1/tasks/${MARK}`);
  await agent.send(`GET /v1/tasks?cursor=${MARK}&status=${MARK}&${field}=1`);
  const asked = await ask(agent.send, { prompt: MARK, kind: "choice", options: [MARK, "b"] });
  await person.send(`POST /v1/questions/${asked.id}/answer`, { answer: MARK });
  await agent.send(`GET /v1/questions/${asked.id}?wait=1`);
  await agent.send(`POST /v1/questions/${asked.id}/answer`, { answer: MARK });
  const input = encodeURIComponent(JSON.stringify({ [MARK]: MARK, [field]: MARK }));
  await agent.send(`GET /trpc/tasks.list?input=${input}`);
  await agent.send("POST /trpc/tasks.create", { title: MARK, [field]: 1 });
  const { store, rows } = await open(database_url);
  await untilWritten(clock, async () => (await rows()).length === 10);
  const text = JSON.stringify(await rows());
  expect(text).not.toMatch(new RegExp(MARK, "i"));
  for (const secret of [agent.secret, person.token, task.id, asked.id]) {
    expect(text).not.toContain(secret);
    expect(text).not.toContain(secret.slice(8));
  }
  await store.close();
});

test("two processes write one request log, and stopping them loses nothing [§15.1.1] [§15.1.3]", async () => {
  const { url: DATABASE_URL } = await createTestStore();
  const two = await Promise.all([1, 2].map(() => startProcess({ DATABASE_URL })));
  const [one] = two;
  const { person, agent } = await createPair(one!.url);
  const sends = two.map(({ url }) => client(url, agent.secret));
  const count = async () => (await readAll(client(two[1]!.url, person.token), agent.key.id)).length;
  for (let i = 0; i < 30; i++) {
    await Promise.all(sends.map((send) => send("GET /v1/tasks", undefined, apart())));
  }
  await until(async () => (await count()) === 60);
  // The last entries are still in memory when the process is told to stop.
  await Promise.all(
    Array.from({ length: 20 }, () => sends[0]!("GET /v1/tasks", undefined, apart())),
  );
  one!.kill("SIGTERM");
  expect(await one!.exited).toBe(0);
  expect(await count()).toBe(80);
  // Both processes wrote and trimmed, and readers see the newest 200.
  await Promise.all(
    Array.from({ length: 150 }, () => sends[1]!("GET /v1/questions", undefined, apart())),
  );
  await until(async () => (await count()) === 200);
});

test("a killed process loses at most the log entries that it had yet to write [§15.1.3]", async () => {
  const { url: DATABASE_URL } = await createTestStore();
  const { store, rows } = await open(DATABASE_URL);
  const first = await startProcess({ DATABASE_URL });
  const { person, agent } = await createPair(first.url);
  for (let i = 0; i < 25; i++) await agent.send("GET /v1/tasks", undefined, apart());
  await until(async () => (await rows()).length === 25);
  await agent.send("GET /v1/questions");
  first.kill("SIGKILL");
  await first.exited;
  const next = await startProcess({ DATABASE_URL });
  await client(next.url, agent.secret)("HEAD /v1/tasks");
  const items = await until(async () => {
    const found = await readAll(client(next.url, person.token), agent.key.id);
    return found[0]?.action === "HEAD /v1/tasks" && found;
  });
  expect(items.slice(-25).map(({ action }) => action)).toEqual(Array(25).fill("GET /v1/tasks"));
  expect([26, 27]).toContain(items.length);
  await store.close();
});

test("log entries that an unavailable store did not accept are written once it is back [§15.1.3]", async () => {
  const { url: database_url, sqld } = await createTestStore();
  const app = await startTestApp({ database_url });
  const { person, agent } = await createPair(app.url);
  for (let i = 0; i < 3; i++) await agent.send("GET /v1/tasks", undefined, apart());
  await until(async () => (await readAll(person.send, agent.key.id)).length === 3);
  const failed = () => app.lines.filter((line) => line.includes("request log not written")).length;
  if (STORE_KIND === "server") {
    for (let i = 0; i < 5; i++) await agent.send("GET /v1/questions", undefined, apart());
    await sqld!.kill();
    await until(() => failed() > 0);
    await sqld!.restart();
  } else {
    // Reads continue meanwhile, and are logged.
    const lock = await holdWriteLock(database_url);
    for (let i = 0; i < 5; i++) await agent.send("GET /v1/questions", undefined, apart());
    await until(() => failed() > 0);
    await lock.release();
  }
  const items = await until(async () => {
    const found = await readAll(person.send, agent.key.id);
    return found.length >= 8 && found;
  });
  expect(items.map(({ action }) => action)).toEqual([
    ...Array(5).fill("GET /v1/questions"),
    ...Array(3).fill("GET /v1/tasks"),
  ]);
}, 300_000);

test("while the store stays away, entries cannot fill the memory, and none is written twice", async () => {
  const { url } = await createTestStore();
  // This store has a key for the entries.
  const app = await startTestApp({ database_url: url });
  const { person, agent } = await createPair(app.url);
  const { store, rows } = await open(url);
  const caller = {
    kind: "key",
    account_id: person.account.id,
    key_id: agent.key.id,
    credential: "",
  } as const;
  const request = (i: number, key_id = caller.key_id): KeyRequest => ({
    caller: { ...caller, key_id },
    at: 2_000_000_000 + i,
    surface: "mcp",
    action: `tool ${i}`,
    error: i % 2 ? new ServiceError("not_found") : null,
    duration_ms: i,
    client: { name: "tester", version: "1" },
    host: null,
  });
  let mode: "away" | "unsure" | "fine" | "wrong" = "away";
  const unsteady: Store = {
    ...store,
    async write(statements) {
      if (mode === "away") throw new ServiceError("store_unavailable");
      if (mode === "wrong") throw new TypeError("a statement's fault");
      const results = await store.write(statements);
      if (mode === "unsure") throw new ServiceError("store_unavailable");
      return results;
    },
  };
  const clock = createTestClock();
  const lines: string[] = [];
  const create = () =>
    createRequestLogWriter({
      store: unsteady,
      clock,
      ids: createIds(clock),
      log: createLog("warn", (line) => lines.push(line)),
    });
  const log = create();
  // Entries of many keys, so that none replaces another.
  for (let i = 0; i < 10_600; i++) {
    const own = (i >= 600 && i < 650) || i >= 10_550;
    log.record(request(i, own ? undefined : `key_${i}`));
  }
  await clock.advance(0.1);
  await clock.advance(1);
  const dropped = lines.filter((line) => line.includes("request log entries dropped"));
  expect(dropped.map((line) => JSON.parse(line).entries)).toEqual([600]);
  expect(log.stats()).toEqual({ queued: 10_000, dropped: 600 });
  expect(lines.join()).not.toContain("tool");
  // Further ones within the minute wait for its end.
  for (let i = 0; i < 501; i++) log.record(request(10_600 + i, `key_more_${i}`));
  for (let i = 0; i < 5; i++) await clock.advance(1);
  expect(lines.length).toBe(dropped.length);
  await clock.advance(60);
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ entries: 1 });
  mode = "unsure";
  await until(async () => {
    await clock.advance(1);
    return (await rows()).length > 0;
  });
  for (let i = 0; i < 10; i++) await clock.advance(1);
  mode = "fine";
  await log.stop();
  const [row] = await rows(agent.key.id);
  expect(row).toEqual({
    id: expect.stringMatching(/^act_/),
    key_id: agent.key.id,
    at: 2_000_000_600,
    surface: "mcp",
    action: "tool 600",
    status: "ok",
    code: null,
    message: null,
    duration_ms: 600,
    client: { name: "tester", version: "1" },
    host: null,
    count: 1,
    last_at: 2_000_000_600,
  });
  // Entries of unknown keys were not stored.
  expect((await rows()).length).toBe(100);
  // Entries that no write accepts do not hold up the rest.
  mode = "wrong";
  const another = create();
  another.record(request(20_000));
  await clock.advance(1);
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({
    event: "request log entries dropped",
    entries: 1,
  });
  mode = "fine";
  another.record(request(20_002));
  await another.stop();
  expect((await rows()).length).toBe(101);
  const [, newest] = await readAll(person.send, agent.key.id);
  expect(newest).toMatchObject({ code: "not_found", client: { name: "tester", version: "1" } });
  await store.close();
});
