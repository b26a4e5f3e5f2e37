/** Waits: how a request sleeps, wakes, ends and is counted (§6). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

const asleep = (count: number) => until(() => app.waits.count() === count);

test("a wait returns as soon as the question is answered [§6.1]", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send);
  const waits = [agent.send, agent.send, person.send].map((send) =>
    send(`GET /v1/questions/${id}?wait=50`),
  );
  await asleep(3);
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  for (const { status, body } of await Promise.all(waits)) {
    expect([status, body.status, body.answer]).toEqual([200, "answered", "Yes"]);
  }
  expect(app.waits.owners()).toBe(0);
});

test("a wait ends pending after its seconds, and can be sent again [§6.1] [§6.2] [§10.4 wait_max]", async () => {
  const { agent } = await createPair(app.url);
  const { id } = await ask(agent.send);
  for (const seconds of [1, 50]) {
    let returned = false;
    const wait = agent.send(`GET /v1/questions/${id}?wait=${seconds}`).finally(() => {
      returned = true;
    });
    await asleep(1);
    await clock.advance(seconds - 0.001);
    expect([returned, app.waits.count()]).toEqual([false, 1]);
    await clock.advance(0.001);
    expect((await wait).body).toMatchObject({ id, status: "pending" });
  }
  expect((await agent.send(`GET /v1/questions/${id}?wait=0`)).body.status).toBe("pending");
  for (const wait of ["51", "-1", "1.5", "x", ""]) {
    const { status, body } = await agent.send(`GET /v1/questions/${id}?wait=${wait}`);
    expect([status, Object.keys(body.fields)]).toEqual([422, ["wait"]]);
  }
});

test("a wait whose time is up during a read ends after one more [§6.1]", async () => {
  const slow = Promise.withResolvers<void>();
  let reads = 0;
  const wait = app.waits.wait({
    owner: "slow",
    subjects: ["slow"],
    seconds: 5,
    signal: new AbortController().signal,
    async read() {
      if (++reads === 2) await slow.promise;
      return { value: reads, done: false, again_in: 1 };
    },
  });
  await asleep(1);
  await clock.advance(1);
  await clock.advance(10);
  slow.resolve();
  expect(await wait).toBe(3);
});

test("a wait that would outlast expires_at returns expired at that time [§6.3]", async () => {
  const { agent } = await createPair(app.url);
  const { id } = await ask(agent.send, { prompt: "p", expires_in: 60 });
  await clock.advance(30);
  let returned = false;
  const wait = agent.send(`GET /v1/questions/${id}?wait=50`).finally(() => {
    returned = true;
  });
  await asleep(1);
  await clock.advance(29.999);
  expect(returned).toBe(false);
  await clock.advance(0.001);
  expect((await wait).body).toMatchObject({ id, status: "expired" });
});

test("a wait ends when its question is cancelled or its task deleted [§6.1] [§5.5.6]", async () => {
  const { person, agent } = await createPair(app.url);
  const { body: task } = await agent.send("POST /v1/tasks", { title: "t" });
  const one = await ask(agent.send);
  const two = await ask(agent.send, { prompt: "p", task_id: task.id });
  const waits = [one, two].map(({ id }) => agent.send(`GET /v1/questions/${id}?wait=50`));
  await asleep(2);
  await agent.send(`DELETE /v1/questions/${one.id}`);
  await person.send(`DELETE /v1/tasks/${task.id}`);
  for (const { body } of await Promise.all(waits)) expect(body.status).toBe("cancelled");
});

test("a key has 32 concurrent waits and the 33rd is refused; other callers have their own [§6.5] [§9.2.1 429] [§10.2 waits]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person);
  const { id } = await ask(agent.send);
  const { id: others } = await ask(other.send);
  const full = Array.from({ length: 32 }, () => agent.send(`GET /v1/questions/${id}?wait=50`));
  await asleep(32);

  const refused = await agent.send(`GET /v1/questions/${id}?wait=1`);
  expect([refused.status, refused.body.code]).toEqual([429, "too_many_waits"]);
  expect(app.waits.refused()).toBe(1);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  // A request that need not sleep is not counted.
  expect((await agent.send(`GET /v1/questions/${id}`)).status).toBe(200);
  expect((await agent.send(`GET /v1/questions/${id}?wait=0`)).status).toBe(200);
  const mine = [
    other.send(`GET /v1/questions/${others}?wait=50`),
    person.send(`GET /v1/questions/${id}?wait=50`),
  ];
  await asleep(34);

  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  await person.send(`POST /v1/questions/${others}/answer`, { answer: "Yes" });
  const bodies = (await Promise.all([...full, ...mine])).map(({ body }) => body.status);
  expect(new Set(bodies)).toEqual(new Set(["answered"]));
  expect(app.waits.owners()).toBe(0);
  // A question that is no longer pending is answered at once, however many waits there are.
  expect((await agent.send(`GET /v1/questions/${id}?wait=50`)).status).toBe(200);
});

test("a client that disconnects frees its place among the waits at once [§6.5]", async () => {
  const { agent } = await createPair(app.url);
  const { id } = await ask(agent.send);
  const path = `GET /v1/questions/${id}?wait=50` as const;
  const controllers = Array.from({ length: 32 }, () => new AbortController());
  const waits = controllers.map(({ signal }) =>
    agent.send(path, undefined, { signal }).catch(() => "gone"),
  );
  await asleep(32);
  controllers[7]!.abort();
  await asleep(31);
  const next = agent.send(path);
  await asleep(32);
  expect((await agent.send(path)).status).toBe(429);
  for (const controller of controllers) controller.abort();
  await Promise.all(waits);
  await asleep(1);
  await agent.send(`DELETE /v1/questions/${id}`);
  expect((await next).body.status).toBe("cancelled");
});

test("ask-and-wait is one request, and creates nothing above the limit of waits", async () => {
  const { person, agent } = await createPair(app.url);
  const asked = agent.send("POST /v1/questions?wait=50", { prompt: "p" });
  // The place among the waits is taken before the question is created.
  const { id: asked_id } = await until(
    async () => (await person.send("GET /v1/questions")).body.questions[0],
  );
  await person.send(`POST /v1/questions/${asked_id}/answer`, { answer: "No" });
  expect(await asked).toMatchObject({ status: 201, body: { status: "answered", answer: "No" } });

  const { id } = await ask(agent.send);
  const held = Array.from({ length: 32 }, () => agent.send(`GET /v1/questions/${id}?wait=50`));
  await asleep(32);
  const refused = await agent.send("POST /v1/questions?wait=5", { prompt: "p" });
  expect([refused.status, refused.body.code]).toEqual([429, "too_many_waits"]);
  // The limit of waits is checked last, after the question itself.
  const unknown = await agent.send("POST /v1/questions?wait=5", { prompt: "p", task_id: "tsk_x" });
  expect(unknown.status).toBe(404);
  expect((await person.send("GET /v1/questions")).body.questions.length).toBe(1);
  for (let i = 0; i < 19; i++) await ask(agent.send);
  expect((await agent.send("POST /v1/questions?wait=5", { prompt: "p" })).status).toBe(409);
  await agent.send(`DELETE /v1/questions/${id}`);
  await Promise.all(held);
});

test("a deletion ends the waits of its credential with 401, and other waits with 404 [§4.1.5]", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send);
  const waits = [agent.send, person.send].map((send) => send(`GET /v1/questions/${id}?wait=50`));
  await asleep(2);
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  expect((await Promise.all(waits)).map(({ status }) => status)).toEqual([401, 404]);

  const second = await createAgent(app.url, person);
  const question = await ask(second.send);
  const rest = [second.send, person.send].map((send) =>
    send(`GET /v1/questions/${question.id}?wait=50`),
  );
  await asleep(2);
  await person.send("DELETE /v1/account");
  expect((await Promise.all(rest)).map(({ status }) => status)).toEqual([401, 401]);
});

test("an answer at any moment around the start of a wait is not missed [§6.1]", async () => {
  const { person, agent } = await createPair(app.url);
  for (let i = 0; i < 300; i++) {
    const { id } = await ask(agent.send);
    const wait = agent.send(`GET /v1/questions/${id}?wait=50`);
    // From before the request arrives until after it sleeps.
    for (let turn = 0; turn < i % 12; turn++) await new Promise((next) => setImmediate(next));
    await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
    // The clock stands still: a missed answer would hang here.
    expect((await wait).body.status).toBe("answered");
  }
});

test("an answer between the read and the sleep is not missed [§6.1]", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send);
  let reads = 0;
  const found = await app.waits.wait({
    owner: "race",
    subjects: [id],
    seconds: 50,
    signal: new AbortController().signal,
    async read() {
      const { body } = await agent.send(`GET /v1/questions/${id}`);
      // Committed and delivered after the read, before the wait can fall asleep.
      if (reads++ === 0) await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
      return { value: body, done: body.status !== "pending" };
    },
  });
  expect([found.status, reads]).toEqual(["answered", 2]);
});
