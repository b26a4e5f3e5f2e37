/** How ntfy refusals, failures and hanging hosts are handled (§19.5.4). */

import { expect, test } from "bun:test";
import { NOTIFICATION_LIMITS } from "../../src/notification-limits.ts";
import { ask } from "../support/client.ts";
import { startNtfy } from "../support/ntfy.ts";
import { startNtfyWorld } from "../support/ntfy-world.ts";
import { until } from "../support/until.ts";

const { clock, app, ntfy, settled, begin, advance } = await startNtfyWorld();

test("a token opens a protected topic, and a refusal shows on the channel [§19.5.1] [§19.5.4]", async () => {
  const guarded = await startNtfy({ token: "tk_secret" });
  const { agent, person, read } = await begin({ token: "tk_wrong" }, guarded.url);
  await ask(agent.send);
  await settled();
  expect(await read()).toMatchObject({ state: "failing", last_error: { code: "status_403" } });
  const right = await begin({ token: "tk_secret" }, guarded.url);
  const sent = await right.person.send(`POST /v1/channels/${right.id}/test`);
  expect(sent.body).toMatchObject({ status: "sent", target: { type: "ntfy", label: "Phone" } });
  await ask(right.agent.send);
  await settled();
  expect(guarded.take().map(({ title }) => title)).toEqual(["Relay", "Question from builder"]);
  expect(await right.read()).toMatchObject({ state: "ok", last_sent_at: clock.now() });
  const told = JSON.stringify((await person.send("GET /v1/channels")).body) + app.lines.join();
  for (const secret of ["tk_wrong", "tk_secret"]) expect(told).not.toContain(secret);
});

test("three failures in a row make an ntfy channel failing, and a success ends that [§19.1.5]", async () => {
  const { agent, read } = await begin();
  ntfy.behave(500);
  await ask(agent.send, { prompt: "Go?", expires_in: 86_400 });
  await settled();
  expect((await read()).state).toBe("ok");
  await advance(30);
  expect(await read()).toMatchObject({ state: "failing", last_error: { code: "status_500" } });
  ntfy.behave("ok");
  await advance(300, 5);
  expect(ntfy.take().length).toBe(1);
  expect((await read()).state).toBe("ok");
});

test("Retry-After holds the ntfy topic, as a number or as a date [§19.5.4]", async () => {
  const seconds = () => "60";
  const date = () => new Date((clock.now() + 60) * 1000).toUTCString();
  for (const retryAfter of [seconds, date]) {
    const { agent } = await begin();
    ntfy.behave({ status: 429, retry_after: retryAfter() });
    await ask(agent.send, { prompt: "Go?", expires_in: 86_400 });
    await settled();
    ntfy.behave("ok");
    await advance(55);
    expect(ntfy.take()).toEqual([]);
    await advance(40);
    expect(ntfy.take()).toHaveLength(1);
  }
});

test("Retry-After holds the ntfy topic for an hour at most [§19.5.4]", async () => {
  const { agent } = await begin();
  ntfy.behave({ status: 429, retry_after: "999999999" });
  await ask(agent.send, { prompt: "Go?", expires_in: 86_400 });
  await settled();
  ntfy.behave("ok");
  await advance(3_500, 500);
  expect(ntfy.take()).toEqual([]);
  await advance(200, 10);
  expect(ntfy.take()).toHaveLength(1);
});

test("a new question is tried on a topic that has been refused for an hour [§19.5.4]", async () => {
  const { agent } = await begin();
  ntfy.behave(429);
  await ask(agent.send, { prompt: "Old?", expires_in: 86_400 });
  await settled();
  await advance(3_700, 20);
  const refused = ntfy.received();
  // Each is tried once by itself, and several make no burst.
  for (const prompt of ["A?", "B?", "C?"]) await ask(agent.send, { prompt, expires_in: 600 });
  await advance(95, 5);
  expect(ntfy.received() - refused).toBeGreaterThanOrEqual(3);
  expect(ntfy.received() - refused).toBeLessThanOrEqual(5);
  ntfy.behave("ok");
  ntfy.take();
  await ask(agent.send, { prompt: "New?", expires_in: 60 });
  await advance(31);
  expect(ntfy.take().map(({ message }) => message)).toContain("New?");
  await advance(300, 5);
  expect(ntfy.take().map(({ message }) => message)).toContain("Old?");
});

test("a question that would end before Retry-After does is tried once [§19.5.4]", async () => {
  const { agent, topic } = await begin();
  // Channels of earlier tests may still get what waited for them.
  const taken = () => ntfy.take().flatMap((one) => (one.topic === topic ? [one.message] : []));
  ntfy.behave({ status: 429, retry_after: "3000" });
  await ask(agent.send, { prompt: "Old?", expires_in: 86_400 });
  await settled();
  ntfy.behave("ok");
  ntfy.take();
  await ask(agent.send, { prompt: "Long?", expires_in: 86_400 });
  await advance(60, 5);
  expect(taken()).toEqual([]);
  await ask(agent.send, { prompt: "Short?", expires_in: 60 });
  await settled();
  expect(taken()).toEqual(["Short?"]);
});

test("a topic that is gone is used again once a test has succeeded [§19.5.4] [§19.2.5]", async () => {
  const { agent, person, id, read } = await begin();
  ntfy.behave(410);
  await ask(agent.send);
  await settled();
  expect((await read()).state).toBe("gone");
  ntfy.behave("ok");
  await ask(agent.send);
  await advance(5);
  expect(ntfy.take()).toEqual([]);
  expect((await person.send(`POST /v1/channels/${id}/test`)).body.status).toBe("sent");
  await ask(agent.send);
  await settled();
  expect(ntfy.take().map(({ title }) => title)).toEqual(["Relay", "Question from builder"]);
});

test("a host that hangs delays nobody and is then tried by one request at a time [§19.5.4]", async () => {
  const slow = await startNtfy();
  slow.behave("hang");
  const stuck = [];
  for (let i = 0; i < 3; i++) stuck.push(await begin({}, slow.url));
  for (const { agent } of stuck) {
    for (let i = 0; i < 4; i++) await ask(agent.send, { prompt: `q${i}`, expires_in: 86_400 });
  }
  await until(() => slow.open() === 4);
  const quick = await begin();
  await ask(quick.agent.send);
  await until(() => ntfy.published.length === 1);
  expect(slow.open()).toBe(4);
  // All four are given up after 5 seconds; then there is one at a time.
  await clock.advance(5);
  await until(() => slow.open() === 0);
  for (let probe = 0; probe < 3; probe++) {
    const before = slow.received();
    await until(async () => {
      await clock.advance(0.25);
      return slow.received() > before;
    });
    // Others of the same turn would have arrived by now.
    for (let turn = 0; turn < 20; turn++) await new Promise((next) => setImmediate(next));
    expect(slow.open()).toBeLessThanOrEqual(1);
    await ask(quick.agent.send);
    await until(() => ntfy.published.length === probe + 2);
    await clock.advance(5);
    await until(() => slow.open() === 0);
  }
  slow.behave("ok");
  await advance(400, 5);
  expect(slow.published.length).toBe(12);
});

test("a test of an ntfy channel waits for a connection to its host [§19.2.5]", async () => {
  const slow = await startNtfy();
  slow.behave("hang");
  const stuck = [];
  for (let i = 0; i < 4; i++) stuck.push(await begin({}, slow.url));
  const waiting = await begin({}, slow.url);
  const testOf = ({ person, id }: typeof waiting) => person.send(`POST /v1/channels/${id}/test`);
  for (const { agent } of stuck) await ask(agent.send, { prompt: "Go?", expires_in: 86_400 });
  await until(() => slow.open() === 4);
  await clock.advance(1);
  const before = clock.pendingIn(NOTIFICATION_LIMITS.connection_wait);
  const late = testOf(waiting);
  await until(() => clock.pendingIn(NOTIFICATION_LIMITS.connection_wait) > before);
  expect(slow.open()).toBe(4);
  slow.behave("ok");
  // The hanging requests end, and the test goes before the queue.
  await clock.advance(4);
  expect((await late).body).toMatchObject({ status: "sent", reason: null });
});

test("a test of an ntfy channel tries a host that has just failed [§19.2.5]", async () => {
  const slow = await startNtfy();
  slow.behave("hang");
  const { agent, person, id } = await begin({}, slow.url);
  const test = () => person.send(`POST /v1/channels/${id}/test`);
  await ask(agent.send, { prompt: "Go?", expires_in: 86_400 });
  await until(() => slow.open() === 1);
  await clock.advance(5);
  await until(() => slow.open() === 0);
  // The host has just failed: the queue waits, and a test does not.
  slow.behave("ok");
  expect((await test()).body.status).toBe("sent");
});
