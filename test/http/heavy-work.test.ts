/** Lists and large bodies take turns: with each other, and with the rest of the event loop. */

import { expect, test } from "bun:test";
import { createHeavyWork } from "../../src/heavy-work.ts";
import { HEAVY_WORK } from "../../src/limits.ts";
import { createTestClock } from "../support/clock.ts";

const turn = () => new Promise<void>((next) => setImmediate(next));

test("a slice of the work runs at once, one piece of each owner in its turn", async () => {
  const clock = createTestClock();
  const heavy_work = createHeavyWork(clock);
  const ran: string[] = [];
  /** Two pieces fill a slice. */
  const run = async (owner: string) => {
    await heavy_work.next(owner);
    void clock.skip(HEAVY_WORK.slice * 0.6);
    ran.push(owner);
  };
  const owners = [...Array(6).fill("greedy"), "modest", "greedy", "third"];
  const all = Promise.all(owners.map(run));
  /** Pieces that were done by the end of each turn of the loop. */
  const done = [0];
  while (ran.length < owners.length) {
    await turn();
    done.push(ran.length);
  }
  await all;
  const in_turn = done.slice(1).map((count, i) => count - done[i]!);
  expect(Math.max(...in_turn)).toBe(2);
  // The first one had nobody before it.
  expect(ran.slice(1, 4)).toEqual(["greedy", "modest", "third"]);
  // Between two slices other work has several turns, which it needs to end what it began.
  const busy = in_turn.flatMap((count, i) => (count > 0 ? [i] : []));
  const gaps = busy.slice(1).map((at, i) => at - busy[i]!);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(HEAVY_WORK.pause_turns - 1);
});

test("short pieces that come one by one in a turn of the loop share its slice", async () => {
  const clock = createTestClock();
  const heavy_work = createHeavyWork(clock);
  let ran = 0;
  const run = async () => {
    await heavy_work.next("a");
    void clock.skip(HEAVY_WORK.slice * 0.6);
    ran++;
  };
  const all: Promise<void>[] = [];
  for (let piece = 0; piece < 4; piece++) {
    all.push(run());
    // Long enough for the piece to end, in the same turn of the loop.
    for (let hop = 0; hop < 50; hop++) await null;
  }
  expect(ran).toBe(2);
  await Promise.all(all);
});

test("one piece too many is 503", async () => {
  const heavy_work = createHeavyWork(createTestClock());
  const waiting = Array.from({ length: HEAVY_WORK.queued + 1 }, () => heavy_work.next("a"));
  await expect(heavy_work.next("b")).rejects.toMatchObject({ code: "store_unavailable" });
  await Promise.all(waiting);
  await heavy_work.next("b");
});
