/** The minutes that the charts are made of. */

import { expect, test } from "bun:test";
import { createSeries } from "../src/series.ts";
import { createTestClock } from "./support/clock.ts";

/** A series whose first minute has just begun. */
async function begin() {
  const clock = createTestClock();
  await clock.advance(60 - (clock.now() % 60));
  const levels = { streams: 0, waits: 0, resident_bytes: 1 };
  return {
    clock,
    levels,
    first: clock.now(),
    series: createSeries({ clock, levels: () => ({ ...levels }) }),
  };
}

test("each minute has its requests, errors and levels, also when there was none", async () => {
  const { clock, levels, series, first } = await begin();
  series.start();
  for (const status of [200, 204, 304, 399]) series.record(status, 0.001);
  for (const status of [400, 429, 499]) series.record(status, 0.001);
  series.record(500, 0.001);
  levels.streams = 3;
  levels.waits = 2;
  await clock.advance(125);
  series.record(503, null);
  const [busy, still, last] = series.read();
  const none = { requests: 0, client_errors: 0, server_errors: 0, p50: null, p99: null };
  expect(busy).toMatchObject({ at: first, requests: 8, client_errors: 3, server_errors: 1 });
  expect(busy).toMatchObject({ streams: 0, waits: 0, resident_bytes: 1 });
  expect(still).toEqual({ at: first + 60, ...none, ...levels });
  expect(last).toEqual({ at: first + 120, ...none, requests: 1, server_errors: 1, ...levels });
  expect(series.read().length).toBe(3);
  series.stop();
  expect(clock.pending()).toBe(0);
});

test("three hours are kept, whose oldest minute gives way to the newest", async () => {
  const { clock, series, first } = await begin();
  series.start();
  series.record(200, 1);
  await clock.advance(179 * 60);
  expect(
    series
      .read()
      .map(({ at }) => at)
      .slice(0, 2),
  ).toEqual([first, first + 60]);
  expect([series.read().length, series.read()[0]!.requests]).toEqual([180, 1]);
  await clock.advance(60);
  series.record(200, 0.001);
  const minutes = series.read();
  expect([minutes.length, minutes[0]!.at, minutes[0]!.requests]).toEqual([180, first + 60, 0]);
  // The slot is the first minute's own, and nothing of that is left in it.
  expect(minutes.at(-1)).toMatchObject({ requests: 1 });
  expect(minutes.at(-1)!.p99!).toBeLessThan(0.002);
  // A machine that slept for a day.
  await clock.skip(86_400);
  expect(series.read().map(({ requests }) => requests)).toEqual(Array(180).fill(0));
});

test("half and 99 of 100 durations are told within a fifth", async () => {
  const { clock, series } = await begin();
  for (const [p50, p99] of [
    [0.0002, 0.003],
    [0.004, 0.004],
    [0.05, 2],
    [1, 49],
  ] as const) {
    for (let i = 0; i < 98; i++) series.record(200, i < 50 ? p50 : Math.min(p99, p50 * 1.5));
    series.record(200, p99);
    series.record(200, p99);
    const told = series.read().at(-1)!;
    for (const [is, should] of [
      [told.p50!, p50],
      [told.p99!, p99],
    ] as const) {
      expect(is).toBeGreaterThanOrEqual(should);
      expect(is).toBeLessThan(should * 1.19);
    }
    await clock.advance(60);
  }
  // Beyond both ends it is still counted.
  for (const seconds of [0, 1e-9, 1e6]) series.record(200, seconds);
  const { p50, p99 } = series.read().at(-1)!;
  expect([p50! > 0, p50! < 0.001, p99! > 60]).toEqual([true, true, true]);
});
