/** Wall clocks that differ: what log, health and metrics report, and that nothing is ended early (§11.5.3). */

import { expect, test } from "bun:test";
import { ADMIN, ADMIN_TOKEN } from "../support/admin.ts";
import { startTestApp, type TestApp } from "../support/app.ts";
import { ask, client, createPair, createTask } from "../support/client.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";

const DAY = 86_400;
/** When all clocks start: a busy machine takes seconds from one process to the next. */
const BEGUN = Date.now();

interface Process {
  readonly app: TestApp;
  readonly clock: TestClock;
}

async function start(
  database_url: string,
  shift: number,
  storeTime?: () => Promise<number>,
): Promise<Process> {
  const clock = createTestClock(BEGUN);
  clock.shiftWall(shift);
  const app = await startTestApp({
    clock,
    database_url,
    env: ADMIN,
    ...(storeTime && { storeTime }),
  });
  return { app, clock };
}

/** Moves time on for all processes. */
async function pass(seconds: number, ...processes: readonly Process[]): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    for (const { app, clock } of processes) {
      await clock.advance(1);
      await app.jobs.settled();
    }
  }
}

const healthOf = async ({ app }: Process) => (await client(app.url)("GET /health")).body;

async function offsetsOf({ app }: Process): Promise<Record<string, number>> {
  const answer = await fetch(`${app.url}/metrics`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  const found = (await answer.text()).matchAll(
    /^relay_clock_offset_seconds\{against="(\w+)"\} (\S+)$/gm,
  );
  return Object.fromEntries([...found].map(([, against, seconds]) => [against, Number(seconds)]));
}

const linesOf = ({ app }: Process, event: string) =>
  app.lines.filter((line) => line.includes(`"event":"${event}"`)).map((line) => JSON.parse(line));

test("a process whose clock differs from its store's reports it until the clocks agree [§11.5.3]", async () => {
  const { url } = await createTestStore();
  let store_ahead = 0;
  const clock = createTestClock();
  const app = await startTestApp({
    clock,
    database_url: url,
    env: ADMIN,
    storeTime: async () => clock.now() + store_ahead,
  });
  const process = { app, clock };
  await pass(5, process);
  expect(await healthOf(process)).not.toHaveProperty("problems");
  expect(await offsetsOf(process)).toEqual({ store: 0 });

  for (const [ahead, differs] of [
    [4.9, false],
    [-4.9, false],
    [5.2, true],
    [-5.2, true],
    [DAY, true],
  ] as const) {
    store_ahead = ahead;
    await pass(5, process);
    const health = await healthOf(process);
    expect([ahead, health.status, health.problems]).toEqual([
      ahead,
      "ok",
      differs ? ["clock_differs"] : undefined,
    ]);
    expect((await offsetsOf(process)).store).toBeCloseTo(-ahead, 1);
  }
  const [line, ...more] = linesOf(process, "clock differs");
  expect(line).toMatchObject({ level: "warn", against: "store", seconds_ahead: -5.2 });
  // At most once a minute.
  expect(more).toEqual([]);
  await pass(60, process);
  expect(linesOf(process, "clock differs").at(-1)).toMatchObject({ seconds_ahead: -DAY });
  store_ahead = 0;
  await pass(65, process);
  expect(await healthOf(process)).not.toHaveProperty("problems");
  expect(linesOf(process, "clock agrees")).not.toEqual([]);
});

test("processes that share a file report how far their clocks are apart until they agree [§11.5.3]", async () => {
  const { url } = await createTestStore();
  const right = await start(url, 0);
  await pass(15, right);
  // 15 seconds went by for the other process.
  const ahead = await start(url, DAY + 15);
  await pass(15, right, ahead);
  for (const one of [right, ahead]) {
    expect((await healthOf(one)).problems).toEqual(["clock_differs"]);
    expect(linesOf(one, "clock differs")).toHaveLength(1);
  }
  expect((await offsetsOf(right)).process).toBeCloseTo(-DAY, -1);
  expect((await offsetsOf(ahead)).process).toBeCloseTo(DAY, -1);
  ahead.clock.shiftWall(-DAY);
  await pass(75, right, ahead);
  expect(await healthOf(right)).not.toHaveProperty("problems");
  expect((await offsetsOf(ahead)).process).toBeCloseTo(0, -1);
});

test("processes whose clocks agree report nothing, also after one of them slept [§11.5.3]", async () => {
  const { url } = await createTestStore();
  const [one, two] = [await start(url, 0), await start(url, 1)];
  await pass(25, one, two);
  // The process sleeps for an hour, as does its machine.
  await two.clock.skip(3_600);
  one.clock.shiftWall(3_600);
  await pass(25, one, two);
  for (const process of [one, two]) {
    expect(linesOf(process, "clock differs")).toEqual([]);
    expect(await healthOf(process)).not.toHaveProperty("problems");
  }
});

test("a clock that was set back is reported, even if no process ran at the time [§11.5.3]", async () => {
  const { url } = await createTestStore();
  const first = await start(url, 0);
  await pass(3, first);
  first.clock.shiftWall(-7_200);
  await pass(3, first);
  expect((await healthOf(first)).problems).toEqual(["clock_differs"]);
  expect((await offsetsOf(first)).past).toBeCloseTo(-7_200, -1);
  await first.app.stop();

  const second = await start(url, -14_400);
  expect((await healthOf(second)).problems).toEqual(["clock_differs"]);
  expect(linesOf(second, "clock differs")).toHaveLength(1);
});

for (const [kind, has_time] of [
  ["on a file", false],
  ["on a server", true],
] as const) {
  test(`a process ${kind} that starts days ahead of another ends nothing that the other owns [§11.5.3]`, async () => {
    const { url } = await createTestStore();
    const right = await start(url, 0);
    const { person, agent } = await createPair(right.app.url);
    const asked = await ask(agent.send);
    const done = await createTask(agent.send, { title: "t", status: "done" });
    await pass(15, right);
    const time = has_time ? async () => right.clock.now() : undefined;
    const ahead = await start(url, 40 * DAY + 15, time);
    await pass(70, ahead, right);
    for (const { app } of [ahead, right]) {
      // An overdue question would expire when it is read.
      for (const credential of [person.token, agent.secret]) {
        const send = client(app.url, credential);
        expect((await send(`GET /v1/questions/${asked.id}`)).body.status).toBe("pending");
        expect((await send("GET /v1/questions?status=pending")).body.questions).toHaveLength(1);
      }
      expect((await client(app.url, person.token)(`GET /v1/tasks/${done.id}`)).status).toBe(200);
    }
    const answer = await client(ahead.app.url, person.token)(
      `POST /v1/questions/${asked.id}/answer`,
      { answer: "Yes" },
    );
    expect([answer.status, answer.body.status]).toEqual([200, "answered"]);
  });
}

test("a process on a file that starts days ahead of another ends nothing in its first moments [§11.5.3]", async () => {
  const { url } = await createTestStore();
  const right = await start(url, 0);
  const { agent } = await createPair(right.app.url);
  const asked = await ask(agent.send);
  await pass(15, right);
  let ahead: Process | undefined;
  const starting = start(url, 40 * DAY + 15).then((started) => {
    ahead = started;
  });
  while (!ahead) await pass(1, right);
  await starting;
  const { status, body } = await client(
    ahead.app.url,
    agent.secret,
  )(`GET /v1/questions/${asked.id}`);
  expect([status, body.status]).toEqual([200, "pending"]);
});

test("after the store was at rest, an overdue question expires within ten seconds [§3.1.3]", async () => {
  const { url } = await createTestStore();
  const first = await start(url, 0);
  const { person, agent } = await createPair(first.app.url);
  const { id } = await ask(agent.send, { prompt: "Go on?", expires_in: 60 });
  await pass(2, first);
  await first.app.stop();
  const second = await start(url, DAY);
  const stream = client(second.app.url, person.token);
  await pass(10, second);
  expect(second.app.lines.filter((line) => line.includes("job failed"))).toEqual([]);
  const { body } = await stream("GET /v1/questions?status=expired");
  expect(body.questions.map((question: { id: string }) => question.id)).toEqual([id]);
});
