/** What the operator sees: counts of the whole store, a list of accounts, and the figures of this process. */

import { expect, test } from "bun:test";
import { accounts as accounts_table } from "../../db/schema.ts";
import { countRows } from "../../db/statistics.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { insertWhere, statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { ADMIN, adminClient } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import {
  ask,
  createAgent,
  createPair,
  createPerson,
  createTask,
  DEVICE,
} from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { advanceUntilEnded, callTool, oldEra } from "../support/mcp.ts";
import { createTestStore, STORE_KIND } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";
import { exchange } from "../support/wire.ts";

const NO_TASKS = { todo: 0, in_progress: 0, done: 0, cancelled: 0 };

/** Two live accounts, a deleted one, and some resources of each kind. */
async function tellStory(url: string, clock: ReturnType<typeof createTestClock>) {
  const { person, agent } = await createPair(url);
  await clock.advance(1);
  const other = await createPerson(url);
  await clock.advance(1);
  const gone = await createPair(url);
  await createTask(gone.agent.send);
  await person.send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, DEVICE);
  const second = await createAgent(url, person);
  const dead = await createAgent(url, person);
  for (const status of ["todo", "todo", "in_progress", "done"]) {
    await createTask(agent.send, { title: "t", status });
  }
  await createTask(person.send, { title: "t", status: "cancelled", key_id: second.key.id });
  await createTask(dead.send);
  const questions = [];
  for (let i = 0; i < 4; i++) questions.push(await ask(agent.send, { prompt: "p", kind: "text" }));
  await person.send(`POST /v1/questions/${questions[0]!.id}/answer`, { answer: "a" });
  await agent.send(`DELETE /v1/questions/${questions[1]!.id}`);
  await person.send(`DELETE /v1/keys/${dead.key.id}`);
  await gone.person.send("DELETE /v1/account");
  return { person, other, agent, second };
}

test("the counts cover the whole store without deleted rows, in every process", async () => {
  const clock = createTestClock();
  const { url: database_url } = await createTestStore();
  const app = await startTestApp({ clock, database_url, env: ADMIN });
  const { person, other, agent } = await tellStory(app.url, clock);
  const second = await startTestApp({ clock, database_url, env: ADMIN });
  for (const { url } of [app, second]) {
    const { counts, version } = await adminClient(url).overview.query();
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(counts).toEqual({
      accounts: 2,
      keys: 2,
      devices: 1,
      tasks: { todo: 2, in_progress: 1, done: 1, cancelled: 1 },
      questions: { pending: 2, answered: 1, expired: 0, cancelled: 1 },
      // The task that the account created, and the answer.
      unread_items: 2,
      counted_at: clock.now(),
      took: 0,
    });
    const { accounts, next_cursor } = await adminClient(url).accounts.query({});
    expect(next_cursor).toBeNull();
    const used = (await person.send("GET /v1/keys")).body.keys.map((key: any) => key.last_used_at);
    expect(accounts).toEqual([
      {
        id: other.account.id,
        created_at: other.account.created_at,
        keys: 0,
        devices: 0,
        tasks: NO_TASKS,
        pending_questions: 0,
        last_used_at: null,
        name: null,
        blocked_at: null,
        sign_ins: 1,
        last_here_at: null,
        stored_bytes: expect.any(Number),
      },
      {
        id: person.account.id,
        created_at: person.account.created_at,
        keys: 2,
        devices: 1,
        tasks: { todo: 2, in_progress: 1, done: 1, cancelled: 1 },
        pending_questions: 2,
        last_used_at: Math.max(...used),
        name: null,
        blocked_at: null,
        sign_ins: 1,
        last_here_at: expect.any(Number),
        stored_bytes: expect.any(Number),
      },
    ]);
  }
  // Counts are refreshed after some seconds, however often they are requested.
  await createTask(agent.send);
  await clock.advance(4.9);
  const admin = adminClient(app.url);
  expect((await admin.overview.query()).counts!.tasks.todo).toBe(2);
  await clock.advance(0.1);
  expect((await admin.overview.query()).counts!.tasks.todo).toBe(3);
});

test("the list of accounts is newest first with each account once, also while accounts are created", async () => {
  const app = await startTestApp({ env: ADMIN });
  const admin = adminClient(app.url);
  expect(await admin.accounts.query()).toEqual({ accounts: [], next_cursor: null });
  const ids: string[] = [];
  const make = async () => ids.unshift((await createPerson(app.url)).account.id);
  for (let i = 0; i < 7; i++) await make();
  for (const limit of [1, 3, 7, 8, 100]) {
    const before = [...ids];
    const sizes: number[] = [];
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await admin.accounts.query({ limit, ...(cursor !== undefined && { cursor }) });
      sizes.push(page.accounts.length);
      found.push(...page.accounts.map(({ id }) => id));
      cursor = page.next_cursor ?? undefined;
      await make();
    } while (cursor !== undefined);
    expect(found).toEqual(before);
    expect(sizes.slice(0, -1).every((size) => size === limit)).toBe(true);
    expect(sizes.at(-1)).toBeWithin(1, limit + 1);
  }
});

test("a large store is counted in steps, and other requests are answered between them", async () => {
  const { url } = await createTestStore();
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  const insert = statement(insertWhere(accounts_table, sql`true`));
  const row = (i: number) => ({
    id: `acc_${i}`,
    created_at: i,
    live_activities: true,
    revision: "c",
    deleted_at: i % 10 ? null : i,
  });
  // Written in parts, since a batch has a time limit.
  for (let from = 0; from < 2_500; from += 250) {
    await store.write(Array.from({ length: 250 }, (_, i) => insert(row(from + i))));
  }
  let pauses = 0;
  const counted = await countRows(store, async () => {
    pauses++;
  });
  expect(counted).toMatchObject({ accounts: 2_250, keys: 0 });
  expect(pauses).toBe(3);
  await store.close();
});

test("the figures of each minute count requests and errors, without waits and operator requests", async () => {
  const clock = createTestClock();
  await clock.advance(60 - (clock.now() % 60));
  const app = await startTestApp({ clock, env: ADMIN });
  const admin = adminClient(app.url);
  const last = async () => (await admin.series.query()).minutes.at(-1)!;
  expect(await last()).toMatchObject({ at: clock.now(), requests: 0, p50: null, p99: null });
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send);
  await agent.send("GET /v1/nothing");
  await agent.send("GET /v1/keys");
  const at = clock.now();
  expect(await last()).toMatchObject({ at, requests: 5, client_errors: 2, server_errors: 0 });
  expect((await last()).p99).toBeLessThan(0.001);

  // On every surface, and with an ask that waits.
  const waits = [
    () => agent.send(`GET /v1/questions/${id}?wait=10`),
    () => agent.send("GET /v1/inbox?wait=10"),
    () => agent.send("POST /v1/questions?wait=10", { prompt: "p" }),
    () =>
      agent.send(
        `GET /trpc/questions.get?input=${encodeURIComponent(JSON.stringify({ question_id: id, wait: 10 }))}`,
      ),
    () => agent.send("POST /trpc/questions.ask", { prompt: "p", wait: 10 }),
    () =>
      exchange(app.url, "POST", "/mcp", {
        credential: agent.secret,
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name: "read_inbox", arguments: { wait_seconds: 10 } },
        }),
        headers: { accept: "application/json", "mcp-protocol-version": "2025-11-25" },
      }),
  ];
  for (const [i, wait] of waits.entries()) {
    const answer = wait();
    await advanceUntilEnded(app, clock, 10);
    const { status, body } = await answer;
    expect([i, status, body.error]).toEqual([i, i === 2 ? 201 : 200, undefined]);
    const minute = await last();
    expect([i, minute.p99 === null || minute.p99 < 0.001]).toEqual([i, true]);
  }
  const { minutes } = await admin.series.query();
  expect(minutes.reduce((sum, { requests }) => sum + requests, 0)).toBe(5 + waits.length);
  // A request that does not wait counts, also on the same route.
  await callTool(oldEra(app.url, agent.secret), "read_inbox");
  await agent.send(`GET /v1/questions/${id}?wait=0`);
  expect((await last()).p50).not.toBeNull();

  const stream = await openStream(app.url, person.token);
  await clock.advance(60);
  expect(await last()).toMatchObject({ streams: 1, waits: 0, requests: 0 });
  expect((await last()).resident_bytes).toBeGreaterThan(10_000_000);
  stream.close();
});

test("the figures of the process have its streams, waits, memory and limits", async () => {
  const clock = createTestClock();
  const app = await startTestApp({ clock, env: ADMIN });
  const admin = adminClient(app.url);
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send);
  const streams = [
    await openStream(app.url, person.token),
    await openStream(app.url, person.token),
  ];
  const waits = [0, 1, 2].map(() => agent.send(`GET /v1/questions/${id}?wait=5`));
  waits.push(person.send(`GET /v1/questions/${id}?wait=5`));
  await until(() => app.waits.count() === 4);
  const figures = await admin.process.query();
  expect(figures).toMatchObject({
    bun: Bun.version,
    pid: process.pid,
    requests_in_flight: 5,
    streams: { open: 2, accounts: 1 },
    waits: { open: 4, owners: 2 },
    rate_limited: { key: 0, account: 0, address: 0, accounts: 0, challenges: 0 },
  });
  expect(figures.activity.dropped).toBe(0);
  expect(figures.uptime).toBeGreaterThan(0);
  expect(figures.resident_bytes).toBeGreaterThan(10_000_000);
  await clock.advance(5);
  await Promise.all(waits);
  for (const stream of streams) stream.close();
  await until(() => app.streams.count() === 0);
  expect(await admin.process.query()).toMatchObject({
    streams: { open: 0, accounts: 0 },
    waits: { open: 0, owners: 0 },
  });
});

test("the figures have the store, the outbox and the jobs", async () => {
  const clock = createTestClock();
  const app = await startTestApp({ clock, env: ADMIN });
  const admin = adminClient(app.url);
  expect((await admin.outbox.query()).events).toEqual({ rows: 0, oldest_at: null, behind: 0 });
  const { agent } = await createPair(app.url);
  const made_at = clock.now();
  for (let i = 0; i < 20; i++)
    await createTask(agent.send, { title: "t", description: "x".repeat(10_000) });
  await clock.advance(2);
  await app.jobs.settled();
  const store = await admin.store.query();
  expect(store).toMatchObject({
    kind: STORE_KIND,
    reachable: true,
    failed_batches: 0,
    queued_batches: 0,
  });
  expect(store.bytes).toBeGreaterThan(20 * 10_000);
  expect(store.wal_bytes === null).toBe(STORE_KIND === "server");
  const commits = store.commit_batches.counts.reduce((sum, count) => sum + count, 0);
  expect(commits).toBeGreaterThanOrEqual(20);
  expect(store.commit_seconds.counts.reduce((sum, count) => sum + count, 0)).toBe(commits);
  // `key.created` and the tasks.
  const { events } = await admin.outbox.query();
  expect(events).toEqual({ rows: 21, oldest_at: made_at, behind: 0 });
  const [minute] = (await admin.series.query()).minutes;
  expect(minute).toMatchObject({ outbox_events: 0, pushes_queued: 0, pushes_accepted: 0 });
  expect(minute!.store_read).not.toBeNull();
  expect(minute!.cpu).toBeGreaterThanOrEqual(0);
  const { jobs } = await admin.jobs.query();
  expect(jobs.find(({ name }) => name === "expire questions")).toEqual({
    name: "expire questions",
    every: 2,
    running: false,
    done: 1,
    failed: 0,
    last_at: made_at + 2,
    last_took: 0,
    last_done_at: made_at + 2,
    last_error: null,
  });
  expect(jobs.find(({ name }) => name === "prune events")).toMatchObject({
    done: 0,
    last_at: null,
  });
  // The oldest minutes are dropped.
  await clock.advance(300);
  const none = await until(async () => {
    await clock.advance(30);
    await app.jobs.settled();
    const { events } = await admin.outbox.query();
    return events?.rows === 0 && events;
  });
  expect(none).toEqual({ rows: 0, oldest_at: null, behind: 0 });
});

test.if(STORE_KIND === "server")(
  "the figures show an unavailable store, and the jobs that fail because of it",
  async () => {
    const clock = createTestClock();
    const { url: database_url, sqld } = await createTestStore();
    const app = await startTestApp({ clock, database_url, env: ADMIN });
    const admin = adminClient(app.url);
    await admin.overview.query();
    await sqld!.kill();
    await clock.advance(6);
    expect(await admin.store.query()).toMatchObject({
      reachable: false,
      latency: null,
      bytes: null,
    });
    expect(await admin.outbox.query()).toEqual({ events: null });
    await app.jobs.settled();
    const { jobs } = await admin.jobs.query();
    const deletions = jobs.find(({ name }) => name === "finish deletions")!;
    expect(deletions.failed).toBeGreaterThan(0);
    expect(deletions.last_error).toBe("store_unavailable");
    const { data } = await admin.overview.query().catch((thrown: any) => thrown);
    expect([data.httpStatus, data.code_name]).toEqual([503, "store_unavailable"]);
    expect((await admin.process.query()).pid).toBe(process.pid);
    // The minute that begins meanwhile has a gap, and the next minute has none.
    const gaps = async () => {
      await clock.advance(60);
      // The figures of the minute are read at that moment, so time moves on only once they are there.
      await admin.overview.query().catch(() => null);
      const last = async () => (await admin.series.query()).minutes.at(-1)!;
      const { store_read, outbox_events, pushes_queued } = await last();
      return [store_read, outbox_events, pushes_queued].map((one) => one === null);
    };
    expect(await gaps()).toEqual([true, true, true]);
    await sqld!.restart();
    expect((await admin.overview.query()).counts!.accounts).toBe(0);
    await until(async () => (await gaps()).every((gap) => !gap));
  },
);
