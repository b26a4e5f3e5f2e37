/** What all pushes of an environment share: provider tokens, a stopped lane, the pool of requests. */

import { expect, test } from "bun:test";
import { ACCOUNT_SHARE } from "../../src/notify/core/account-turns.ts";
import { REQUESTS, RESERVED } from "../../src/notify/core/request-pool.ts";
import { TIME_LIMIT } from "../../src/notify/core/requests.ts";
import { startApple } from "../support/apple.ts";
import { ask, createTask } from "../support/client.ts";
import { createPushWorld } from "../support/push-world.ts";
import { until } from "../support/until.ts";

const EXPIRED = { status: 403, reason: "ExpiredProviderToken" };
const questionsOf = async (send: Parameters<typeof ask>[0], count: number) => {
  for (let i = 0; i < count; i++) await ask(send, { prompt: `q${i}`, expires_in: 86_400 });
};

test("200 requests refused at once for an expired provider token lead to one new token", async () => {
  const world = await createPushWorld();
  const { apple } = world;
  const { person, agent } = await world.people();
  for (let i = 0; i < 20; i++) await world.phone(person, `p${i}`, { push_to_start_token: null });
  await world.settle();
  await world.advance(61);
  await createTask(agent.send);
  await world.settle();
  apple.forget();
  const first = apple.lastJwt();
  apple.gather(200);
  apple.behave(({ jwt }) => (jwt === first ? EXPIRED : undefined));
  await questionsOf(agent.send, 10);
  await world.settle();
  const tokens = new Set(apple.received.map(({ jwt }) => jwt));
  expect(apple.received.filter(({ jwt }) => jwt === first).length).toBe(200);
  expect(tokens.size).toBe(2);
  expect(apple.received.length).toBe(400);
  expect(apple.delivered.length).toBe(200);
  expect(new Set(apple.delivered.map(({ apns_id }) => apns_id)).size).toBe(200);
});

test("a provider token is made at most every 20 minutes; the lane waits, then continues", async () => {
  const world = await createPushWorld();
  const { apple } = world;
  const { agent } = await world.people("a");
  await world.settle();
  apple.forget();
  apple.behave(() => EXPIRED);
  await questionsOf(agent.send, 2);
  await world.settle();
  const seen = () => new Set(apple.received.map(({ jwt }) => jwt)).size;
  expect(seen()).toBe(2);
  expect(world.app.sender.health()[0]).toMatchObject({ state: "paused", reason: EXPIRED.reason });
  const so_far = apple.received.length;
  await world.advance(1_190, 10);
  expect(apple.received.length).toBe(so_far);
  apple.behave(() => undefined);
  await world.advance(20, 1);
  expect(world.app.sender.health()[0]!.state).toBe("open");
  expect(apple.delivered.filter(({ type }) => type === "alert").length).toBe(2);
});

test("a provider token is used for 45 minutes and renewed within the hour", async () => {
  const world = await createPushWorld();
  const { apple, clock } = world;
  const { agent } = await world.people("a");
  await world.settle();
  apple.forget();
  const from = clock.now();
  for (let i = 0; i < 19; i++) {
    await questionsOf(agent.send, 1);
    await world.settle();
    await world.skip(600);
  }
  const uses = new Map<string, number[]>();
  for (const { jwt, time } of apple.received) {
    uses.set(jwt, [...(uses.get(jwt) ?? []), time - from]);
  }
  expect(uses.size).toBe(4);
  for (const times of uses.values()) expect(times.at(-1)! - times[0]!).toBeLessThan(3_600);
  expect(apple.faults).toEqual([]);
});

test("another 403 stops the lane: rows wait until they expire, and health says why", async () => {
  const world = await createPushWorld();
  const { apple } = world;
  const { agent } = await world.people("a");
  await world.settle();
  apple.forget();
  apple.behave(() => ({ status: 403, reason: "InvalidProviderToken" }));
  await ask(agent.send, { prompt: "one", expires_in: 120 });
  await world.settle();
  await ask(agent.send, { prompt: "two", expires_in: 86_400 });
  await world.advance(100);
  expect(apple.received.length).toBe(1);
  const status = await world.app.services.deliveryFigures.read(5);
  expect(status.lanes[0]).toMatchObject({
    channel: "apns",
    lane: "sandbox",
    state: "stopped",
    reason: "InvalidProviderToken",
  });
  expect(status.lanes[0]!.counts).toMatchObject({ InvalidProviderToken: 1 });
  expect(status.queues).toMatchObject([{ lane: "sandbox", rows: 2 }]);
  const told = world.app.lines.filter((line) => line.includes("lane stopped"));
  expect(told.length).toBe(1);
  await world.advance(35);
  const [first] = (await world.app.services.deliveryFigures.read(1)).records;
  expect(first).toMatchObject({ kind: "question", outcome: "expired", attempts: 1 });
  // Another process with another configuration may continue.
  apple.behave(() => undefined);
  const other = await world.start();
  await other.sender.settled();
  const texts = apple.delivered.filter(({ type }) => type === "alert");
  expect(texts.map(({ payload }) => payload.aps.alert.body)).toEqual(["two"]);
});

test("a lane that was refused because of a clock goes on once the clock is set", async () => {
  const world = await createPushWorld();
  const { apple, clock } = world;
  let ahead = 0;
  apple.setNow(() => clock.now() - ahead);
  const { agent } = await world.people("a");
  await world.settle();
  ahead = 600;
  clock.shiftWall(ahead);
  apple.forget();
  await ask(agent.send, { prompt: "one" });
  await world.advance(30);
  expect([apple.received.length, apple.delivered.length, apple.faults.length]).toEqual([1, 0, 1]);
  clock.shiftWall(-ahead);
  ahead = 0;
  await world.advance(25);
  expect(apple.delivered.map(({ payload }) => payload.aps.alert?.body)).toEqual(["one"]);
});

test("429 TooManyProviderTokenUpdates keeps the provider token and pauses the lane", async () => {
  const world = await createPushWorld();
  const { apple } = world;
  const { agent } = await world.people("a");
  await world.settle();
  apple.forget();
  let times = 0;
  apple.behave(() =>
    times++ < 2 ? { status: 429, reason: "TooManyProviderTokenUpdates" } : undefined,
  );
  await ask(agent.send, { prompt: "one" });
  await world.settle();
  await ask(agent.send, { prompt: "two" });
  await world.advance(29);
  expect(apple.received.length).toBe(1);
  expect(world.app.sender.health()[0]).toMatchObject({
    state: "paused",
    reason: "TooManyProviderTokenUpdates",
  });
  await world.advance(200);
  expect(apple.delivered.filter(({ type }) => type === "alert").length).toBe(2);
  expect(new Set(apple.received.map(({ jwt }) => jwt)).size).toBe(1);
  expect(world.app.sender.health()[0]!.state).toBe("open");
});

test("a lane pauses for 5 minutes at most, however often in a row [§14.7]", async () => {
  const world = await createPushWorld();
  const { apple } = world;
  const { agent } = await world.people("a");
  await world.settle();
  apple.forget();
  apple.behave(() => ({ status: 429, reason: "TooManyProviderTokenUpdates" }));
  await ask(agent.send, { prompt: "one", expires_in: 86_400 });
  await world.settle();
  const waits: number[] = [];
  for (let seconds = 0; waits.length < 6; ) {
    const before = apple.received.length;
    await world.advance(5, 5);
    seconds += 5;
    if (apple.received.length === before) continue;
    waits.push(seconds);
    seconds = 0;
  }
  expect(waits.map((wait) => Math.round(wait / 30) * 30)).toEqual([30, 60, 120, 240, 300, 300]);
});

test("two lanes whose service hangs share the requests of the process, then send everything", async () => {
  const production = await startApple();
  const world = await createPushWorld({ env: production.env("PRODUCTION") });
  production.setNow(world.clock.now);
  const { apple, app } = world;
  const { person, agent } = await world.people();
  for (let i = 0; i < 10; i++) {
    await world.phone(person, `s${i}`, { push_to_start_token: null });
    const of_production = { push_to_start_token: null, apns_environment: "production" };
    await world.phone(person, `p${i}`, of_production);
  }
  await world.advance(61, 2);
  apple.forget();
  production.forget();
  for (const one of [apple, production]) one.behave(() => ({ hang: true }));
  await questionsOf(agent.send, 15);
  const underWay = () => [apple.silentStreams(), production.silentStreams()];
  // Except for the share that an account leaves to others.
  const share = ACCOUNT_SHARE / (ACCOUNT_SHARE + 1);
  const most = Math.floor((REQUESTS - RESERVED) * share);
  await until(() => underWay()[0]! + underWay()[1]! >= most);
  expect(Math.min(...underWay())).toBeGreaterThanOrEqual(RESERVED);
  const of_lanes = app.sender.health().filter(({ channel }) => channel === "apns");
  expect(of_lanes.map(({ in_flight }) => in_flight).toSorted()).toEqual(underWay().toSorted());
  for (const one of [apple, production]) one.behave(() => undefined);
  await world.clock.advance(TIME_LIMIT + 0.1);
  await world.advance(10, 1);
  for (const one of [apple, production]) {
    const alerts = one.delivered.filter(({ type }) => type === "alert");
    expect(alerts.length).toBe(15 * 10);
  }
});
