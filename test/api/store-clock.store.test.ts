/** All processes go by the store's clock: wall clocks that differ, are set, or jump with the store's (§11.5). */

import { expect, test } from "bun:test";
import { systemClock } from "../../src/clock.ts";
import { ADMIN, ADMIN_TOKEN } from "../support/admin.ts";
import { startTestApp, type TestApp } from "../support/app.ts";
import {
  ask,
  claim,
  client,
  createPair,
  createPerson,
  createTask,
  newToken,
  WEBHOOK,
} from "../support/client.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { startReceiver } from "../support/receiver.ts";
import { createTestStore } from "../support/store.ts";

const HOUR = 3_600;
const DAY = 86_400;

interface Process {
  readonly app: TestApp;
  readonly clock: TestClock;
}

/** Processes on one store, whose clock is `store`; each one's own is ahead of it by some seconds. */
async function startAll(...ahead: readonly number[]) {
  const { url } = await createTestStore();
  const all: Process[] = [];
  const begun = Date.now() / 1_000;
  let jumped = 0;
  const store = {
    now: () => begun + jumped + (all[0]?.clock.elapsed() ?? 0),
    /** As if its clock had been set. */
    jump(seconds: number) {
      jumped += seconds;
    },
  };
  const start = async (seconds: number): Promise<Process> => {
    const clock = createTestClock(store.now() * 1_000);
    const since = store.now() - jumped;
    // Within a step, time has passed for one process and not yet for the next.
    const storeTime = async () => since + jumped + clock.elapsed();
    clock.shiftWall(seconds);
    return { clock, app: await startTestApp({ clock, database_url: url, env: ADMIN, storeTime }) };
  };
  for (const seconds of ahead) all.push(await start(seconds));
  return {
    all,
    store,
    start,
    /** Moves time on for the store and all processes. */
    async pass(seconds: number, step = Math.max(1, seconds / 20)): Promise<void> {
      for (let left = seconds; left > 0; left -= step) {
        for (const { app, clock } of all) {
          await clock.advance(step);
          await app.jobs.settled();
        }
      }
    },
  };
}

const healthOf = async ({ app }: Process) => (await client(app.url)("GET /health")).body;

/** What the page of the administrator says about the clock. */
async function saidOf({ app }: Process): Promise<string> {
  const { body } = await client(app.url, ADMIN_TOKEN)("GET /admin/health");
  return body.checks.find(({ name }: { name: string }) => name === "clock").text;
}

async function offsetOf({ app }: Process): Promise<number> {
  const answer = await fetch(`${app.url}/metrics`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  const found = (await answer.text()).match(
    /^relay_clock_offset_seconds\{against="store"\} (\S+)$/m,
  );
  return Number(found![1]);
}

const linesOf = ({ app }: Process, event: string) =>
  app.lines.filter((line) => line.includes(`"event":"${event}"`)).map((line) => JSON.parse(line));

test("a process whose clock differs from its store's reports it until the clocks agree [§11.5.3]", async () => {
  const { all, store, pass } = await startAll(0);
  const [one] = all as [Process];
  await pass(5);
  expect(await healthOf(one)).not.toHaveProperty("problems");
  expect(await offsetOf(one)).toBe(0);
  expect(await saidOf(one)).toBe("This server's clock agrees with the database's.");

  for (const [ahead, differs] of [
    [4.9, false],
    [-4.9, false],
    [5.2, true],
    [-5.2, true],
    [DAY, true],
  ] as const) {
    const shift = one.clock.now() - ahead - store.now();
    store.jump(shift);
    await pass(60);
    const health = await healthOf(one);
    expect([ahead, health.status, health.problems]).toEqual([
      ahead,
      "ok",
      differs ? ["clock_differs"] : undefined,
    ]);
    expect(await offsetOf(one)).toBeCloseTo(ahead, 1);
  }
  expect(linesOf(one, "clock differs").map((line) => line.seconds_ahead)).toEqual([5.2, -5.2, DAY]);
  expect(await saidOf(one)).toStartWith("This server's clock is 24 hours ahead of the database's.");
  one.clock.shiftWall(-DAY);
  await pass(2);
  expect(await healthOf(one)).not.toHaveProperty("problems");
  expect(linesOf(one, "clock agrees")).toHaveLength(1);
});

for (const hours of [-2, 2, 40 * 24]) {
  test(`a process whose clock is ${hours} h off asks, answers and exchanges codes with others [§11.5.2]`, async () => {
    const { all, store, pass } = await startAll(0, hours * HOUR);
    const [right, wrong] = all as [Process, Process];
    const { person, agent } = await createPair(right.app.url);
    const there = (credential: string) => client(wrong.app.url, credential);

    const done = await createTask(agent.send, { title: "t", status: "done" });
    const asked = await ask(there(agent.secret), { prompt: "Go on?", expires_in: 600 });
    expect(asked.expires_at - store.now()).toBeCloseTo(600, 0);
    const own = await ask(agent.send, { prompt: "Go on?", expires_in: 600 });
    await pass(90);
    for (const { id } of [asked, own]) {
      for (const { app } of all) {
        const { body } = await client(app.url, agent.secret)(`GET /v1/questions/${id}`);
        expect(body.status).toBe("pending");
      }
    }
    const answer = { answer: "Yes" };
    expect((await person.send(`POST /v1/questions/${asked.id}/answer`, answer)).status).toBe(200);
    expect((await there(agent.secret)(`GET /v1/questions/${asked.id}`)).body.answer).toBe("Yes");
    await pass(515);
    expect((await agent.send(`GET /v1/questions/${own.id}`)).body.status).toBe("expired");
    expect((await person.send(`GET /v1/tasks/${done.id}`)).status).toBe(200);

    for (const [from, to] of [
      [right, wrong],
      [wrong, right],
    ] as const) {
      const made = await client(from.app.url, person.token)("POST /v1/pairings", {});
      expect(made.status).toBe(201);
      const given = { code: made.body.code, label: "phone", token: newToken() };
      expect((await claim(to.app.url, given)).status).toBe(201);
    }
  });
}

test("an answer of a process whose clock is off has the store's time as its Date [§11.5.2]", async () => {
  const { all, store } = await startAll(2 * HOUR, 0);
  for (const { app } of all) {
    const sent = Date.parse((await fetch(`${app.url}/health`)).headers.get("date")!) / 1_000;
    // The test's clock starts at the real time, which goes on.
    expect(Math.abs(sent - store.now())).toBeLessThan(60);
  }
});

for (const by of [-2 * HOUR, 2 * HOUR]) {
  test(`a clock that is set by ${by} s while the store's stays changes nothing [§11.5.2]`, async () => {
    const { all, store, pass } = await startAll(0);
    const [one] = all as [Process];
    const { agent } = await createPair(one.app.url);
    const asked = await ask(agent.send, { prompt: "Go on?", expires_in: 600 });
    await pass(10);
    one.clock.shiftWall(by);
    const statusOf = async () => (await agent.send(`GET /v1/questions/${asked.id}`)).body.status;
    // At once, and after the comparison.
    for (const seconds of [0, 2, 580]) {
      await pass(seconds);
      expect(await statusOf()).toBe("pending");
      const { created_at } = await createTask(agent.send);
      expect(created_at).toBeCloseTo(store.now(), 0);
      // To the millisecond (§1.4.4).
      expect(created_at).toBe(Math.round(created_at * 1000) / 1000);
    }
    expect((await healthOf(one)).problems).toEqual(["clock_differs"]);
    expect(linesOf(one, "clock differs")).toHaveLength(1);
    await pass(10);
    expect(await statusOf()).toBe("expired");
  });
}

test("a jump forwards of the store's clock ends nothing for ten minutes, and can be corrected [§11.5.4]", async () => {
  const { all, store, pass } = await startAll(0);
  const [one] = all as [Process];
  const { person, agent } = await createPair(one.app.url);
  const jump = async (seconds: number) => {
    store.jump(seconds);
    one.clock.shiftWall(seconds);
    await pass(2);
  };
  const questions = async () =>
    Promise.all(
      [short, long].map(
        async ({ id }) => (await agent.send(`GET /v1/questions/${id}`)).body.status,
      ),
    );
  const short = await ask(agent.send, { prompt: "Now?", expires_in: 300 });
  const long = await ask(agent.send, { prompt: "Go on?", expires_in: HOUR });
  await jump(2 * HOUR);
  expect(await questions()).toEqual(["pending", "pending"]);
  expect(await saidOf(one)).toStartWith("Time jumped by 2 hours");
  expect(linesOf(one, "time jumped")).toHaveLength(1);
  await jump(-2 * HOUR);
  expect(await saidOf(one)).toBe("This server's clock agrees with the database's.");
  await jump(2 * HOUR);
  // What is over by any clock ends.
  await pass(300);
  expect(await questions()).toEqual(["expired", "pending"]);
  const later = await ask(agent.send, { prompt: "Later?" });
  const { body } = await person.send("GET /v1/questions?status=pending");
  expect(body.questions.map(({ id }: { id: string }) => id)).toEqual([later.id, long.id]);
  await pass(310);
  expect(await questions()).toEqual(["expired", "expired"]);
  expect((await agent.send(`GET /v1/questions/${later.id}`)).body.status).toBe("pending");
});

test("the signature of a webhook has the time of the machine, which its receiver compares [§11.5.2]", async () => {
  const { all } = await startAll(2 * HOUR);
  const [one] = all as [Process];
  const receiver = startReceiver();
  const { person } = await createPair(one.app.url);
  const given = { ...WEBHOOK, url: receiver.url("/hook") };
  const { status, body } = await person.send("POST /v1/channels", given);
  expect(status).toBe(201);
  receiver.expect("/hook", body.secret);
  await one.app.webhooks.settled();
  expect(receiver.take().map(({ timestamp }) => timestamp)).toEqual([Math.floor(one.clock.wall())]);
});

test("the clock of a store on a file is that of its disk, whatever this process's says [§11.5.2]", async () => {
  const { url } = await createTestStore();
  const now = () => systemClock.now() + 2 * HOUR;
  const app = await startTestApp({
    clock: { ...systemClock, now, wall: now },
    database_url: url,
    storeTime: "of the store",
  });
  const person = await createPerson(app.url);
  const { body } = await person.send("GET /v1/account");
  expect(Math.abs(body.created_at - systemClock.now())).toBeLessThan(60);
});

test("after the store was at rest, an overdue question expires within ten seconds [§3.1.3]", async () => {
  const { all, store, start, pass } = await startAll(0);
  const [first] = all as [Process];
  const { person, agent } = await createPair(first.app.url);
  const { id } = await ask(agent.send, { prompt: "Go on?", expires_in: 60 });
  await pass(2);
  await first.app.stop();
  store.jump(DAY);
  const second = await start(0);
  all.splice(0, 1, second);
  const stream = client(second.app.url, person.token);
  await pass(10);
  expect(second.app.lines.filter((line) => line.includes("job failed"))).toEqual([]);
  const { body } = await stream("GET /v1/questions?status=expired");
  expect(body.questions.map((question: { id: string }) => question.id)).toEqual([id]);
});
