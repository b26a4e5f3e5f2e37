/** The watch over file descriptors, with its own system and time. */

import { expect, test } from "bun:test";
import { createLog } from "../../src/log.ts";
import { createDescriptorWatch } from "../../src/observability/descriptors.ts";
import { createTestClock } from "../support/clock.ts";

/** A watch during which turns of the event loop take no time, except for its own pauses. */
function createWatch() {
  const clock = createTestClock();
  const lines: string[] = [];
  let free = true;
  let blocked = 0;
  let turn: (() => void) | undefined;
  const watch = createDescriptorWatch({
    clock,
    system: {
      available: () => free,
      block: (seconds) => {
        blocked += seconds;
      },
      nextTurn(run) {
        turn = run;
        return () => {
          turn = undefined;
        };
      },
    },
    usage: () => ({ max_fds: 7 }),
    log: createLog("info", (line) => lines.push(line)),
  });
  watch.start();
  return {
    clock,
    watch,
    lines: () => lines.map((line) => JSON.parse(line)),
    blocked: () => blocked,
    slowed: () => turn !== undefined,
    setFree: (now: boolean) => {
      free = now;
    },
    /** Lets time pass with this many turns of the loop. */
    async pass(seconds: number, turns: number) {
      for (let i = 0; i < turns; i++) {
        await clock.advance(seconds / turns);
        const run = turn;
        turn = undefined;
        run?.();
      }
    },
    shortages: () => watch.metrics[0]!.read(),
  };
}

test("the event loop is slowed down only while descriptors are short", async () => {
  const one = createWatch();
  await one.pass(10, 40);
  expect([one.blocked(), one.slowed(), one.lines()]).toEqual([0, false, []]);
  one.setFree(false);
  await one.pass(0.25, 1);
  expect(one.slowed()).toBe(true);
  await one.pass(1, 100);
  expect(one.blocked()).toBeCloseTo(0.2, 1);
  one.setFree(true);
  await one.pass(2, 100);
  expect(one.slowed()).toBe(false);
  const blocked = one.blocked();
  await one.pass(10, 40);
  expect(one.blocked()).toBe(blocked);
});

test("a descriptor that is free for a moment does not end a shortage", async () => {
  const one = createWatch();
  one.setFree(false);
  await one.pass(1, 10);
  for (let i = 0; i < 20; i++) {
    one.setFree(i % 2 === 0);
    await one.pass(0.5, 10);
    expect(one.slowed()).toBe(true);
  }
  expect(one.shortages()).toBe(1);
});

test("shortages of descriptors are counted, and logged at most once a minute", async () => {
  const one = createWatch();
  for (let i = 0; i < 10; i++) {
    one.setFree(false);
    await one.pass(2, 20);
    one.setFree(true);
    await one.pass(2, 20);
  }
  expect(one.shortages()).toBe(10);
  expect(one.lines()).toMatchObject([
    { level: "error", event: "out of file descriptors", shortages: 1, max_fds: 7 },
    { level: "info", event: "file descriptors are free again", after: "out of file descriptors" },
  ]);
  one.setFree(false);
  await one.pass(120, 1200);
  expect(one.lines().map(({ shortages }) => shortages)).toEqual([1, undefined, 11]);
});

test("a stop ends the watch over descriptors, during a shortage or not", async () => {
  for (const free of [true, false]) {
    const one = createWatch();
    one.setFree(free);
    await one.pass(1, 10);
    one.watch.stop();
    expect([one.clock.pending(), one.slowed()]).toEqual([0, false]);
  }
});
