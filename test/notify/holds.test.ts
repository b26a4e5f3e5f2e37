/** How long a token waits after the push service told Relay to slow down. */

import { expect, test } from "bun:test";
import { createAddressHolds } from "../../src/notify/core/address-holds.ts";
import { ask } from "../support/client.ts";
import { createPushWorld } from "../support/push-world.ts";

const busy = { status: 429, reason: "TooManyRequests" } as const;

test("refusals of pushes sent at the same time count as one", async () => {
  const world = await createPushWorld();
  const { apple } = world;
  const { agent } = await world.people("a");
  await world.advance(61, 2);
  apple.forget();
  let refused = 0;
  apple.gather(8);
  apple.behave(({ type }) => (type === "alert" && refused++ < 8 ? busy : undefined));
  const from = world.clock.now();
  const questions = Array.from({ length: 8 }, (_, i) =>
    ask(agent.send, { prompt: `q${i}`, expires_in: 3_600 }),
  );
  await Promise.all(questions);
  await world.settle();
  expect(apple.received.length).toBe(8);
  await world.advance(40, 2);
  const alerts = apple.delivered.filter(({ type }) => type === "alert");
  expect(alerts.length).toBe(8);
  for (const { time } of alerts) {
    expect(time - from).toBeGreaterThanOrEqual(30);
    expect(time - from).toBeLessThan(34);
  }
});

test("the hold doubles with each round, is never shortened and ends with a later success", () => {
  let now = 100;
  const holds = createAddressHolds(({ least, spread }) => now + least + spread);
  const [first, second, third] = [holds.turn(), holds.turn(), holds.turn()];
  expect(holds.hold("a", 0, first)).toBe(130);
  // A success in the same round does not end the hold, and a refusal in it can only extend it.
  holds.release("a", second);
  expect(holds.until("a")).toBe(130);
  now = 101;
  expect(holds.hold("a", 0, second)).toBe(130);
  expect(holds.hold("a", 50, third)).toBe(151);
  now = 151;
  const next = holds.turn();
  expect(holds.hold("a", 0, next)).toBe(211);
  now = 211;
  const other = holds.turn();
  expect(holds.hold("b", 0, other)).toBe(241);
  holds.release("a", other);
  expect(holds.until("a")).toBe(0);
  expect(holds.hold("a", 0, holds.turn())).toBe(241);
});

test("a hold that no service asked for ends within minutes, and a new question probes it [§19.5.4]", () => {
  let now = 100;
  const holds = createAddressHolds(({ least, spread }) => now + least + spread);
  for (let i = 0; i < 20; i++) holds.hold("a", 0, holds.turn());
  expect(holds.until("a")).toBe(400);
  const ends_at = 5_000;
  expect(holds.untilProbe("a", ends_at)).toBe(130);
  expect(holds.untilProbe("b", ends_at)).toBe(0);
  now = 130;
  holds.probed("a");
  expect([holds.untilProbe("a", ends_at), holds.until("a")]).toEqual([160, 400]);
  // A hold that is nearly over is no reason to probe.
  now = 390;
  holds.probed("a");
  expect(holds.untilProbe("a", ends_at)).toBe(400);
});

test("a probe waits for what a service asked for, unless the question ends before that [§19.5.4]", () => {
  const holds = createAddressHolds(({ least, spread }) => 100 + least + spread);
  holds.hold("a", 600, holds.turn());
  expect(holds.untilProbe("a", 701)).toBe(700);
  expect(holds.untilProbe("a", 700)).toBe(130);
  expect(holds.untilProbe("a", 120)).toBe(130);
});
