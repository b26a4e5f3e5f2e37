/** The work of pushes is spread over turns of the event loop. */

import { afterAll, expect, test } from "bun:test";
import { systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { createIds } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import { connectLanes, createSender, PER_TURN } from "../../src/notify/core/sender.ts";
import { CHANNELS } from "../../src/notify/registry.ts";
import { createTurns } from "../../src/overload/turns.ts";
import { createTask } from "../support/client.ts";
import { createNetwork } from "../support/outbound.ts";
import { createPushWorld } from "../support/push-world.ts";

const nextTurn = () => new Promise<void>((next) => setImmediate(next));

test("a limited number begin in one turn of the event loop, in the order of their calls", async () => {
  const turn = createTurns(4).begin;
  const begun: number[] = [];
  const counts: number[] = [];
  const begin = async (i: number) => {
    await turn();
    begun.push(i);
  };
  for (let i = 0; i < 10; i++) void begin(i);
  for (let turns = 0; turns < 3; turns++) {
    await null;
    counts.push(begun.length);
    // This one comes while others wait, and begins after them.
    if (turns === 0) void begin(10);
    await nextTurn();
  }
  expect(counts).toEqual([4, 8, 11]);
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test("each turn of the event loop has room again, also after a pause", async () => {
  const turn = createTurns(2).begin;
  for (let round = 0; round < 3; round++) {
    const begun: number[] = [];
    const begin = async (i: number) => {
      await turn();
      begun.push(i);
    };
    for (let i = 0; i < 3; i++) void begin(i);
    await null;
    expect(begun).toEqual([0, 1]);
    for (let turns = 0; turns < 3; turns++) await nextTurn();
    expect(begun).toEqual([0, 1, 2]);
  }
});

/** Counts calls by turn of the event loop, until the test ends. */
function createTurnCounter() {
  const counts = [0];
  let ended = false;
  const count = () => {
    if (ended) return;
    counts.push(0);
    setImmediate(count);
  };
  setImmediate(count);
  afterAll(() => {
    ended = true;
  });
  return {
    counts,
    add(): void {
      counts[counts.length - 1]! += 1;
    },
  };
}

test("a wave of pushes, and a wave of answers, are handled a few per turn of the event loop", async () => {
  const world = await createPushWorld();
  const { agent } = await world.people("a");
  await world.advance(61, 2);
  await world.app.sender.stop();
  for (let i = 0; i < 12; i++) await createTask(agent.send);
  const { store, clock } = world;
  const config = readConfig(world.apple.env("SANDBOX"));
  const network = createNetwork();
  const lanes = await connectLanes(CHANNELS, config, clock, network);
  const lane = lanes[0]!;
  const requests = createTurnCounter();
  const answers = createTurnCounter();
  const gate = Promise.withResolvers<void>();
  let waiting = 0;
  const connection = {
    ...lane.connection,
    async send() {
      requests.add();
      // All are answered in the same moment.
      if (++waiting === 12) gate.resolve();
      await gate.promise;
      return { kind: "ok" };
    },
  };
  const channel = {
    ...lane.channel,
    classify(...args: Parameters<typeof lane.channel.classify>) {
      answers.add();
      return lane.channel.classify(...args);
    },
  };
  const sender = createSender({
    config,
    channels: CHANNELS,
    lanes: [{ channel, connection }],
    store,
    clock,
    timers: systemClock,
    ids: createIds(clock),
    log: createLog("error", () => {}),
    ticketOf: () => "",
    codeOf: () => "",
  });
  afterAll(() => sender.stop());
  sender.wake();
  await sender.settled();
  for (const { counts } of [requests, answers]) {
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(12);
    expect(Math.max(...counts)).toBeLessThanOrEqual(PER_TURN);
  }
});
