/** Channel tests that a client asks for delay nobody and are delayed by nobody (§19.2.5). */

import { expect, test } from "bun:test";
import { NOTIFICATION_LIMITS } from "../../src/notification-limits.ts";
import { createHostSlots } from "../../src/notify/core/host-slots.ts";
import { TIME_LIMIT } from "../../src/notify/core/requests.ts";
import { ask, createPerson, WEBHOOK } from "../support/client.ts";
import { startNtfy } from "../support/ntfy.ts";
import { startNtfyWorld } from "../support/ntfy-world.ts";
import { gate, startReceiver } from "../support/receiver.ts";
import { until } from "../support/until.ts";

const { clock, app, begin, settled, advance } = await startNtfyWorld();

type Begun = Awaited<ReturnType<typeof begin>>;
const testOf = ({ person, id }: Pick<Begun, "person" | "id">) =>
  person.send(`POST /v1/channels/${id}/test`);

/** A person with several ntfy channels whose server never answers them. */
async function beginHanging(server: string, channels: number) {
  const { person } = await begin({}, server);
  const ids: string[] = [];
  for (let i = 0; i < channels; i++) {
    const channel = { type: "ntfy", label: "Phone", url: `${server}/hang-${i}` };
    const { status, body } = await person.send("POST /v1/channels", channel);
    expect(status).toBe(201);
    ids.push(body.channel.id);
  }
  return ids.map((id) => ({ person, id }));
}

test("channel tests of one account delay no test or question of another account to the same host [§19.2.5] [§19.4.6]", async () => {
  const server = await startNtfy();
  server.behave("hang some");
  const hanging = await beginHanging(server.url, 6);
  const other = await begin({}, server.url);
  const before = clock.pendingIn(NOTIFICATION_LIMITS.connection_wait);
  const stuck = hanging.map(testOf);
  await until(() => server.open() === 1);
  // The other account's test and question go at once, ahead of the five that wait.
  expect((await testOf(other)).body).toMatchObject({ status: "sent", reason: null });
  await ask(other.agent.send);
  await settled();
  expect(server.take().map(({ topic }) => topic)).toEqual([other.topic, other.topic]);
  // One of them is tried at a time; those that got no connection in time were not tried.
  await until(
    () => clock.pendingIn(NOTIFICATION_LIMITS.connection_wait) >= before + hanging.length,
  );
  await clock.advance(NOTIFICATION_LIMITS.connection_wait);
  await until(() => server.open() <= 1);
  await clock.advance(TIME_LIMIT);
  const told = await Promise.all(stuck);
  const reasons = told.map(({ body }) => body.reason);
  expect(new Set(reasons)).toEqual(new Set(["busy", "timed_out"]));
  // Nothing is known of a channel that was not tried.
  const { channels } = (await hanging[0]!.person.send("GET /v1/channels")).body;
  const untried = hanging.filter((_, i) => reasons[i] === "busy").map(({ id }) => id);
  for (const id of untried) {
    const one = channels.find((channel: { id: string }) => channel.id === id);
    expect(one).toMatchObject({ state: "ok", last_error: null });
  }
  // Their failures do not count against the host: a question is sent to it at once.
  await ask(other.agent.send);
  await settled();
  expect(server.take().map(({ topic }) => topic)).toEqual([other.topic]);
});

test("an ntfy channel answered with 410 to a test is gone until a test succeeds [§19.5.4]", async () => {
  const server = await startNtfy();
  const one = await begin({}, server.url);
  server.behave(410);
  expect((await testOf(one)).body).toMatchObject({ status: "failed", reason: "status_410" });
  expect((await one.read()).state).toBe("gone");
  server.behave("ok");
  await ask(one.agent.send);
  await advance(5);
  expect(server.take()).toEqual([]);
  expect((await testOf(one)).body.status).toBe("sent");
  expect((await one.read()).state).toBe("ok");
  await ask(one.agent.send);
  await settled();
  expect(server.take()).toHaveLength(2);
});

test("a webhook test reports busy if no connection is free in time, and makes none [§19.2.5]", async () => {
  const receiver = startReceiver();
  const slow = gate();
  receiver.behave(async () => {
    await slow.opened;
    return 200;
  });
  const create = async (path: string) => {
    const person = await createPerson(app.local_url);
    const channel = { ...WEBHOOK, url: receiver.url(path) };
    const { status, body } = await person.send("POST /v1/channels", channel);
    expect(status).toBe(201);
    return { person, id: body.channel.id as string };
  };
  for (let i = 0; i < 3; i++) await create(`/hang-${i}`);
  await until(() => receiver.open() === 3);
  // Failing channels leave the last connection free; a test has it now.
  const hanging = testOf(await create("/hang-3"));
  await until(() => receiver.open() === 4);
  const waiting = await create("/waiting");
  const before = clock.pendingIn(NOTIFICATION_LIMITS.connection_wait);
  const late = testOf(waiting);
  await until(() => clock.pendingIn(NOTIFICATION_LIMITS.connection_wait) > before);
  await clock.advance(NOTIFICATION_LIMITS.connection_wait);
  expect((await late).body).toMatchObject({ status: "failed", reason: "busy" });
  const { body } = await waiting.person.send("GET /v1/channels");
  expect(body.channels[0]).toMatchObject({ state: "ok", last_error: null });
  slow.open();
  expect((await hanging).body.status).toBe("sent");
  await app.webhooks.settled();
  expect(receiver.mostOfHost()).toBe(4);
});

test("tests have half of a host's connections, one per account, ahead of the account's queued messages [§19.2.5]", async () => {
  const slots = createHostSlots({ per_host: 4 });
  const { signal: until } = new AbortController();
  const served: string[] = [];
  const wait = async (owner: string, is_test = true) => {
    const release = await slots.wait("host", { owner, is_test, until });
    served.push(`${owner}${is_test ? " test" : ""}`);
    return release!;
  };
  const [a, , b, c] = ["a", "a", "b", "c"].map((owner) => wait(owner));
  const [endA, endB] = await Promise.all([a!, b!]);
  expect(served).toEqual(["a test", "b test"]);
  // The others are for queued messages.
  const queued = ["x", "y", "z"].map((owner) => slots.take("host", owner));
  expect(queued.map((release) => release !== null)).toEqual([true, true, false]);
  void wait("c", false);
  endA!();
  endB!();
  await c!;
  expect(served).toEqual(["a test", "b test", "a test", "c test"]);
  // Two connections that end at once wake two waiting tests.
  const other = createHostSlots({ per_host: 2 });
  const both = [other.take("host", "x")!, other.take("host", "y")!];
  const d = other.wait("host", { owner: "d", is_test: true, until });
  for (const end of both) end();
  expect(await d).not.toBeNull();
});

test("a test that is too late gets no connection, and the next in line does", async () => {
  const slots = createHostSlots({ per_host: 2 });
  const held = [slots.take("host", "x")!, slots.take("host", "y")!];
  const impatient = new AbortController();
  const late = slots.wait("host", { owner: "a", is_test: true, until: impatient.signal });
  const { signal } = new AbortController();
  const next = slots.wait("host", { owner: "b", is_test: true, until: signal });
  await Promise.resolve();
  impatient.abort();
  held[0]!();
  expect(await late).toBeNull();
  expect(await next).not.toBeNull();
});
