/** The log lines of outages and of a process that stood still, with a test clock. */

import { expect, test } from "bun:test";
import { ServiceError } from "../../src/errors.ts";
import { createLog } from "../../src/log.ts";
import { createOutage } from "../../src/observability/outages.ts";
import { createStandstillWatch } from "../../src/observability/standstill.ts";
import { createTestClock } from "../support/clock.ts";

function start() {
  const clock = createTestClock();
  const lines: string[] = [];
  const log = createLog("info", (line) => lines.push(line));
  /** The lines since the last call. */
  const told = () =>
    lines.splice(0).map((line) => {
      const { time, ...fields } = JSON.parse(line);
      return fields;
    });
  return { clock, log, told };
}

test("an outage is one line when it begins and one when it ends, with how long and how often", async () => {
  const { clock, log, told } = start();
  const outage = createOutage({ clock, log, over: "job works again", named: { job: "prune" } });
  const broken = () => outage.failed("job failed", new TypeError("secret"));
  outage.works();
  broken();
  expect(told()).toEqual([
    {
      level: "warn",
      event: "job failed",
      job: "prune",
      count: 1,
      error: "TypeError",
      at: expect.stringContaining("outages.test.ts"),
    },
  ]);
  for (let i = 0; i < 300; i++) {
    await clock.advance(1);
    broken();
  }
  expect([told(), outage.isOpen()]).toEqual([[], true]);
  outage.works();
  outage.works();
  expect(told()).toEqual([
    {
      level: "info",
      event: "job works again",
      job: "prune",
      after: "job failed",
      seconds: 300,
      count: 301,
    },
  ]);
  // A store that is away has its own lines.
  outage.failed("job failed", new ServiceError("store_unavailable"));
  outage.works();
  expect(told()).toEqual([]);
});

test("what fails and works in turns is logged at most once a minute", async () => {
  const { clock, log, told } = start();
  const outage = createOutage({ clock, log, over: "over" });
  for (let i = 0; i < 100; i++) {
    outage.note("down", { reason: "x" });
    await clock.advance(0.5);
    outage.works();
  }
  const lines = told();
  expect(lines).toMatchObject([
    { event: "down", count: 1 },
    { event: "over", seconds: 0.5, count: 1 },
  ]);
  // At the end of the minute it is down again, since 10 seconds.
  outage.note("down", { reason: "y" });
  await clock.advance(10);
  expect(told()).toEqual([{ level: "warn", event: "down", count: 100, seconds: 10, reason: "y" }]);
  await clock.advance(90);
  outage.works();
  expect(told()).toMatchObject([{ event: "over", seconds: 100, count: 1 }]);
  // It goes down twice more, but not at the end of the minute: its last line says that it works.
  outage.note("down", { reason: "z" });
  outage.works();
  for (const seconds of [4, 8]) {
    outage.note("down", { reason: "z" });
    await clock.advance(seconds);
    outage.works();
  }
  expect(told()).toMatchObject([{ event: "down" }, { event: "over", seconds: 0 }]);
  await clock.advance(60);
  expect(told()).toEqual([
    { level: "warn", event: "down", count: 2, seconds: 12, reason: "z" },
    { level: "info", event: "over", after: "down", seconds: 12, count: 2 },
  ]);

  // The process stops within the minute: what waits for its end is written, once.
  outage.note("down", { reason: "z" });
  await clock.advance(2);
  outage.works();
  const open = createOutage({ clock, log, over: "over" });
  for (let i = 0; i < 2; i++) {
    open.note("closed");
    open.works();
  }
  open.note("closed");
  expect(told().map(({ event }) => event)).toEqual(["closed", "over"]);
  log.flush();
  log.flush();
  expect(told()).toEqual([
    { level: "warn", event: "down", count: 1, seconds: 2, reason: "z" },
    { level: "info", event: "over", after: "down", seconds: 2, count: 1 },
    { level: "warn", event: "closed", count: 2 },
  ]);
  expect(clock.pending()).toBe(0);

  // Without an end, each fault counts by itself.
  const single = createOutage({ clock, log });
  for (let i = 0; i < 130; i++) {
    single.note("lost", {});
    await clock.advance(1);
  }
  expect(told().map(({ event, count }) => [event, count])).toEqual([
    ["lost", 1],
    ["lost", 59],
    ["lost", 60],
  ]);
});

test("a process that stood still says for how long", async () => {
  const { clock, log, told } = start();
  let cpu = 0;
  const watch = createStandstillWatch({ clock, cpuSeconds: () => cpu, log });
  watch.start();
  await clock.advance(10);
  await clock.skip(3.5);
  expect(told()).toEqual([]);
  cpu += 0.21;
  await clock.skip(31);
  await clock.advance(10);
  expect(told()).toEqual([
    { level: "warn", event: "this process stood still", seconds: 30, cpu_seconds: 0.2 },
  ]);
  watch.stop();
  expect(clock.pending()).toBe(0);
});
