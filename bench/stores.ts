/**
 * `bun run bench:stores`: the embedded file and the libSQL server, each with one to three processes of
 * Relay compared with a bare server on the same kind of store. To run a part of it:
 * `bun run bench:stores --store server --processes 1,2 --only reads,creates`.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../test/support/sqld.ts";
import {
  count,
  type Measured,
  measureInTurns,
  median,
  quantiles,
  ratioOf,
  rowOf,
} from "./compare.ts";
import { openLoad } from "./load.ts";
import { createPlace } from "./place.ts";
import { type Child, startChild, startRelay, startSqld } from "./process.ts";
import { createBareWork, createWork, KINDS, type Kind, type Work } from "./stores-work.ts";

const STORES = ["embedded", "server"] as const;
type StoreKind = (typeof STORES)[number];

const { values } = parseArgs({
  options: {
    store: { type: "string", default: STORES.join(",") },
    processes: { type: "string", default: "1,2,3" },
    only: { type: "string", default: KINDS.join(",") },
    rounds: { type: "string", default: "5" },
  },
});
const stores = STORES.filter((one) => values.store.split(",").includes(one));
const kinds = KINDS.filter((one) => values.only.split(",").includes(one));
const processes = values.processes.split(",").map(Number);
const rounds = Number(values.rounds);
if (
  stores.length === 0 ||
  kinds.length === 0 ||
  !processes.every((n) => n >= 1 && n <= 8) ||
  !(rounds >= 1)
) {
  throw new Error(
    `usage: --store ${STORES.join(",")} --processes 1,2,3 --only ${KINDS.join(",")} --rounds 5`,
  );
}
/** Seconds of one turn, and of the warm-up turn that is not counted. */
const TURN = 1;
const WARM_UP = 0.5;

const place = createPlace();
const { folder, children } = place;
let databases = 0;

/** A new empty store of a kind. */
async function createStore(kind: StoreKind) {
  const path = join(folder, `${databases++}`);
  if (kind === "embedded") return { url: `file:${path}.db`, store_pids: [] };
  const { url, pid } = await startSqld(path, freePort(), children);
  return { url, store_pids: [pid] };
}

interface Server {
  readonly name: string;
  readonly store: StoreKind;
  /** 0: the bare server. */
  readonly processes: number;
  readonly servers: readonly Child[];
  readonly store_pids: readonly number[];
  readonly work: Work;
}

async function startBare(store: StoreKind): Promise<Server> {
  const { url, store_pids } = await createStore(store);
  const server = await startChild(children, "bare.ts", [url]);
  const work = await createBareWork(server.port);
  return { name: `bare, ${store}`, store, processes: 0, servers: [server], store_pids, work };
}

async function startRelays(store: StoreKind, processes: number): Promise<Server> {
  const { url, store_pids } = await createStore(store);
  const servers: Child[] = [];
  for (let i = 0; i < processes; i++) {
    servers.push(await startRelay(folder, children, { env: { DATABASE_URL: url } }));
  }
  const work = await createWork(servers[0]!.port);
  return { name: `Relay, ${store}, ${processes}`, store, processes, servers, store_pids, work };
}

const WIDTHS = [20, 10, 9, 9, 13, 20, 16];

async function benchKind(kind: Kind, servers: readonly Server[]): Promise<void> {
  const sides = await Promise.all(
    servers.map(async ({ servers: own, store_pids, work }) => ({
      pids: own.map(({ pid }) => pid),
      store_pids,
      ...(await openLoad({ port: own.map(({ port }) => port), ...work[kind] })),
    })),
  );
  const measured = await measureInTurns(sides, { rounds, turn: TURN, warm_up: WARM_UP });
  for (const side of sides) side.close();

  const turnsOf = (store: StoreKind, processes: number) =>
    measured[servers.findIndex((one) => one.store === store && one.processes === processes)];
  const beside = (of: readonly Measured[], to: readonly Measured[] | undefined) =>
    to && to !== of ? ratioOf(of, to).toFixed(2) : "";
  rowOf(WIDTHS, [kind, "/s", "of bare", "of one", "of the file", "p50 / p99 ms", "CPU µs, sqld"]);
  for (const [i, { name, store, processes, store_pids }] of servers.entries()) {
    const own = measured[i]!;
    const one = processes > 1 ? turnsOf(store, 1) : undefined;
    const file = store === "server" ? turnsOf("embedded", processes) : undefined;
    const cpu = count(median(own, "cpu_us"));
    rowOf(WIDTHS, [
      name,
      count(median(own, "rate")),
      processes > 0 ? beside(own, turnsOf(store, 0)) : "",
      beside(own, one),
      beside(own, file),
      quantiles(own),
      store_pids.length > 0 ? `${cpu}, ${count(median(own, "store_us"))}` : cpu,
    ]);
  }
  process.stdout.write("\n");
}

try {
  const servers: Server[] = [];
  for (const store of stores) {
    servers.push(await startBare(store));
    for (const number of processes) servers.push(await startRelays(store, number));
  }
  for (const kind of kinds) await benchKind(kind, servers);
} finally {
  await place.end();
}
