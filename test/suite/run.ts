/**
 * Runs the suite: the files that use the store on both stores at the same time, all others once, and
 * `bun run check` at the same time. `bun test/suite/run.ts [embedded | server]` runs the tests on one store,
 * without the check; `--soak` runs `test/soak` instead, and `--times` writes the times of the slowest
 * files into `test/suite/times.json`, by which later runs order them. The exit code is 0 if every file ran and
 * every test passed, the first time.
 */

import { mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { availableParallelism, constants, freemem, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { readPlan } from "./plan.ts";
import { type RunReport, readReport } from "./report.ts";

const ROOT = resolve(import.meta.dir, "../..");
/** Times of the slowest files, so that Bun starts them first: store -> file -> milliseconds. */
const TIMES = join(import.meta.dir, "times.json");
/** Milliseconds until a test counts as hung, on a machine that other programs slow down ten times. */
const TIMEOUT = 300_000;
/**
 * Files that run at the same time on each store: together they keep all cores busy, and both runs end at about the same
 * time. More of them take more CPU time and finish no sooner.
 */
const WORKERS: Record<Store, number> = {
  embedded: Math.min(2 * availableParallelism(), 8),
  server: Math.min(availableParallelism(), 4),
};
/** A file system in memory. */
const MEMORY = "/dev/shm";
/** Bytes that must be free there, and in memory, for the stores of a run. */
const ROOM = 2e9;
/** How many files are shown with their times. */
const SLOWEST = 20;
/** Files faster than this many milliseconds are not recorded: their order makes no difference. */
const SLOW = 4_000;

type Store = "embedded" | "server";

interface Run {
  readonly store: Store;
  readonly files: readonly string[];
}

interface Outcome {
  readonly run: Run;
  /** What is wrong besides failed tests; undefined if nothing is. */
  readonly fault: string | undefined;
  readonly report: RunReport;
  readonly seconds: number;
}

const NOTHING: RunReport = { files: [], passed: 0, failures: [], seconds: {} };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    soak: { type: "boolean", default: false },
    times: { type: "boolean", default: false },
  },
});
const [only] = positionals;
if (only !== undefined && only !== "embedded" && only !== "server") {
  process.stderr.write("usage: bun test/suite/run.ts [embedded | server] [--soak] [--times]\n");
  process.exit(2);
}
const { both, once, soak } = await readPlan();
const all_runs: Run[] = [
  { store: "embedded", files: values.soak ? soak : [...both, ...once] },
  { store: "server", files: values.soak ? soak : both },
];
const runs = all_runs.filter(({ store }) => only === undefined || store === only);

const seed = process.env.RELAY_TEST_SEED ?? String(crypto.getRandomValues(new Uint32Array(1))[0]);
const folder = mkdtempSync(join(tmpdir(), "relay-suite-"));
/** What the tests write. Not on a disk if possible: other programs can make one so slow that stores miss their deadlines. */
const written = mkdtempSync(join(hasRoom() ? MEMORY : tmpdir(), "relay-suite-"));
const children = new Set<Bun.Subprocess>();
let interrupted: NodeJS.Signals | undefined;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    interrupted = signal;
    // Each takes its own processes with it (`--no-orphans`).
    for (const child of children) child.kill("SIGTERM");
  });
}

const executable = join(folder, "relay");
const figures = join(folder, "figures");
const checking = only === undefined && !values.soak ? runCheck() : undefined;
if (!(await build(executable))) {
  for (const child of children) child.kill("SIGTERM");
  await checking;
  removeFolders();
  process.exit(1);
}
const times: Partial<Record<Store, Record<string, number>>> = await Bun.file(TIMES).json();
const outcomes = await Promise.all(
  runs.map((run) => start(run, runs.length > 1 ? WORKERS[run.store] : WORKERS.embedded)),
);
const check_passed = (await checking) ?? true;
const measured = await Bun.file(figures)
  .text()
  .catch(() => "");
removeFolders();
if (values.times) await writeTimes();
report();
if (interrupted !== undefined) process.exit(128 + constants.signals[interrupted]);
process.exit(check_passed && outcomes.every(isGreen) ? 0 : 1);

function isGreen({ fault, report }: Outcome): boolean {
  return fault === undefined && report.failures.length === 0;
}

/** True if programs can be run from {@link MEMORY}, and there is {@link ROOM}. */
function hasRoom(): boolean {
  try {
    const [mount] = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .filter((line) => line.split(" ")[1] === MEMORY);
    const { bavail, bsize } = statfsSync(MEMORY);
    return !!mount && !/\bnoexec\b/.test(mount) && Math.min(bavail * bsize, freemem()) > ROOM;
  } catch {
    return false;
  }
}

function removeFolders(): void {
  for (const path of [folder, written]) {
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * Builds the executable from which tests start servers: it starts in half of the sources' CPU time. True
 * if it was built.
 */
async function build(file: string): Promise<boolean> {
  const child = Bun.spawn([process.execPath, "--no-orphans", "run", "build", file], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "inherit"],
  });
  children.add(child);
  const code = await child.exited;
  children.delete(child);
  return code === 0;
}

/** `bun run check`; its output is printed at its end, in one piece. True if it passed. */
async function runCheck(): Promise<boolean> {
  const child = Bun.spawn([process.execPath, "--no-orphans", "run", "check"], {
    cwd: ROOT,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  children.add(child);
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  children.delete(child);
  process.stdout.write(`[check]\n${err}${out}`);
  return child.exitCode === 0;
}

/** Starts a run and waits for its end. It prints only failures. */
async function start(run: Run, workers: number): Promise<Outcome> {
  const begin = performance.now();
  const timings = join(folder, `${run.store}.json`);
  const junit = join(folder, `${run.store}.xml`);
  await Bun.write(timings, JSON.stringify({ version: 1, files: times[run.store] ?? {} }));
  const color = process.stdout.isTTY && !process.env.NO_COLOR && { FORCE_COLOR: "1" };
  const child = Bun.spawn(
    [
      process.execPath,
      "test",
      "--no-orphans",
      `--parallel=${workers}`,
      // Imports what most files share once for each worker, not for each file.
      "--no-isolate",
      `--timeout=${TIMEOUT}`,
      `--timings=${timings}`,
      "--only-failures",
      "--reporter=junit",
      `--reporter-outfile=${junit}`,
      ...run.files.map((file) => `./${file}`),
    ],
    {
      cwd: ROOT,
      env: {
        ...process.env,
        ...color,
        BUN_RUNTIME_TRANSPILER_CACHE_PATH: join(folder, "compiled"),
        // JavaScriptCore's last compiler takes more time than its code saves before a file ends.
        BUN_JSC_useFTLJIT: "0",
        RELAY_TEST_STORE: run.store,
        RELAY_TEST_SUITE: "1",
        RELAY_TEST_EXECUTABLE: executable,
        RELAY_TEST_FIGURES: figures,
        // What a process leaves behind when ended, such as a browser's profile, goes with the folder.
        TMPDIR: written,
        RELAY_TEST_SEED: seed,
      },
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
    },
  );
  children.add(child);
  await child.exited;
  children.delete(child);
  const report = await Bun.file(junit)
    .text()
    .then(readReport)
    .catch(() => NOTHING);
  const seconds = (performance.now() - begin) / 1000;
  return { run, fault: faultOf(child, report, run), report, seconds };
}

/** What is wrong with a run besides failed tests. A run that ended early may have exit code 0. */
function faultOf(child: Bun.Subprocess, report: RunReport, { files }: Run): string | undefined {
  if (child.signalCode !== null) return `ended by ${child.signalCode}`;
  if (report === NOTHING) return `ended without a report, with exit code ${child.exitCode}`;
  const missing = files.filter((file) => !report.files.includes(file));
  if (missing.length > 0) return `did not run ${missing.join(", ")}`;
  // An error outside of a test is in no report.
  const told = report.failures.length > 0;
  return child.exitCode === 0 || told ? undefined : `exit code ${child.exitCode}`;
}

/** Records how long the slow files took, the slowest first. */
async function writeTimes(): Promise<void> {
  for (const { run, report } of outcomes) {
    const slow = Object.entries(report.seconds)
      .map(([file, seconds]): [string, number] => [file, Math.round(seconds) * 1000])
      .filter(([, ms]) => ms >= SLOW)
      .sort(([a, ms_a], [b, ms_b]) => ms_b - ms_a || a.localeCompare(b));
    times[run.store] = Object.fromEntries(slow);
  }
  await Bun.write(TIMES, `${JSON.stringify(times, null, 2)}\n`);
}

function report(): void {
  const slowest = outcomes
    .flatMap(({ run, report }) =>
      Object.entries(report.seconds).map(([file, seconds]) => ({ run, file, seconds })),
    )
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST);
  const lines = slowest.length > 0 ? [`\nThe ${slowest.length} slowest files, in seconds:`] : [];
  for (const { run, file, seconds } of slowest) {
    lines.push(`${seconds.toFixed(1).padStart(7)}  ${run.store.padEnd(8)}  ${file}`);
  }
  if (measured !== "") lines.push(`\nMeasured by tests:\n${measured.trimEnd()}`);
  lines.push("");
  for (const { run, fault, seconds, ...outcome } of outcomes) {
    const told = fault ?? (outcome.report.failures.length > 0 ? "failed tests" : undefined);
    const state = told === undefined ? "ok" : `FAILED: ${told}`;
    lines.push(`[${run.store}] ${run.files.length} files in ${seconds.toFixed(0)} s: ${state}`);
  }
  if (!check_passed) lines.push("[check] FAILED");
  for (const { run, report } of outcomes) {
    for (const { file, test, message } of report.failures) {
      lines.push(`[${run.store}] FAILED: ${file}: ${test}`, message.replace(/^/gm, "    "));
    }
  }
  if (!outcomes.every(isGreen)) {
    lines.push(`Random choices were made with RELAY_TEST_SEED=${seed}`);
  }
  const passed = outcomes.reduce((sum, { report }) => sum + report.passed, 0);
  const failed = outcomes.reduce((sum, { report }) => sum + report.failures.length, 0);
  lines.push(`${passed} tests passed, ${failed} failed`);
  process.stdout.write(`${lines.join("\n")}\n`);
}
