/**
 * `bun run bench:attacks`: runs attacks one after the other on a Relay process that also serves 20 well-behaved
 * clients, and reports what those clients notice. `--only nesting,trickle`, `--store server`, `--seconds 8`.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { freePort } from "../test/support/sqld.ts";
import { ATTACKS } from "./attack-kinds.ts";
import { count, cpuOf, quantilesOf, rowOf } from "./compare.ts";
import { type Neighbours, type Seen, startNeighbours } from "./neighbours.ts";
import { createPlace } from "./place.ts";
import { startRelay, startSqld } from "./process.ts";
import { within } from "./within.ts";

const names = Object.keys(ATTACKS);
const { values } = parseArgs({
  options: {
    only: { type: "string", default: names.join(",") },
    store: { type: "string", default: "embedded" },
    seconds: { type: "string", default: "8" },
  },
});
const seconds = Number(values.seconds);
const chosen = values.only.split(",");
if (!chosen.every((one) => names.includes(one)) || !(seconds >= 1 && seconds <= 60)) {
  throw new Error(`usage: --only ${names.join(",")} --store embedded|server --seconds 8`);
}

const NEIGHBOURS = 20;
/** Seconds that an attack may take to prepare, and that the server may take to respond afterwards. */
const PREPARE = 60;
const RECOVER = 10;
/** Seconds after an attack until its process must have told what it saw. */
const TOLD = 10;
/** Seconds until the server and its clients have been compiled. */
const WARM_UP = 4;
/** Seconds without a failed request of the well-behaved clients after which the server counts as serving again. */
const SETTLED = 1.5;
const ATTACKER = fileURLToPath(new URL("attacker.ts", import.meta.url));

const place = createPlace();
const { folder, children } = place;
const print = (line: string) => process.stdout.write(`${line}\n`);
let starts = 0;

interface Served {
  readonly pid: number;
  readonly port: number;
  readonly neighbours: Neighbours;
}

/** A new server on a new store, with its well-behaved clients. */
async function serve(): Promise<Served> {
  const own = join(folder, `${starts++}`);
  const { url } =
    values.store === "server"
      ? await startSqld(own, freePort(), children)
      : { url: `file:${own}.db` };
  const env = { DATABASE_URL: url, RATE_LIMITS: "on", LOG_LEVEL: "error" };
  const { pid, port } = await startRelay(folder, children, { env });
  return { pid, port, neighbours: await startNeighbours(port, starts, NEIGHBOURS) };
}

/** Peak memory of a process in megabytes since the last call; 0 once it is gone. */
function peakOf(pid: number): number {
  try {
    const [, kilobytes = 0] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))!;
    // Resets the peak.
    void Bun.write(`/proc/${pid}/clear_refs`, "5");
    return Math.round(Number(kilobytes) / 1024);
  } catch {
    return 0;
  }
}

/** Processor time used, as a share of one core. */
async function shareOf(pids: readonly number[], work: () => Promise<void>): Promise<string[]> {
  const now = (pid: number) => {
    try {
      return cpuOf([pid]);
    } catch {
      return Number.NaN;
    }
  };
  const before = pids.map(now);
  const from = performance.now();
  await work();
  const took = (performance.now() - from) / 1_000;
  return pids.map((pid, i) => ((now(pid) - before[i]!) / took).toFixed(2));
}

const listOf = (counts: Iterable<readonly [string, number]>) =>
  [...counts].map(([name, number]) => `${name}: ${number}`).join(", ");
const sumOf = ({ failed }: Seen) => [...failed.values()].reduce((sum, one) => sum + one, 0);

/** Starts an attack and prepares it; it then runs when it is told to. `ready` is false if that took too long, or failed. */
async function prepare(name: string, port: number, index: number) {
  const prepared = Promise.withResolvers<boolean>();
  const done = Promise.withResolvers<Record<string, number>>();
  const address = `127.1.${starts}.${index + 1}`;
  const child = Bun.spawn(
    [
      ...["nice", "-n", "10", process.execPath, "--no-orphans", ATTACKER],
      ...[name, String(port), address, String(seconds)],
    ],
    {
      stdio: ["ignore", "inherit", "inherit"],
      ipc(message: { ready: true } | { counts: Record<string, number> }) {
        if ("ready" in message) prepared.resolve(true);
        else done.resolve(message.counts);
      },
    },
  );
  children.push(child);
  void child.exited.then(() => {
    prepared.resolve(false);
    done.resolve({ unfinished: 1 });
  });
  const ready = await within(PREPARE, name, prepared.promise).catch(() => false);
  const run = async () => {
    child.send("go");
    await Bun.sleep(seconds * 1_000);
    return within(TOLD, name, done.promise).catch(() => ({ silent: 1 }));
  };
  return { ready, pid: child.pid, run, end: () => child.kill("SIGKILL") };
}

/** Checks that the server responds within a few seconds, and then serves its clients again. */
async function recovers({ port, neighbours }: Served): Promise<boolean> {
  const signal = AbortSignal.timeout(RECOVER * 1_000);
  const health = await fetch(`http://127.0.0.1:${port}/health`, { signal }).catch(() => null);
  if (!health?.ok) return false;
  neighbours.take();
  await Bun.sleep(SETTLED * 1_000);
  const { ms, failed } = neighbours.take();
  return failed.size === 0 && ms.length > 0;
}

const WIDTHS = [22, 21, 10, 8, 9, 10, 20];

async function attack(
  served: Served,
  name: string,
  index: number,
  quiet: number,
): Promise<boolean> {
  const { pid, port, neighbours } = served;
  const attacker = await prepare(name, port, index);
  if (!attacker.ready) {
    attacker.end();
    rowOf(WIDTHS, [name, "could not be prepared"]);
    return await recovers(served);
  }
  neighbours.take();
  peakOf(pid);
  let counts: Record<string, number> = {};
  const shares = await shareOf([pid, attacker.pid, process.pid], async () => {
    counts = await attacker.run();
  });
  const seen = neighbours.take();
  attacker.end();
  // A request to a hanging server fails only after its client's timeout.
  await Bun.sleep(SETTLED * 1_000);
  const late = neighbours.take();
  const ok = await recovers(served);
  const { p50, p99 } = quantilesOf(seen.ms);
  rowOf(WIDTHS, [
    name,
    `${p50.toFixed(1)} / ${p99.toFixed(1)}`,
    (p99 / quiet).toFixed(1),
    count(sumOf(seen) + sumOf(late)),
    count(peakOf(pid)),
    ok ? "yes" : "no",
    shares.join(" "),
  ]);
  print(`    it saw ${listOf(Object.entries(counts))}`);
  const failed = listOf([...seen.failed, ...late.failed]);
  if (failed) print(`    failed ${failed}`);
  return ok;
}

try {
  rowOf(WIDTHS, ["", "p50 / p99 ms", "of quiet", "failed", "RSS MB", "recovers", "CPU, see below"]);
  let served = await serve();
  const calm = async () => {
    await Bun.sleep(WARM_UP * 1_000);
    served.neighbours.take();
    await Bun.sleep(seconds * 1_000);
    const seen = served.neighbours.take();
    return { ...quantilesOf(seen.ms), failed: sumOf(seen) };
  };
  const { p50, p99, failed } = await calm();
  const rss = count(peakOf(served.pid));
  rowOf(WIDTHS, ["quiet", `${p50.toFixed(1)} / ${p99.toFixed(1)}`, "", count(failed), rss, "yes"]);
  for (const [index, name] of chosen.entries()) {
    if (await attack(served, name, index, p99)) {
      await Bun.sleep(1_000);
      continue;
    }
    served.neighbours.stop();
    // It may have ended by itself.
    children.find(({ pid }) => pid === served.pid)!.kill("SIGKILL");
    served = await serve();
  }
  served.neighbours.stop();
  print("\nCPU: shares of a core of the server, the attacker and the well-behaved clients");
} finally {
  await place.end();
}
process.exit();
