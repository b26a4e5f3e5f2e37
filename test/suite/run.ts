/**
 * Runs the suite: the files that use the store on both stores at the same time, all others once, and
 * `bun run check` beside them. `bun test/suite/run.ts [embedded | server]` runs the tests on one store,
 * without the check. Files with a failed test run once more, alone: what passes then is reported as unsteady and
 * fails nothing, but with `RELAY_TEST_STRICT=1`. The exit code is 0 when every run came to its end and
 * every test passed.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, constants, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { readPlan, startOrder } from "./plan.ts";

const ROOT = resolve(import.meta.dir, "../..");
/** Milliseconds until a test counts as hung. */
const TIMEOUT = 120_000;
/**
 * Files that run at a time on the embedded store: with those on a server, they keep all cores busy. More of
 * them take more CPU time, and end no sooner.
 */
const WORKERS = Math.min(Math.ceil(1.5 * availableParallelism()), 8);
/** The fault of a run whose only fault is a failed test. */
const FAILED_TESTS = "failed tests";
/** Files shown with their times. */
const SLOWEST = 20;
/** Files that may run once more: more of them are not bad luck. */
const MOST_AGAIN = 5;

interface Run {
  readonly store: "embedded" | "server";
  readonly files: readonly string[];
}

interface Failure {
  readonly file: string;
  readonly test: string;
}

interface Outcome {
  readonly run: Run;
  /** Undefined when nothing is wrong. */
  readonly fault: string | undefined;
  readonly passed: number;
  readonly failures: readonly Failure[];
  /** Of the tests that passed. */
  readonly names: ReadonlySet<string>;
  readonly seconds: number;
  /** Milliseconds of each file, its start and end included. */
  readonly times: Readonly<Record<string, number>>;
}

const only = process.argv[2];
if (only !== undefined && only !== "embedded" && only !== "server") {
  process.stderr.write("usage: bun test/suite/run.ts [embedded | server]\n");
  process.exit(2);
}
const { both, once, pages } = await readPlan();
const runs: Run[] = [
  { store: "embedded", files: startOrder([...both, ...once, ...pages]) },
  { store: "server", files: startOrder(both) },
];
const wanted = runs.filter(({ store }) => only === undefined || store === only);

const seed = process.env.RELAY_TEST_SEED ?? String(crypto.getRandomValues(new Uint32Array(1))[0]);
const folder = mkdtempSync(join(tmpdir(), "relay-suite-"));
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
const checking = only === undefined ? runCheck() : undefined;
if (!(await build(executable))) {
  for (const child of children) child.kill("SIGTERM");
  await checking;
  rmSync(folder, { recursive: true, force: true });
  process.exit(1);
}
const unsteady: Failure[] = [];
// The first run is the longer one: it has the browsers.
const outcomes = await Promise.all(
  wanted.map((run) => start(run, run === wanted[0] ? WORKERS : Math.ceil((2 * WORKERS) / 3))),
);
const check_passed = (await checking) ?? true;
if (!process.env.RELAY_TEST_STRICT) {
  for (const [index, outcome] of outcomes.entries()) {
    if (!interrupted) outcomes[index] = await again(outcome);
  }
}
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
report(outcomes, check_passed);
if (interrupted !== undefined) process.exit(128 + constants.signals[interrupted]);
process.exit(check_passed && outcomes.every(({ fault }) => fault === undefined) ? 0 : 1);

/**
 * Makes the executable that tests start servers from: it starts in half of the CPU time of the sources. True
 * when it is made.
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

/** `bun run check`; what it says is printed at its end, in one piece. True when it passed. */
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

/** Runs the files with failed tests once more, one after the other. */
async function again(outcome: Outcome): Promise<Outcome> {
  const { run, failures, fault } = outcome;
  const files = [...new Set(failures.map(({ file }) => file))];
  if (fault !== FAILED_TESTS || files.length === 0 || files.length > MOST_AGAIN) return outcome;
  const second = await start({ store: run.store, files }, 1);
  if (second.fault !== undefined) return outcome;
  if (!failures.every(({ test }) => second.names.has(test))) return outcome;
  unsteady.push(...failures);
  return { ...outcome, fault: undefined, passed: outcome.passed + failures.length, failures: [] };
}

/** Starts a run and waits for its end. */
async function start(run: Run, workers: number): Promise<Outcome> {
  const begin = performance.now();
  const timings = join(folder, `${run.store}.json`);
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
      "--update-timings",
      ...run.files.map((file) => `./${file}`),
    ],
    {
      cwd: ROOT,
      env: {
        ...process.env,
        ...color,
        BUN_RUNTIME_TRANSPILER_CACHE_PATH: join(folder, "compiled"),
        // The last compiler of JavaScriptCore takes more time than its code saves before a file ends.
        BUN_JSC_useFTLJIT: "0",
        RELAY_TEST_STORE: run.store,
        RELAY_TEST_SUITE: "1",
        RELAY_TEST_EXECUTABLE: executable,
        // What a process leaves when it is ended, such as a browser's profile, goes with the folder.
        TMPDIR: folder,
        RELAY_TEST_SEED: seed,
      },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  children.add(child);
  const output = createOutput(run.store);
  await Promise.all([output.follow(child.stdout), output.follow(child.stderr), child.exited]);
  children.delete(child);
  const counted = output.end();
  const times = await Bun.file(timings)
    .json()
    .then(({ files }) => files)
    .catch(() => ({}));
  const seconds = (performance.now() - begin) / 1000;
  const { passed, failures, names } = counted;
  return { run, fault: faultOf(child, counted, run), passed, failures, names, seconds, times };
}

/** Why a run is no success. One that ended early may have the exit code 0, but not its count of files. */
function faultOf(child: Bun.Subprocess, counted: Counted, { files }: Run): string | undefined {
  const { ran, failed, failures } = counted;
  if (child.signalCode !== null) return `ended by ${child.signalCode}`;
  if (ran === undefined) return `ended before its end, with exit code ${child.exitCode}`;
  if (ran !== files.length) return `ran ${ran} of ${files.length} files`;
  if (child.exitCode === 0) return undefined;
  // An error outside of a test counts as failed, but has no name.
  return failed > 0 && failed === failures.length ? FAILED_TESTS : `exit code ${child.exitCode}`;
}

/** What a run says of itself. */
interface Counted {
  /** The number of files; undefined when the run did not come to its end. */
  readonly ran: number | undefined;
  readonly passed: number;
  readonly failed: number;
  readonly failures: readonly Failure[];
  /** Of the tests that passed. */
  readonly names: ReadonlySet<string>;
}

/** Prints what a run says, each piece of a file under the name of the run. */
function createOutput(name: string) {
  let block = "";
  let file = "";
  let ran: number | undefined;
  let passed = 0;
  let failed = 0;
  let listed = false;
  const failures: Failure[] = [];
  const names = new Set<string>();
  const flush = () => {
    process.stdout.write(block);
    block = "";
  };
  const take = (line: string) => {
    const plain_line = Bun.stripANSI(line);
    const counts = /^Ran \d+ tests? across (\d+) files?\./.exec(plain_line);
    if (counts) ran = Number(counts[1]);
    const sum = /^ (\d+) (pass|fail)$/.exec(plain_line);
    if (sum?.[2] === "pass") passed = Number(sum[1]);
    if (sum?.[2] === "fail") failed = Number(sum[1]);
    // After it, the run lists them once more.
    if (/^\d+ tests failed:$/.test(plain_line)) listed = true;
    const result = /^\((pass|fail)\) (.+?)(?: \[[\d.]+ms\])?$/.exec(plain_line);
    if (result?.[1] === "pass") names.add(result[2]!);
    if (result?.[1] === "fail" && !listed) failures.push({ file, test: result[2]! });
    if (/^test\/\S+\.test\.ts:$/.test(plain_line)) {
      file = plain_line.slice(0, -1);
      flush();
      block = `[${name}] ${line}\n`;
    } else {
      // The first of the lines with counts.
      if (/^ \d+ pass$/.test(plain_line)) block += `[${name}]\n`;
      block += `${line}\n`;
    }
  };
  return {
    async follow(stream: ReadableStream<Uint8Array>): Promise<void> {
      const decoder = new TextDecoder();
      let rest = "";
      for await (const chunk of stream) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
        rest = lines.pop()!;
        lines.forEach(take);
      }
      if (rest) take(rest);
    },
    /** Prints the rest. */
    end(): Counted {
      flush();
      return { ran, passed, failed, failures, names };
    },
  };
}

function report(all: readonly Outcome[], check_passed: boolean): void {
  const slowest = all
    .flatMap(({ run, times }) => Object.entries(times).map(([file, ms]) => ({ run, file, ms })))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST);
  const lines = slowest.length > 0 ? [`\nThe ${slowest.length} slowest files, in seconds:`] : [];
  for (const { run, file, ms } of slowest) {
    lines.push(`${(ms / 1000).toFixed(1).padStart(7)}  ${run.store.padEnd(8)}  ${file}`);
  }
  lines.push("");
  for (const { run, fault, seconds } of all) {
    const told = fault === undefined ? "ok" : `FAILED: ${fault}`;
    lines.push(`[${run.store}] ${run.files.length} files in ${seconds.toFixed(0)} s: ${told}`);
  }
  if (!check_passed) lines.push("[check] FAILED");
  for (const { file, test } of unsteady)
    lines.push(`UNSTEADY (passed the second time): ${file}: ${test}`);
  for (const { run, failures } of all) {
    for (const { file, test } of failures) lines.push(`[${run.store}] FAILED: ${file}: ${test}`);
  }
  if (all.some(({ fault }) => fault !== undefined)) {
    lines.push(`Random choices were made with RELAY_TEST_SEED=${seed}`);
  }
  const passed = all.reduce((sum, outcome) => sum + outcome.passed, 0);
  const failed = all.reduce((sum, outcome) => sum + outcome.failures.length, 0);
  lines.push(`${passed} tests passed, ${failed} failed`);
  process.stdout.write(`${lines.join("\n")}\n`);
}
