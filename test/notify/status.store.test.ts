/** What is visible of pushes from outside, how long it is kept, and that processes share the work. */

import { expect, test } from "bun:test";
import { ask, client } from "../support/client.ts";
import { createPushWorld } from "../support/push-world.ts";
import { until } from "../support/until.ts";

test("outcome records are listed newest first, kept for 7 days and deleted with their key", async () => {
  const world = await createPushWorld();
  const { agent, person, phones } = await world.people("a");
  await world.settle();
  const from = world.clock.now();
  await ask(agent.send, { prompt: "one" });
  await world.settle();
  await world.advance(10);
  await ask(agent.send, { prompt: "two" });
  await world.settle();
  const { lanes, queues, records } = await world.app.services.deliveryFigures.read(2);
  expect(records).toEqual([
    {
      delivery_id: expect.any(String),
      lane: "sandbox",
      recipient_id: phones[0]!.id,
      kind: "question",
      outcome: "sent",
      reason: null,
      attempts: 1,
      created_at: from + 10,
      tried_at: from + 10,
      done_at: from + 10,
    },
    { ...records[1]!, created_at: from, tried_at: from, done_at: from },
  ]);
  expect(queues).toEqual([]);
  expect(lanes.slice(0, 1)).toEqual([
    {
      channel: "apns",
      lane: "sandbox",
      state: "open",
      reason: null,
      since: expect.any(Number),
      in_flight: 0,
      counts: { ok: world.apple.received.length },
    },
  ]);
  const kept = async () => (await world.app.services.deliveryFigures.read(100)).records.length;
  const all = await kept();
  await world.skip(7 * 86_400 - 120);
  await world.advance(60, 30);
  expect(await kept()).toBeGreaterThanOrEqual(all);
  await world.advance(240, 60);
  const left = (await world.app.services.deliveryFigures.read(100)).records;
  expect(left.filter(({ done_at }) => done_at < from + 60)).toEqual([]);

  await ask(agent.send, { prompt: "three" });
  await world.settle();
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  await world.advance(5);
  const own = `select * from delivery_records where key_id = '${agent.key.id}' and kind = 'question'`;
  expect(await world.rows(own)).toEqual([]);
});

test("two processes share the due pushes and send nothing twice", async () => {
  const world = await createPushWorld();
  const { apple } = world;
  const { agent, person } = await world.people();
  for (let i = 0; i < 20; i++) await world.phone(person, `p${i}`);
  const peer = await world.start();
  const there = client(peer.url, agent.secret);
  await Promise.all([world.app.sender.settled(), peer.sender.settled()]);
  apple.forget();
  const all = apple.hold();
  const asks = Array.from({ length: 18 }, (_, i) =>
    ask(i % 2 ? agent.send : there, { prompt: `q${i}` }),
  );
  await Promise.all(asks);
  // Each process has begun to send.
  await until(() => [world.app, peer].every(({ sender }) => sender.health()[0]!.in_flight > 0));
  all.release();
  for (let i = 0; i < 5; i++) {
    await Promise.all([world.app.sender.settled(), peer.sender.settled()]);
    await world.clock.advance(1);
  }
  await Promise.all([world.app.sender.settled(), peer.sender.settled()]);
  expect(apple.received.length).toBe(18 * 20);
  expect(new Set(apple.delivered.map(({ apns_id }) => apns_id)).size).toBe(18 * 20);
  const shares = [world.app, peer].map(({ sender }) => sender.health()[0]!.counts.ok ?? 0);
  expect(Math.min(...shares)).toBeGreaterThan(0);
});

test("back-off has full jitter: it is between nothing and its whole spread", async () => {
  for (const [chance, least, most] of [
    [0, 0, 2],
    [0.5, 15, 17],
    [0.999, 29, 32],
  ] as const) {
    const world = await createPushWorld({ jitter: () => chance });
    const { agent, phones } = await world.people("a");
    await world.settle();
    let first = true;
    world.apple.behave(({ token }) => {
      if (token !== phones[0]!.apns_token || !first) return undefined;
      first = false;
      return { status: 429, reason: "TooManyRequests" };
    });
    world.apple.forget();
    await ask(agent.send, { prompt: "one" });
    await world.advance(35);
    const times = world.apple.received.map(({ time }) => time);
    expect(times.length).toBe(2);
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(least);
    expect(times[1]! - times[0]!).toBeLessThanOrEqual(most);
  }
});
