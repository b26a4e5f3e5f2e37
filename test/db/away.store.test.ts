/** The store becomes unavailable under load and returns, and the service recovers by itself. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { callHook, commandOf } from "../support/approve.ts";
import {
  type Answer,
  ask,
  client,
  createAgent,
  createPair,
  createTask,
  type Person,
  type Send,
} from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { holdWriteLock } from "../support/lock.ts";
import { type RelayProcess, startProcess } from "../support/process.ts";
import { type Sqld, startSqld } from "../support/sqld.ts";
import { createTestStore, STORE_KIND } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const embedded = test.if(STORE_KIND === "embedded");
const server = test.if(STORE_KIND === "server");
const env = { RATE_LIMITS: "off" };

/** The refusal that a client can act on. */
function expectUnavailable({ status, headers, body }: Answer): void {
  expect(status).toBe(503);
  expect(headers.get("content-type")).toBe("application/problem+json");
  expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
  expect(body).toMatchObject({ status: 503, code: "store_unavailable" });
  // The internal error is only for the log.
  expect(JSON.stringify(body)).not.toMatch(/sqlite|libsql|econn|127\.0\.0\.1|timed/i);
}

async function expectStreamRefused(url: string, token: string): Promise<void> {
  const { response } = await openStream(url, token);
  const body = await response.json();
  expectUnavailable({ status: response.status, headers: response.headers, body });
}

/** Waits until a request succeeds again. */
const isBack = (send: Send) => until(async () => (await send("GET /v1/account")).status === 200);

/** Streams and waits on two processes of one store, each of which sees the other's changes. */
async function expectWorks(urls: readonly [string, string], person: Person): Promise<void> {
  const agent = await createAgent(urls[0], person);
  const streams = await Promise.all(urls.map((url) => openStream(url, person.token)));
  for (const [here, there] of [urls, urls.toReversed() as [string, string]]) {
    const send = client(here, agent.secret);
    await createTask(send);
    const { id } = await ask(send);
    const waiting = send(`GET /v1/questions/${id}?wait=30`);
    const answer = { answer: "Yes" };
    const answered = await client(there, person.token)(`POST /v1/questions/${id}/answer`, answer);
    expect(answered).toMatchObject({ status: 200, body: { status: "answered" } });
    expect(await waiting).toMatchObject({ status: 200, body: answered.body });
  }
  const half = ["task.created", "question.created", "question.updated"];
  for (const stream of streams) {
    // A change that the store accepted before it stopped may still appear: it belongs to another key.
    const own = () =>
      stream.events.filter(({ data }) => (data.task ?? data.question)?.key_id === agent.key.id);
    await until(() => own().length === 6);
    expect(own().map(({ event }) => event)).toEqual([...half, ...half]);
    stream.close();
  }
}

/** What a client sees while the server is gone, and that only the server has to come back. */
async function expectOutage(
  take: (sqld: Sqld) => Promise<void> | void,
  giveBack: (sqld: Sqld) => Promise<void> | void,
): Promise<void> {
  const { url: database_url, sqld } = await createTestStore();
  const [app, second] = await Promise.all([
    startTestApp({ database_url, env }),
    startProcess({ ...env, DATABASE_URL: database_url }),
  ]);
  const { person, agent } = await createPair(app.url);
  const task = await createTask(agent.send);
  const question = await ask(agent.send);
  const path = `/v1/questions/${question.id}` as const;
  const hook = await callHook(app.url, agent.secret, commandOf("ls"));
  await until(async () => (await agent.send("GET /v1/questions")).body.questions.length === 2);
  const streams = await Promise.all([
    openStream(app.url, person.token),
    openStream(second.url, person.token),
  ]);
  const waiting = [
    agent.send(`GET ${path}?wait=30`),
    client(second.url, agent.secret)(`GET ${path}?wait=30`),
  ];
  await until(() => app.waits.count() === 2);

  await take(sqld!);
  const refused = Promise.all([
    agent.send("GET /v1/tasks"),
    agent.send(`GET /v1/tasks/${task.id}`),
    agent.send("POST /v1/tasks", { title: "Lost" }),
    agent.send(`PATCH /v1/tasks/${task.id}`, { title: "Lost" }),
    agent.send(`GET ${path}?wait=30`),
    person.send(`POST ${path}/answer`, { answer: "Yes" }),
    person.send("GET /v1/keys"),
    client(app.url)("POST /v1/accounts"),
    // A credential that cannot be checked is not a wrong one.
    client(app.url, "mck_nobody")("GET /v1/tasks"),
  ]);
  const streams_refused = expectStreamRefused(app.url, person.token);
  for (const answer of await refused) expectUnavailable(answer);
  await streams_refused;
  for (const answer of await Promise.all(waiting)) expectUnavailable(answer);
  // Nothing is permitted meanwhile.
  expect(await hook.text).toBe("");
  const late = await callHook(app.url, agent.secret, commandOf("ls"));
  expect(late.response.status).toBe(503);
  for (const stream of streams) await stream.ended;
  expect(streams.map(({ events }) => events.map(({ event }) => event))).toEqual([
    ["ready"],
    ["ready"],
  ]);
  expect([app.waits.owners(), app.streams.count()]).toEqual([0, 0]);
  await expectStreamRefused(app.url, person.token);

  await giveBack(sqld!);
  await Promise.all([isBack(person.send), isBack(client(second.url, person.token))]);
  await expectWorks([app.url, second.url], person);
  await expectOneOutage(second);
}

/** The warnings and errors of a process, and the end of its outages. */
const toldOf = (log: string): Record<string, unknown>[] =>
  log
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(
      ({ level, event }) =>
        // The machine of the tests may be busy.
        event === "store is back" || (level !== "info" && event !== "this process stood still"),
    );

/**
 * Its log has one line for the beginning of the outage and one for its end. On a busy machine, another one may follow
 * within the minute, which the stop tells.
 */
async function expectOneOutage({ log, kill, exited }: RelayProcess): Promise<void> {
  await until(() => log().includes('"store is back"'));
  kill("SIGTERM");
  await exited;
  const [before] = log().split(/.*"stopping".*/);
  const [begin, end, ...more] = toldOf(before!);
  expect([begin?.event, end?.event, more]).toEqual(["store unavailable", "store is back", []]);
  // A stack says nothing about a server that is away.
  expect(begin).not.toHaveProperty("at");
  expect(end).toMatchObject({ after: "store unavailable", seconds: expect.any(Number) });
}

server(
  "a stop while the server hangs ends within 8 seconds",
  async () => {
    const { url: database_url, sqld } = await createTestStore();
    const timers = createTestClock();
    const app = await startTestApp({ timers, database_url, env: { ...env, LOG_LEVEL: "info" } });
    const { agent } = await createPair(app.url);
    const task = await createTask(agent.send);
    sqld!.freeze();
    /** Lets time pass until the work has ended. */
    const pass = async (work: Promise<unknown>) => {
      let ended = false;
      void work.finally(() => {
        ended = true;
      });
      await until(async () => {
        await timers.advance(0.1);
        return ended;
      });
    };
    const refused = agent.send(`PATCH /v1/tasks/${task.id}`, { title: "Lost" });
    await pass(refused);
    expectUnavailable(await refused);
    const from = timers.elapsed();
    await pass(app.stop());
    expect(timers.elapsed() - from).toBeLessThan(8.2);
    const told = toldOf(app.lines.join("")).map(({ event }) => event);
    expect(told).toEqual(["store unavailable", "request log entries dropped"]);
    sqld!.thaw();
  },
  300_000,
);

server(
  "a killed store refuses requests, ends streams and waits, and works again once it is back [§11.4.2] [§7.4.3] [§11.4.1]",
  () =>
    expectOutage(
      (sqld) => sqld.kill(),
      (sqld) => sqld.restart(),
    ),
  300_000,
);

server(
  "requests to a frozen store are given up after a while, and succeed again once it is thawed [§11.4.2] [§7.4.3] [§11.4.1]",
  () =>
    expectOutage(
      (sqld) => sqld.freeze(),
      (sqld) => sqld.thaw(),
    ),
  300_000,
);

server(
  "a wait that begins before the events flow again does not sleep through its answer [§11.4.2]",
  async () => {
    const { url: database_url, sqld } = await createTestStore();
    // Its feed checks the store when the test moves the clock, and not by itself.
    const clock = createTestClock();
    const app = await startTestApp({ clock, database_url, env });
    const { person, agent } = await createPair(app.url);
    const { id } = await ask(agent.send);
    await sqld!.kill();
    await until(async () => {
      await clock.advance(0.3);
      return app.feed.isLost();
    });
    await sqld!.restart();
    await isBack(person.send);

    let result: Answer | undefined;
    const waiting = agent.send(`GET /v1/questions/${id}?wait=30`).then((answer) => {
      result = answer;
    });
    await until(() => result !== undefined || app.waits.count() === 1);
    const answered = await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
    expect(answered.status).toBe(200);
    // A new stream makes the feed catch up.
    const stream = await openStream(app.url, person.token);
    expect(stream.response.status).toBe(200);
    await until(() => result !== undefined);
    await waiting;
    if (result!.status === 200) expect(result!.body).toEqual(answered.body);
    else expectUnavailable(result!);
    stream.close();
  },
  300_000,
);

embedded(
  "while another process holds the lock, writes are refused after a while and reads continue [§11.4.1] [§11.4.10]",
  async () => {
    const { url: database_url } = await createTestStore();
    const app = await startProcess({ ...env, DATABASE_URL: database_url });
    const { person, agent } = await createPair(app.url);
    const task = await createTask(agent.send);
    const question = await ask(agent.send);
    const path = `/v1/questions/${question.id}` as const;
    const stream = await openStream(app.url, person.token);
    const waiting = agent.send(`GET ${path}?wait=50`);

    const lock = await holdWriteLock(database_url);
    lock.freeze();
    let settled = 0;
    const refused = [
      agent.send("POST /v1/tasks", { title: "Lost" }),
      agent.send(`PATCH /v1/tasks/${task.id}`, { title: "Lost" }),
      person.send(`POST ${path}/answer`, { answer: "Yes" }),
      person.send("POST /v1/keys", { label: "Lost" }),
    ].map((request) => request.finally(() => settled++));
    let reads = 0;
    do {
      const found = await agent.send(`GET /v1/tasks/${task.id}`);
      const asked = await person.send(`GET ${path}`);
      const later = await openStream(app.url, person.token);
      expect([found.body, asked.body]).toEqual([task, question]);
      expect(later.response.status).toBe(200);
      later.close();
      if (settled === 0) reads++;
    } while (settled < refused.length);
    expect(reads).toBeGreaterThan(0);
    for (const request of refused) expectUnavailable(await request);
    const health = await client(app.url)("GET /health");
    expect(health).toMatchObject({ status: 503, body: { problems: ["write_lock_held"] } });
    await until(() => app.log().includes("store unavailable"));
    expect(toldOf(app.log())).toMatchObject([
      {
        event: "store unavailable",
        reason: "another process is stopped and holds the write lock",
        pid: lock.pid,
        command: expect.stringMatching(/^bun/),
        state: "stopped",
      },
    ]);

    lock.thaw();
    await lock.release();
    const answered = await person.send(`POST ${path}/answer`, { answer: "No" });
    expect(answered.status).toBe(200);
    expect((await waiting).body).toEqual(answered.body);
    const made = await createTask(agent.send);
    // The refused writes did not happen, and the stream stayed open throughout.
    const names = ["question.updated", "inbox.updated", "task.created"];
    expect(await stream.names(3)).toEqual(names);
    expect((await person.send("GET /v1/tasks")).body.tasks).toEqual([made, task]);
    expect((await person.send("GET /v1/keys")).body.keys).toHaveLength(1);
    stream.close();
    await expectOneOutage(app);
  },
  300_000,
);

embedded(
  "a write waits for a lock that is soon released",
  async () => {
    const { url: database_url } = await createTestStore();
    const app = await startProcess({ ...env, DATABASE_URL: database_url });
    const { person, agent } = await createPair(app.url);
    const lock = await holdWriteLock(database_url);
    let settled = false;
    const writing = person
      .send("POST /v1/tasks", { title: "Patient", key_id: agent.key.id })
      .finally(() => {
        settled = true;
      });
    // By the time these are answered, the write has met the lock.
    for (let i = 0; i < 10; i++) await person.send("GET /v1/tasks");
    expect(settled).toBe(false);
    await lock.release();
    expect((await writing).status).toBe(201);
  },
  300_000,
);

server(
  "a libSQL server that is told to stop does not wait for Relay, and Relay goes on once it is back",
  async () => {
    const sqld = await startSqld();
    const app = await startTestApp({ database_url: sqld.url });
    const { agent } = await createPair(app.url);
    const from = performance.now();
    await sqld.stop();
    // With an open change feed it waits for 30 seconds.
    expect(performance.now() - from).toBeLessThan(10_000);
    await sqld.restart();
    await until(async () => (await fetch(`${app.url}/health`)).ok);
    await createTask(agent.send);
  },
);
