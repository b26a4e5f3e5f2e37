/** What the admin page and the metrics show of notifications. */

import { expect, test } from "bun:test";
import { ADMIN, adminClient, metricsOf } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { startApple } from "../support/apple.ts";
import { ask, createPair, DEVICE, WEBHOOK } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { sampleOf } from "../support/exposition.ts";
import { startNtfy } from "../support/ntfy.ts";
import { startPushService } from "../support/push-service.ts";
import { createPushWorld, newToken } from "../support/push-world.ts";
import { startReceiver } from "../support/receiver.ts";

/** Lanes that need no configuration. */
const BARE = ["ntfy", "web_push", "telegram", "webhook"];
const OTHERS = BARE.map((name) => ({
  ...{ channel: name, lane: name, environment: name },
  ...{ state: "open" as const, reason: null, since: expect.any(Number), in_flight: 0, counts: {} },
}));
const NAMED = { channel: "apns", lane: "sandbox", environment: "sandbox" };

test("the admin sees the lanes, their queues and the latest outcomes", async () => {
  const world = await createPushWorld({ env: ADMIN });
  const { app, apple, clock } = world;
  const admin = adminClient(app.url);
  const { agent, phones } = await world.people("a");
  await world.settle();
  await ask(agent.send, { prompt: "zanzibar" });
  await world.advance(5);
  const accepted = apple.received.length;
  const [told, { text, all }] = [await admin.pushes.query(), await metricsOf(app.url)];
  expect(told.lanes).toEqual([
    {
      ...NAMED,
      state: "open",
      reason: null,
      since: expect.any(Number),
      in_flight: 0,
      counts: { ok: accepted },
    },
    ...OTHERS,
  ]);
  expect(told.queues).toEqual([]);
  const { minutes } = await admin.series.query();
  const accepted_then = minutes.map(({ pushes_accepted }) => pushes_accepted);
  expect(accepted_then.reduce((sum, one) => sum + one, 0)).toBe(accepted);
  expect(minutes.map(({ pushes_failed }) => pushes_failed)).toEqual(minutes.map(() => 0));
  const none = { pointless: 0, expired: 0, invalid_token: 0, unclear: 0, refused: 0 };
  expect(told.outcomes).toEqual({ sent: accepted, ...none });
  expect(told.outcomes_by_channel).toEqual([
    { channel: "apns", outcomes: { sent: accepted, ...none } },
  ]);
  expect(told.failures).toEqual([]);
  expect(sampleOf(all, "relay_push_lane_open", NAMED)).toBe(1);
  expect(sampleOf(all, "relay_push_in_flight", NAMED)).toBe(0);
  expect(sampleOf(all, "relay_push_answers_total", { ...NAMED, reason: "ok" })).toBe(accepted);
  // Zeros are reported too, so that an alarm can watch them.
  expect(sampleOf(all, "relay_push_queued", NAMED)).toBe(0);
  expect(sampleOf(all, "relay_push_oldest_seconds", NAMED)).toBe(0);
  const [phone] = phones;
  for (const secret of ["zanzibar", phone!.id, phone!.apns_token]) {
    // Matched as a word, since a sum may happen to contain the digits of a token.
    for (const one of [JSON.stringify(told), text])
      expect(one).not.toMatch(new RegExp(`\\b${secret}\\b`));
  }

  apple.behave(({ type }) =>
    type === "alert" ? { status: 400, reason: "PayloadEmpty" } : undefined,
  );
  const refused_at = clock.now();
  await ask(agent.send, { prompt: "one" });
  await world.advance(5);
  const refused = await admin.pushes.query();
  expect(refused.outcomes).toMatchObject({ refused: 1 });
  expect(refused.failures).toEqual([
    {
      ...NAMED,
      kind: "question",
      outcome: "refused",
      reason: "PayloadEmpty",
      attempts: 1,
      created_at: refused_at,
      done_at: refused_at,
    },
  ]);

  // A rejected key stops the lane, and later notifications wait.
  apple.behave(() => ({ status: 403, reason: "InvalidProviderToken" }));
  await ask(agent.send, { prompt: "two" });
  const asked_at = clock.now();
  await world.advance(20);
  const [[waiting]] = (await world.rows("select count(*) from deliveries")) as [[number]];
  const stopped = await admin.pushes.query();
  expect(stopped.lanes[0]).toMatchObject({ state: "stopped", reason: "InvalidProviderToken" });
  expect(stopped.queues).toEqual([
    { ...NAMED, rows: waiting, oldest_at: asked_at, due_at: asked_at },
  ]);
  const after = (await metricsOf(app.url)).all;
  expect(sampleOf(after, "relay_push_lane_open", NAMED)).toBe(0);
  expect(sampleOf(after, "relay_push_queued", NAMED)).toBe(waiting);
  expect(sampleOf(after, "relay_push_oldest_seconds", NAMED)).toBeCloseTo(20, 5);
  expect(sampleOf(after, "relay_push_overdue_seconds", NAMED)).toBeCloseTo(20, 5);
  const refusal = { ...NAMED, reason: "InvalidProviderToken" };
  expect(sampleOf(after, "relay_push_answers_total", refusal)).toBeGreaterThan(0);
  await world.advance(60);
  const minute = (await admin.series.query()).minutes.at(-1)!;
  expect([minute.pushes_queued, minute.pushes_accepted]).toEqual([waiting, 0]);
  const failed = (await admin.series.query()).minutes.map(({ pushes_failed }) => pushes_failed);
  expect(failed.some((times) => times > 0)).toBe(true);
});

test("without configuration, the admin sees the lanes that need none, and their metrics", async () => {
  const app = await startTestApp({ env: ADMIN });
  expect(await adminClient(app.url).pushes.query()).toMatchObject({
    lanes: OTHERS,
    off: ["apns"],
    queues: [],
    failures: [],
    outcomes_by_channel: [],
  });
  const { all } = await metricsOf(app.url);
  const lanes = all.get("relay_push_lane_open")!.series.map(({ labels }) => labels.lane);
  expect(lanes).toEqual(BARE);
});

test("the admin sees the webhook queue like any other, and the answers of webhooks are counted", async () => {
  const receiver = startReceiver();
  const clock = createTestClock();
  const app = await startTestApp({ clock, env: ADMIN, jitter: () => 1 });
  const { person, agent } = await createPair(app.url);
  await person.send("POST /v1/channels", { ...WEBHOOK, url: receiver.url("/hook") });
  await app.webhooks.settled();
  receiver.behave(() => 500);
  await ask(agent.send);
  await app.webhooks.settled();
  await clock.advance(2);
  const { lanes, queues } = await adminClient(app.url).pushes.query();
  expect(lanes.at(-1)).toMatchObject({ channel: "webhook", counts: { ok: 1, status_500: 1 } });
  expect(queues).toMatchObject([{ channel: "webhook", lane: "webhook", rows: 1 }]);
  // What waits for its next attempt is old, but not late.
  const { all } = await metricsOf(app.url);
  const labels = { channel: "webhook", lane: "webhook", environment: "webhook" };
  const late = ["relay_push_oldest_seconds", "relay_push_overdue_seconds"];
  expect(late.map((name) => sampleOf(all, name, labels)! > 0)).toEqual([true, false]);
});

test("deliveries of questions are counted by channel type and by the furthest state each reached", async () => {
  const receiver = startReceiver();
  const clock = createTestClock();
  const app = await startTestApp({ clock, env: ADMIN, jitter: () => 1 });
  const { person, agent } = await createPair(app.url);
  const seenBy = async (...events: string[]) => {
    const { id } = await ask(agent.send);
    for (const event of events) {
      const { status } = await person.send(`POST /v1/questions/${id}/receipts`, { event });
      expect(status).toBe(204);
    }
  };
  const furthest = async () => (await adminClient(app.url).pushes.query()).deliveries_by_type;
  expect(await furthest()).toEqual([]);
  const body = { ...WEBHOOK, url: receiver.url("/hook") };
  await person.send("POST /v1/channels", body);
  await app.webhooks.settled();
  await seenBy("shown");
  await seenBy("shown", "opened");
  await app.webhooks.settled();
  receiver.behave(() => 410);
  await seenBy("shown");
  await app.webhooks.settled();
  await clock.advance(2);
  expect(await furthest()).toEqual([
    { type: "page", furthest: { opened: 1, shown: 2 } },
    { type: "webhook", furthest: { failed: 1, sent: 2 } },
  ]);
});

test("each of four channels has its own lane, answers and outcomes", async () => {
  const clock = createTestClock();
  const [apple, service, topics] = await Promise.all([
    startApple({ now: clock.now }),
    startPushService({ now: clock.now }),
    startNtfy(),
  ]);
  const receiver = startReceiver();
  const env = { ...ADMIN, ...apple.env("SANDBOX"), ...service.env };
  const app = await startTestApp({ clock, env });
  const { person, agent } = await createPair(app.url);
  const device = { ...DEVICE, apns_token: newToken() };
  await person.send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, device);
  for (const body of [
    { ...WEBHOOK, url: receiver.url("/hook") },
    { type: "ntfy", label: "Topic", url: `${topics.url}/topic` },
    { type: "web_push", label: "Browser", subscription: service.subscribe() },
  ]) {
    expect((await person.send("POST /v1/channels", body)).status).toBe(201);
  }
  await app.webhooks.settled();
  const question = await ask(agent.send);
  await Promise.all([app.sender.settled(), app.webhooks.settled()]);
  const { body } = await person.send(`GET /v1/questions/${question.id}/deliveries`);
  const types = body.deliveries.map(({ target, status }: any) => `${target.type} ${status}`);
  expect(types.toSorted()).toEqual(["apns sent", "ntfy sent", "web_push sent", "webhook sent"]);
  const told = await adminClient(app.url).pushes.query();
  const names = ["apns", "ntfy", "web_push", "webhook"];
  expect(told.lanes.map(({ channel }) => channel)).toEqual(["apns", ...BARE]);
  const used = told.lanes.filter(({ channel }) => channel !== "telegram");
  expect(used.every(({ counts }) => (counts.ok ?? 0) > 0)).toBe(true);
  expect(told.off).toEqual([]);
  // Webhooks have no outcome records because their messages are not notifications.
  const counted = told.outcomes_by_channel!.map(({ channel }) => channel);
  expect(counted.toSorted()).toEqual(names.slice(0, 3));
  const { all } = await metricsOf(app.url);
  expect(told.deliveries_by_type).toEqual(
    ["apns", "ntfy", "web_push", "webhook"].map((type) => ({ type, furthest: { sent: 1 } })),
  );
  for (const name of names) {
    const lane = told.lanes.find(({ channel }) => channel === name)!.lane;
    const labels = { channel: name, lane, environment: lane };
    expect(sampleOf(all, "relay_push_lane_open", labels)).toBe(1);
    expect(sampleOf(all, "relay_push_answers_total", { ...labels, reason: "ok" })).toBeGreaterThan(
      0,
    );
  }
});
