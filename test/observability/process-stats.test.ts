/** What a process reports about itself. */

import { expect, test } from "bun:test";
import { createProcessStats } from "../../src/observability/process-stats.ts";
import { createTestClock } from "../support/clock.ts";

test("late timers show for a minute that the event loop was blocked", async () => {
  const clock = createTestClock();
  const stats = createProcessStats(clock);
  expect(stats.read().lag).toEqual({ p50: 0, p99: 0, max: 0 });
  stats.start();
  await clock.advance(1);
  expect(stats.read().lag.max).toBeCloseTo(0, 5);
  // As if something blocked the loop for a second: the timer was due after the first tenth.
  await clock.skip(1);
  const { lag } = stats.read();
  expect([lag.p50, lag.p99, lag.max].map((late) => Math.round(late * 1000))).toEqual([0, 900, 900]);
  await clock.advance(50);
  const later = stats.read().lag;
  expect([later.p50, later.p99, later.max].map((late) => Math.round(late * 1000))).toEqual([
    0, 0, 900,
  ]);
  await clock.advance(11);
  expect(stats.read().lag.max).toBeCloseTo(0, 5);
  stats.stop();
  expect(clock.pending()).toBe(0);
});

test("processor time grows, and memory and files are the process's own", async () => {
  const clock = createTestClock();
  const stats = createProcessStats(clock);
  const before = stats.read();
  // However long that takes beside other programs.
  const { user } = process.cpuUsage();
  while (process.cpuUsage().user < user + 50_000);
  // It is read once a second, however many ask: a list of all sockets takes time.
  await clock.advance(0.9);
  expect(stats.read()).toBe(before);
  await clock.advance(0.1);
  const after = stats.read();
  expect(after.cpu_user).toBeGreaterThan(before.cpu_user);
  expect(after.started_at).toBe(before.started_at);
  expect(after.resident_bytes).toBeGreaterThan(10_000_000);
  expect(after.open_fds === null || after.open_fds > 2).toBe(true);
  expect(after.max_fds === null || after.max_fds >= after.open_fds!).toBe(true);
});
