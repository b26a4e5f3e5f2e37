/**
 * `bun run soak:load --minutes 30 --rate 2`: one process under a steady load of all kinds, its memory, descriptors,
 * write-ahead log and event loop lag sampled every ten seconds. Writes `bench/results/soak.json` and `soak.svg`, and
 * exits with 1 if a figure grows (soak/figures.ts has the rule) or a request failed.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { VERSION } from "../src/version.ts";
import { buildExecutable, inTestRunner } from "./in-runner.ts";
import { loadAverage, machineOf } from "./peers/machine.ts";
import { createPlace } from "./place.ts";
import { chartOf } from "./soak/chart.ts";
import { FIGURES, type Sample, trendOf } from "./soak/figures.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    rate: { type: "string", default: "2" },
    out: { type: "string", default: join(import.meta.dir, "results") },
  },
});
const [minutes, rate] = [Number(values.minutes), Number(values.rate)];
if (!(minutes >= 3) || !(rate > 0)) throw new Error("usage: --minutes 30 (at least 3) --rate 2");

const print = (line: string) => process.stdout.write(`${line}\n`);
const place = createPlace("relay-soak");
const { folder } = place;
try {
  const executable = join(folder, "relay");
  await buildExecutable(executable);
  const before = loadAverage();
  const samples_file = join(folder, "samples.json");
  const { code, errors } = await inTestRunner("bench/soak/load.ts", {
    place,
    minutes: minutes + 6,
    quiet: true,
    env: {
      RELAY_TEST_EXECUTABLE: executable,
      RELAY_SOAK_MINUTES: String(minutes),
      RELAY_SOAK_RATE: String(rate),
      RELAY_SOAK_OUT: samples_file,
    },
  });
  if (code !== 0) throw new Error(`the load ended: ${errors}`);
  const { samples, counts, faults } = (await Bun.file(samples_file).json()) as {
    samples: Sample[];
    counts: Record<string, number>;
    faults: string[];
  };
  const trends = Object.fromEntries(FIGURES.map((one) => [one.name, trendOf(samples, one)]));
  const [first, last] = [samples[0]!, samples.at(-1)!];
  const cpu = (last.cpu_seconds - first.cpu_seconds) / (last.seconds - first.seconds);
  const machine = machineOf(folder);
  const result = {
    measured_at: new Date().toISOString(),
    version: VERSION,
    machine,
    load_average: { before, after: loadAverage() },
    settings: { minutes, rate },
    cpu_share: Number(cpu.toFixed(3)),
    counts,
    faults,
    trends,
    samples,
  };
  await Bun.write(join(values.out, "soak.json"), `${JSON.stringify(result, null, 2)}\n`);
  const done = Object.values(counts).reduce((sum, n) => sum + n, 0);
  const title = `${minutes} minutes of steady load on one process`;
  const note = `${done} runs of clients, ${Math.round(cpu * 100)} % of a core, ${machine.cpu}, ${result.measured_at.slice(0, 10)}.`;
  await Bun.write(join(values.out, "soak.svg"), chartOf({ title, note, samples, trends }));
  for (const { name, title: label, unit } of FIGURES) {
    const { median, growth, p, flat } = trends[name]!;
    const verdict = flat ? "flat" : "GROWS";
    print(
      `${verdict} ${label}: median ${median.toFixed(2)} ${unit}, trend ${growth.toFixed(2)} ${unit}, p ${p.toFixed(3)}`,
    );
  }
  print(`${JSON.stringify(counts)}, ${faults.length} failed, ${Math.round(cpu * 100)} % of a core`);
  for (const fault of faults.slice(0, 20)) print(`failed: ${fault}`);
  if (faults.length > 0 || FIGURES.some(({ name }) => !trends[name]!.flat)) process.exitCode = 1;
} finally {
  await place.end();
}
