/** Entries of the request log for requests that wait, and for those that a limit refuses. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { actionsOf, apart, entriesOf } from "../support/entries.ts";
import { connect, head } from "../support/raw.ts";
import { until } from "../support/until.ts";
import { exchange } from "../support/wire.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

test("a call that only waited has no log entry, and one that got a result has one with its wait [§15.1.2]", async () => {
  const { person, agent } = await createPair(app.url);
  const credential = agent.secret;
  const waits = (count: number) => until(() => app.waits.count() === count);
  const question = await ask(agent.send, { prompt: "p", kind: "text" });
  const path = `/v1/questions/${question.id}`;
  const input = encodeURIComponent(JSON.stringify({ question_id: question.id, wait: 5 }));
  const trpc = `/trpc/questions.get?input=${input}`;
  // No answer comes within the wait, on both surfaces.
  for (const target of [`${path}?wait=5`, trpc]) {
    const waiting = exchange(app.url, "GET", target, { credential });
    await waits(1);
    await clock.advance(5);
    expect((await waiting).status).toBe(200);
  }
  // Without a wait it is an ordinary read.
  await agent.send(`GET ${path as `/${string}`}`, undefined, apart());
  await agent.send(`GET ${path as `/${string}`}?wait=0`, undefined, apart());
  // The client disconnects.
  const raw = await connect(app.url);
  raw.write(head("GET", `${path}?wait=50`, { authorization: `Bearer ${credential}` }));
  await waits(1);
  raw.end();
  await waits(0);
  // This call asked a question, so it is logged although nobody answered.
  const asking = agent.send("POST /v1/questions?wait=2", { prompt: "p" }, apart());
  let asked = false;
  void asking.finally(() => {
    asked = true;
  });
  // The ask takes a place among the waits first, and its time starts then.
  await until(async () => {
    await clock.advance(0.5);
    return asked;
  });
  expect((await asking).status).toBe(201);
  // The answer comes after three seconds, on both surfaces.
  const answered = [`${path}?wait=5`, trpc].map((target) =>
    exchange(app.url, "GET", target, { credential, ...apart() }),
  );
  await waits(2);
  await clock.advance(3);
  await person.send(`POST ${path as `/${string}`}/answer`, { answer: "fine" });
  await Promise.all(answered);
  // The question was answered before.
  await agent.send(`GET ${path as `/${string}`}?wait=5`, undefined, apart());
  const read = "GET /v1/questions/{question_id}";
  const entries = await entriesOf(clock, person, agent);
  expect(entries.map(({ action, code, duration_ms }) => [action, code, duration_ms])).toEqual([
    ["POST /v1/questions", null, 0],
    [read, null, 0],
    [read, null, 0],
    ["POST /v1/questions", null, expect.any(Number)],
    [read, null, 3_000],
    [read, null, 3_000],
    [read, null, 0],
  ]);
  expect(entries[3]!.duration_ms).toBeGreaterThanOrEqual(2_000);
});

test("a client that disconnects while its question waits has a log entry for the question [§15.1.1]", async () => {
  const { person, agent } = await createPair(app.url);
  const body = '{"prompt":"p"}';
  const raw = await connect(app.url);
  const headers = { authorization: `Bearer ${agent.secret}`, "content-type": "application/json" };
  raw.write(head("POST", "/v1/questions?wait=50", headers, body) + body);
  await until(() => app.waits.count() === 1);
  raw.end();
  await until(() => app.waits.count() === 0);
  expect((await agent.send("GET /v1/questions")).body.questions.length).toBe(1);
  expect(actionsOf(await entriesOf(clock, person, agent))).toEqual([
    ["POST /v1/questions", null],
    ["GET /v1/questions", null],
  ]);
});

test("requests above the limit of waits or the rate limit have log entries [§15.1.1]", async () => {
  const limited = await startTestApp({ clock, env: { RATE_LIMITS: "on" } });
  const { person, agent } = await createPair(limited.url);
  for (let i = 0; i < 119; i++) await agent.send("HEAD /v1/tasks");
  await agent.send("GET /v1/tasks");
  expect((await agent.send("POST /v1/tasks", "[1]")).status).toBe(429);
  const input = encodeURIComponent("{}");
  await exchange(limited.url, "GET", `/trpc/tasks.list?input=${input}`, {
    credential: agent.secret,
  });
  await clock.advance(0.1);
  const path = `GET /v1/keys/${agent.key.id}/activity?limit=3` as const;
  const { items } = await until(async () => {
    const { body } = await person.send(path);
    return body.items.length === 3 && body;
  });
  expect(actionsOf(items.reverse())).toEqual([
    ["GET /v1/tasks", null],
    ["POST /v1/tasks", "rate_limited"],
    ["GET /v1/tasks", "rate_limited"],
  ]);
  expect(items[2].message).toBe("Too many requests.");

  const { person: other, agent: waiter } = await createPair(app.url);
  const { id } = await ask(waiter.send);
  const gone = new AbortController();
  const { signal } = gone;
  const waiting = Array.from({ length: 32 }, () =>
    waiter.send(`GET /v1/questions/${id}?wait=50`, undefined, { signal }).catch(() => {}),
  );
  await until(() => app.waits.count() === 32);
  expect((await waiter.send(`GET /v1/questions/${id}?wait=50`)).status).toBe(429);
  gone.abort();
  await Promise.all(waiting);
  await until(() => app.waits.count() === 0);
  expect(actionsOf(await entriesOf(clock, other, waiter))).toEqual([
    ["POST /v1/questions", null],
    ["GET /v1/questions/{question_id}", "too_many_waits"],
  ]);
});
