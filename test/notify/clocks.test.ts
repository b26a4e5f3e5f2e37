/** Leases of pushes do not depend on the wall clock (§11.5). */

import { expect, test } from "bun:test";
import { createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createPushWorld } from "../support/push-world.ts";
import { until } from "../support/until.ts";

const HOUR = 3_600;
/** Seconds of a lease and of the look that finds it expired. */
const TAKE_OVER = 17;

const world = await createPushWorld();
const { apple, clock } = world;

/** A person with one phone, and nothing being sent. */
async function people() {
  const made = await world.people("a");
  await world.advance(61, 2);
  apple.forget();
  return made;
}
const alerts = () => apple.received.filter(({ type }) => type === "alert").length;

test("a process whose clock is hours ahead takes nothing that another process is sending", async () => {
  const { agent } = await people();
  const ahead = createTestClock();
  ahead.shiftWall(2 * HOUR);
  const peer = await world.start(undefined, ahead);
  const sending = apple.hold();
  await createTask(agent.send, { title: "t" });
  await until(() => apple.openStreams() > 0);
  // Time passes only for the other process, by less than a lease.
  for (let i = 0; i < 10; i++) {
    await ahead.advance(1);
    await peer.sender.settled();
  }
  sending.release();
  await world.settle();
  expect(alerts()).toBe(1);
  const of_tasks = "select outcome from delivery_records where kind = 'task'";
  expect(await world.rows(of_tasks)).toEqual([["sent"]]);
  await peer.stop();
});

/** A push that a process claimed before it died; then another process has `pass` to go on with. */
async function leaveClaimed(stamp: number) {
  const { agent } = await people();
  await world.app.sender.stop();
  await createTask(agent.send, { title: "t" });
  const due_at = Math.round((clock.now() + stamp) * 1_000);
  await world.change(
    `update deliveries set lease = 'dead', attempts = 1, due_at = ${due_at} where kind = 'task'`,
  );
  const peer = await world.start();
  const pass = async (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      await clock.advance(1);
      await peer.sender.settled();
    }
  };
  return { peer, pass };
}

for (const [whose, stamp] of [
  ["was days ahead", 3 * 24 * HOUR],
  ["was days behind", -3 * 24 * HOUR],
] as const) {
  test(`a push claimed by a dead process whose clock ${whose} is sent after a lease`, async () => {
    const { peer, pass } = await leaveClaimed(stamp);
    await pass(13);
    expect(alerts()).toBe(0);
    await pass(TAKE_OVER - 13);
    expect(alerts()).toBe(1);
    await peer.stop();
  });
}

for (const [way, hours] of [
  ["back", -1],
  ["on", 2],
] as const) {
  test(`a lease lasts as long when the clock is set ${way} by hours meanwhile`, async () => {
    const { peer, pass } = await leaveClaimed(15);
    await pass(2);
    clock.shiftWall(hours * HOUR);
    await pass(11);
    expect(alerts()).toBe(0);
    await pass(TAKE_OVER - 13);
    expect(alerts()).toBe(1);
    await peer.stop();
  });
}
