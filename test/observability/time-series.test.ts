/** The figures of each minute, from which the charts are drawn. */

import { expect, test } from "bun:test";
import { createTimeSeries, type StoreGauges } from "../../src/observability/time-series.ts";
import { createTestClock } from "../support/clock.ts";

/** A series whose first minute has just begun. */
async function begin() {
  const clock = createTestClock();
  await clock.advance(60 - (clock.now() % 60));
  const levels = { streams: 0, waits: 0, resident_bytes: 1 };
  const totals = { cpu: 100, pushes_accepted: 10, pushes_failed: 5 };
  const gauges: StoreGauges = { store_read: 0.001, outbox_events: 7, pushes_queued: 0 };
  const asked: PromiseWithResolvers<StoreGauges>[] = [];
  const series = createTimeSeries({
    clock,
    levels: () => ({ ...levels }),
    totals: () => ({ ...totals }),
    readStoreGauges() {
      asked.push(Promise.withResolvers());
      return asked.at(-1)!.promise;
    },
  });
  return { clock, levels, totals, gauges, asked, first: clock.now(), series };
}

test("each minute has its requests, errors and levels, even when there were none", async () => {
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
  const none = {
    ...{ requests: 0, client_errors: 0, server_errors: 0, p50: null, p99: null },
    ...{ cpu: 0, pushes_accepted: 0, pushes_failed: 0 },
    ...{ store_read: null, outbox_events: null, pushes_queued: null },
  };
  expect(busy).toMatchObject({ at: first, requests: 8, client_errors: 3, server_errors: 1 });
  expect(busy).toMatchObject({ streams: 0, waits: 0, resident_bytes: 1 });
  expect(still).toEqual({ at: first + 60, ...none, ...levels });
  expect(last).toEqual({ at: first + 120, ...none, requests: 1, server_errors: 1, ...levels });
  expect(series.read().length).toBe(3);
  // The minute that is not over has the current levels.
  levels.streams = 1;
  expect(series.read().map(({ streams }) => streams)).toEqual([0, 3, 1]);
  series.stop();
  expect(clock.pending()).toBe(0);
});

test("a minute has the growth of the totals during it, also when the machine slept afterwards", async () => {
  const { clock, totals, series } = await begin();
  series.start();
  const told = () =>
    series.read().map((one) => [one.cpu, one.pushes_accepted, one.pushes_failed].join(" "));
  expect(told()).toEqual(["0 0 0"]);
  Object.assign(totals, { cpu: 103, pushes_accepted: 14 });
  expect(told()).toEqual(["3 4 0"]);
  await clock.advance(60);
  Object.assign(totals, { cpu: 104, pushes_failed: 7 });
  expect(told()).toEqual(["3 4 0", "1 0 2"]);
  await clock.skip(180);
  Object.assign(totals, { cpu: 110 });
  expect(told()).toEqual(["3 4 0", "1 0 2", "0 0 0", "0 0 0", "6 0 0"]);
  series.stop();
});

test("sources are read once a minute, and a minute without a value is a gap", async () => {
  const { clock, gauges, asked, series } = await begin();
  series.start();
  for (let i = 0; i < 5; i++) series.record(200, 0.001);
  expect(asked.length).toBe(1);
  const told = () =>
    series.read().map(({ store_read, outbox_events }) => [store_read, outbox_events]);
  expect(told()).toEqual([[null, null]]);
  await clock.advance(60);
  asked[0]!.resolve(gauges);
  asked[1]!.reject(new Error("away"));
  await clock.advance(60);
  asked[2]!.resolve({ ...gauges, store_read: null });
  await clock.advance(0);
  // A value belongs to the minute in which it was requested.
  expect(told()).toEqual([
    [0.001, 7],
    [null, null],
    [null, 7],
  ]);
  expect(asked.length).toBe(3);
  series.stop();
});

test("three hours are kept, and the newest minute replaces the oldest", async () => {
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
  // The slot was the first minute's, and nothing of that minute is left in it.
  expect(minutes.at(-1)).toMatchObject({ requests: 1 });
  expect(minutes.at(-1)!.p99!).toBeLessThan(0.002);
  // A machine that slept for a day.
  await clock.skip(86_400);
  expect(series.read().map(({ requests }) => requests)).toEqual(Array(180).fill(0));
});

test("the median and the 99th percentile are accurate within a fifth", async () => {
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
  // Values beyond both ends are still counted.
  for (const seconds of [0, 1e-9, 1e6]) series.record(200, seconds);
  const { p50, p99 } = series.read().at(-1)!;
  expect([p50! > 0, p50! < 0.001, p99! > 60]).toEqual([true, true, true]);
});
