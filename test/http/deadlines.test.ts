/** A request that calls the store several times has one deadline for all of the calls. */

import { expect, test } from "bun:test";
import { createDeadlines } from "../../src/overload/deadlines.ts";
import { createTestClock } from "../support/clock.ts";

test("a stall of the process does not count against the store, once", async () => {
  const clock = createTestClock();
  const deadlines = createDeadlines(clock, 4.7);
  const outcomes: string[] = [];
  const work = Promise.withResolvers<void>();
  const follow = (name: string, promise: Promise<unknown>) =>
    deadlines.within(deadlines.now(), promise).then(
      () => outcomes.push(`${name} done`),
      ({ code }: { code: string }) => outcomes.push(`${name} ${code}`),
    );
  const first = follow("first", work.promise);
  const second = follow("second", new Promise(() => {}));
  await clock.advance(1);
  // As if the machine had no time for the process: the timer is the first to run.
  await clock.skip(10);
  expect(outcomes).toEqual([]);
  work.resolve();
  await first;
  await clock.skip(10);
  await second;
  expect(outcomes).toEqual(["first done", "second store_unavailable"]);
});

test("work that takes too long since the request arrived is 503, and other work keeps its outcome", async () => {
  const clock = createTestClock();
  const deadlines = createDeadlines(clock, 4.7);
  const outcomes: string[] = [];
  const follow = (name: string, arrived: number, work: Promise<unknown>) =>
    deadlines.within(arrived, work).then(
      () => outcomes.push(`${name} done`),
      (error: { code?: string; message: string }) =>
        outcomes.push(`${name} ${error.code ?? error.message}`),
    );
  const arrived = deadlines.now();
  const slow = Promise.withResolvers<void>();
  const quick = Promise.withResolvers<void>();
  const bad = Promise.withResolvers<void>();
  const first = follow("slow", arrived, slow.promise);
  await clock.advance(2);
  // A request whose credential took 2 s to find has the rest; a new request has all of it.
  const second = follow("late call", arrived, slow.promise);
  const third = follow("new", deadlines.now(), slow.promise);
  const others = [follow("quick", arrived, quick.promise), follow("bad", arrived, bad.promise)];
  quick.resolve();
  bad.reject(new Error("of its own"));
  await Promise.all(others);
  await clock.advance(2.6);
  expect(outcomes).toEqual(["quick done", "bad of its own"]);
  await clock.advance(0.3);
  await Promise.all([first, second]);
  expect(outcomes.slice(2)).toEqual(["slow store_unavailable", "late call store_unavailable"]);
  await clock.advance(1.6);
  expect(outcomes).toHaveLength(4);
  slow.resolve();
  await third;
  expect(outcomes.at(-1)).toBe("new done");
  // No deadline is left to watch.
  await clock.advance(0.2);
  expect(clock.pending()).toBe(0);
});
