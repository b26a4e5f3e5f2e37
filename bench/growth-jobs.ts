/** The periodic jobs of a store, each started every few milliseconds: how long a pass and a step of each takes. */

import { startApp } from "../src/app.ts";
import { type Clock, systemClock } from "../src/clock.ts";
import { readConfig } from "../src/config.ts";
import { createIds } from "../src/ids.ts";
import { createLog } from "../src/log.ts";
import { CHANNELS } from "../src/notify/registry.ts";

/** How many times sooner than usual a job starts. */
const SOONER = 100;
/** The longest time for one pass of each job, in milliseconds. */
const PATIENCE = 120_000;
/** Milliseconds between two looks at the jobs. */
const LOOK = 5;

const clock: Clock = {
  ...systemClock,
  after: (seconds, run) => systemClock.after(seconds >= 1 ? seconds / SOONER : seconds, run),
};
const app = await startApp({
  config: readConfig(process.env),
  channels: CHANNELS,
  clock,
  timers: systemClock,
  ids: createIds,
  log: createLog("warn", (line) => process.stderr.write(line)),
  endProcess: () => process.exit(1),
});
process.send!({ port: Number(new URL(app.local_url).port) });

/** Milliseconds by which the event loop was late while a job ran, at most. */
const late = new Map<string, number>();
const from = performance.now();
let last = from;
while (app.jobs.stats().some(({ done }) => done === 0) && last - from < PATIENCE) {
  await Bun.sleep(LOOK);
  const now = performance.now();
  for (const { name, running } of app.jobs.stats()) {
    if (running) late.set(name, Math.max(late.get(name) ?? 0, now - last - LOOK));
  }
  last = now;
}
const seconds = app.jobs
  .stats()
  .map(({ name, last }) => [name, last?.seconds ?? Number.NaN] as const);
const [slowest, second] = seconds.toSorted(([, a], [, b]) => b - a);
const ms = (value: number) => `${(value * 1000).toFixed(0)} ms`;
const [held = "none", longest = 0] = [...late].sort(([, a], [, b]) => b - a)[0] ?? [];
const shown = [slowest, second].map(([name, took] = ["", 0]) => `${name} ${ms(took)}`);
process.stdout.write(
  `jobs: slowest passes ${shown.join(", ")}; event loop late by at most ${longest.toFixed(0)} ms (${held})\n`,
);
process.exit();
