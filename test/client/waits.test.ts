/** Waits over several requests, and repeated requests. */

import { expect, test } from "bun:test";
import { createClient } from "../../src/client/client.ts";
import { startTestApp } from "../support/app.ts";
import { createPair, type Person } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startCutProxy } from "../support/cut-proxy.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const jitter = () => 0.5;
const app = await startTestApp({ clock });

/**
 * An agent's client that keeps its requests. By default it uses the server's clock, so that both reach
 * the end of a wait.
 */
async function createWorker(url = app.url, its_clock = clock) {
  const { person, agent } = await createPair(app.url);
  const requests: string[] = [];
  const client = createClient({
    url,
    credential: agent.secret,
    timers: { ...its_clock, jitter },
    fetch: (address, init) => {
      requests.push(`${init.method} ${address.slice(url.length)}`);
      return fetch(address, init);
    },
  });
  return { person, agent, client, requests };
}

const asleep = (count = 1) => until(() => app.waits.count() === count);

/** Answers the only pending question. */
async function answer({ send }: Person, text = "Yes"): Promise<void> {
  const { body } = await send("GET /v1/questions");
  await send(`POST /v1/questions/${body.questions[0].id}/answer`, { answer: text });
}

test("a wait for an answer continues over several requests [§6.2]", async () => {
  const { person, client, requests } = await createWorker();
  const { id } = await client.questions.ask({ prompt: "Go on?" });
  const answered = client.questions.waitForAnswer(id);
  await asleep();
  await clock.advance(50);
  await until(() => requests.length === 3);
  await asleep();
  await answer(person);
  expect(await answered).toMatchObject({ id, status: "answered", answer: "Yes" });
  const waiting = `GET /v1/questions/${id}?wait=50`;
  expect(requests).toEqual(["POST /v1/questions", waiting, waiting]);
});

test("a wait ends after the given number of seconds", async () => {
  const { client, requests } = await createWorker();
  const { id } = await client.questions.ask({ prompt: "Go on?" });
  const waited = client.questions.waitForAnswer(id, { within: 70 });
  await asleep();
  await clock.advance(50);
  await until(() => requests.length === 3);
  await asleep();
  await clock.advance(20);
  expect((await waited).status).toBe("pending");
  const waits = requests.slice(1).map((request) => request.split("?")[1]);
  expect(waits).toEqual(["wait=50", "wait=20", "wait=0"]);
});

test("an aborted wait frees its place on the server", async () => {
  const { client } = await createWorker();
  const { id } = await client.questions.ask({ prompt: "Go on?" });
  const ended = new AbortController();
  const waited = client.questions
    .waitForAnswer(id, { signal: ended.signal })
    .catch((error: unknown) => error);
  await asleep();
  ended.abort("enough");
  expect(await waited).toBe("enough");
  await asleep(0);
});

test("a lost connection neither ends a wait nor asks twice", async () => {
  const proxy = await startCutProxy(app.url);
  const own = createTestClock();
  const { person, client, requests } = await createWorker(proxy.url, own);
  const answered = client.questions.askAndWait({ prompt: "Go on?" });
  await asleep();
  proxy.down();
  await until(() => own.pendingIn(0.5) === 1);
  proxy.up();
  await own.advance(0.5);
  await until(() => requests.length === 3);
  await asleep();
  await answer(person);
  expect((await answered).answer).toBe("Yes");
});

test("a request whose response is lost is repeated under the same idempotency key and done once", async () => {
  const { person, agent } = await createPair(app.url);
  const own = createTestClock();
  let lose = 2;
  const client = createClient({
    url: app.url,
    credential: agent.secret,
    timers: { ...own, jitter },
    async fetch(url, init) {
      const response = await fetch(url, init);
      if (lose-- > 0) throw new TypeError("socket closed");
      return response;
    },
  });
  const created = client.once((given) => client.tasks.create({ title: "Once" }, given));
  for (const seconds of [0.5, 1]) {
    await until(() => own.pendingIn(seconds) === 1);
    await own.advance(seconds);
  }
  const task = await created;
  expect((await person.send("GET /v1/tasks")).body.tasks).toEqual([task]);
});

test("a request is not repeated beyond its time limit or after a refusal", async () => {
  const { agent } = await createPair(app.url);
  const own = createTestClock();
  let requests = 0;
  const client = createClient({
    url: app.url,
    credential: agent.secret,
    timers: { ...own, jitter },
    fetch: (url, init) => {
      requests++;
      return url.endsWith("/v1/messages") ? fetch(url, init) : Promise.reject(new TypeError());
    },
  });
  const lost = client
    .once((given) => client.tasks.create({ title: "t" }, given), { within: 1 })
    .catch(({ code }) => code);
  await until(() => own.pendingIn(0.5) === 1);
  await own.advance(0.5);
  expect(await lost).toBe("no_response");
  expect(requests).toBe(2);
  const message = { key_id: "key_none", text: "t" };
  const refused = client.once((given) => client.messages.send(message, given));
  expect(await refused.catch(({ code }) => code)).toBe("not_found");
  expect(requests).toBe(3);
});

test("a wait for inbox items ends with the first ones, and may leave them unread", async () => {
  const { person, agent, client, requests } = await createWorker();
  const found = client.inbox.waitForItems({ peek: true });
  await asleep();
  await clock.advance(50);
  await until(() => requests.length === 2);
  await asleep();
  await person.send("POST /v1/messages", { key_id: agent.key.id, text: "Stop" });
  expect(await found).toMatchObject({ items: [{ text: "Stop", read_at: null }], unread: 1 });
});
