/** Lists and large bodies take turns with each other and with the rest of the event loop. */

import { expect, test } from "bun:test";
import { createHeavyWork, HEAVY_WORK } from "../../src/overload/heavy-work.ts";
import { createTestClock } from "../support/clock.ts";
import { rejectionOf } from "../support/rejection.ts";

const turn = () => new Promise<void>((next) => setImmediate(next));

test("a slice of heavy work runs at once, one piece of each owner in turn [§11.2.4]", async () => {
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
  // The first piece had nobody before it.
  expect(ran.slice(1, 4)).toEqual(["greedy", "modest", "third"]);
  // Between two slices, other work has several turns, which it needs to finish what it started.
  const busy = in_turn.flatMap((count, i) => (count > 0 ? [i] : []));
  const gaps = busy.slice(1).map((at, i) => at - busy[i]!);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(HEAVY_WORK.pause_turns - 1);
});

test("short pieces that arrive one by one in a turn of the event loop share its slice", async () => {
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

test("heavy work beyond the bound of its queue is 503", async () => {
  const heavy_work = createHeavyWork(createTestClock());
  const waiting = Array.from({ length: HEAVY_WORK.queued + 1 }, () => heavy_work.next("a"));
  expect((await rejectionOf(heavy_work.next("b"))).code).toBe("store_unavailable");
  await Promise.all(waiting);
  await heavy_work.next("b");
});

test("a credential makes two list pages at once, and the next when one of them is done", async () => {
  const heavy_work = createHeavyWork(createTestClock());
  const entered: number[] = [];
  const enter = async (page: number, owner = "a") => {
    const leave = await heavy_work.page(owner);
    entered.push(page);
    return leave;
  };
  const [first, second, third] = [enter(1), enter(2), enter(3)];
  await (await enter(4, "b"))();
  expect(entered).toEqual([1, 2, 4]);
  (await second)();
  const leave = await third;
  expect(entered).toEqual([1, 2, 4, 3]);
  leave();
  (await first)();
  // All have left, so that two may enter again.
  await Promise.all([enter(5), enter(6)]);
});

test("a credential with too many list pages gets 503, and those that wait continue", async () => {
  const heavy_work = createHeavyWork(createTestClock());
  const leave = await Promise.all([heavy_work.page("a"), heavy_work.page("a")]);
  const waiting = Array.from({ length: HEAVY_WORK.queued }, () => heavy_work.page("a"));
  expect((await rejectionOf(heavy_work.page("a"))).code).toBe("store_unavailable");
  for (const end of leave) end();
  for (const one of waiting) (await one)();
});
