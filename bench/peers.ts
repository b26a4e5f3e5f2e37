/**
 * `bun run bench:peers`: Relay beside PocketBase (requests) and beside nginx with nchan (waiting clients), in turns.
 * Writes the results and a chart of each peer that was measured whole into `bench/results`. What is missing on the
 * machine is left out. To run a part: `bun run bench:peers --only pocketbase --rounds 9 --seconds 1`.
 */

import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { VERSION } from "../src/version.ts";
import { chartOf } from "./peers/chart.ts";
import { loadAverage, machineOf } from "./peers/machine.ts";
import { missingNchan } from "./peers/nchan.ts";
import { buildPocketBase } from "./peers/pocketbase.ts";
import { benchRequests, KINDS as REQUESTS } from "./peers/requests.ts";
import { fileOf, PEERS, type Peer, type Results, tableOf } from "./peers/results.ts";
import { benchWaiting, KINDS as WAITING } from "./peers/waiting.ts";
import { createPlace } from "./place.ts";

const NAMES: readonly string[] = [...PEERS, ...REQUESTS, ...WAITING];
/** Idle connections among which deliveries are measured. */
const IDLE = [2_000, 5_000];

const { values } = parseArgs({
  options: {
    only: { type: "string", default: PEERS.join(",") },
    rounds: { type: "string", default: "9" },
    seconds: { type: "string", default: "1" },
  },
});
const only = values.only.split(",");
const turns = { rounds: Number(values.rounds), seconds: Number(values.seconds) };
const inRange = turns.rounds >= 1 && turns.rounds <= 30 && turns.seconds > 0 && turns.seconds <= 5;
if (!only.every((name) => NAMES.includes(name)) || !inRange) {
  throw new Error(
    `usage: --only ${NAMES.join(",")} --rounds 1 to 30 --seconds of a turn, at most 5`,
  );
}
const requests = REQUESTS.filter((kind) => only.includes("pocketbase") || only.includes(kind));
const waiting = WAITING.filter((kind) => only.includes("nchan") || only.includes(kind));

const place = createPlace();
const { folder, children } = place;
const say = (text: string) => void process.stdout.write(`${text}\n`);

const LAST_CHANGE = ["log", "-1", "--format=%h", "--abbrev=8", "--", "src", "db", "routers"];

/** The last commit that changed Relay itself. */
function gitCommit(): string {
  const git = Bun.which("git");
  if (!git) return "unknown";
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const found = Bun.spawnSync([git, ...LAST_CHANGE], { cwd });
  return found.success ? found.stdout.toString().trim() : "unknown";
}

type Part = Pick<Results, "settings" | "measures" | "versions">;

/** Measures beside one peer; writes its files if all of its measures were made. */
async function bench(peer: Peer, title: string, whole: boolean, measure: () => Promise<Part>) {
  const machine = machineOf(folder);
  const before = loadAverage();
  const { settings, measures, versions } = await measure();
  const results: Results = {
    peer: title,
    measured_at: new Date().toISOString(),
    machine,
    versions: {
      relay: VERSION,
      commit: gitCommit(),
      bun: Bun.version,
      ...versions,
    },
    load_average: { before, after: loadAverage() },
    settings: { ...turns, ...settings },
    measures,
  };
  say(`\n${tableOf(results)}`);
  say(`Load average ${before} before, ${results.load_average.after} after`);
  if (!whole) return say("A part of the measures: nothing is written");
  mkdirSync(dirname(fileOf(peer, "json")), { recursive: true });
  await Bun.write(fileOf(peer, "json"), `${JSON.stringify(results, null, 2)}\n`);
  await Bun.write(fileOf(peer, "svg"), chartOf(results));
  say(`Written: ${fileOf(peer, "json")} and ${fileOf(peer, "svg")}`);
}

try {
  if (requests.length > 0) {
    const binary = join(folder, "pocketbase-server");
    const missing = await buildPocketBase(binary);
    if (missing !== undefined) say(`PocketBase is left out: ${missing}`);
    else {
      const whole = requests.length === REQUESTS.length;
      await bench("pocketbase", "PocketBase", whole, () =>
        benchRequests({ folder, children }, binary, requests, turns),
      );
    }
  }
  if (waiting.length > 0) {
    const missing = missingNchan();
    if (missing !== undefined) say(`nchan is left out: ${missing}`);
    else {
      const whole = waiting.length === WAITING.length;
      await bench("nchan", "nginx with nchan", whole, () =>
        benchWaiting({ folder, children }, waiting, IDLE, turns),
      );
    }
  }
} finally {
  await place.end();
}
