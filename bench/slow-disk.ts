/**
 * `bun run bench:slow-disk`: the embedded store on a disk whose sync takes 0, 5 and 20 ms longer.
 * Needs strace to slow it (`--delays 0,5,20`, `--rounds 5`); without strace it measures only the disk as it is.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  count,
  measureInTurns,
  median,
  quantiles,
  quantilesOf,
  ratioOf,
  rowOf,
} from "./compare.ts";
import { openLoad } from "./load.ts";
import { createPlace } from "./place.ts";
import { type Child, startChild, startRelay, times } from "./process.ts";
import { createBareWork, createWork, type Work } from "./stores-work.ts";
import { STRACE, slowedBy, tracedBy } from "./strace.ts";
import { createWakes } from "./wakes.ts";

const { values } = parseArgs({
  options: {
    delays: { type: "string", default: "0,5,20" },
    rounds: { type: "string", default: "5" },
  },
});
const rounds = Number(values.rounds);
const delays = STRACE ? values.delays.split(",").map(Number) : [0];
if (!(rounds >= 1) || !delays.every((ms) => ms >= 0 && ms <= 1_000)) {
  throw new Error("usage: --delays 0,5,20 --rounds 5");
}

/** Connections that create while others read or wait. */
const CREATORS = 4;
/** Connections that read: few enough that a delayed turn of the loop shows in their rate. */
const READERS = 8;
const CONNECTIONS = 64;
/** Seconds of one turn, of the warm-up turn that is not counted, and of the wakes. */
const TURN = 1;
const WARM_UP = 0.5;
const WAKES = 5;

const print = (line: string) => process.stdout.write(`${line}\n`);
const place = createPlace();
const { folder, children } = place;
let databases = 0;

interface Server {
  readonly pids: readonly number[];
  readonly port: number;
  readonly work: Work;
}

/** Starts both servers, under strace unless `delay` is null. */
async function startPair(delay: number | null): Promise<{ bare: Server; relay: Server }> {
  const command = delay === null ? [] : slowedBy(delay);
  const env = { DATABASE_URL: `file:${join(folder, `relay-${databases}.db`)}` };
  const relay = await startRelay(folder, children, { env, command });
  const path = join(folder, `bare-${databases++}.db`);
  const bare = await startChild(children, "bare.ts", [`file:${path}`], {}, command);
  const pidOf = ({ pid }: Child) => (delay === null ? pid : tracedBy(pid));
  return {
    relay: { pids: [pidOf(relay)], port: relay.port, work: await createWork(relay.port) },
    bare: { pids: [pidOf(bare)], port: bare.port, work: await createBareWork(bare.port) },
  };
}

/** Creates of a few connections, each by many keys in turn: a fast disk takes more than one key may have. */
const creatorsOf = ({ requests }: Work["creates"]) =>
  times(CREATORS, (creator) => requests.filter((_, i) => i % CREATORS === creator).flat());

const WIDTHS = [34, 10, 8, 20, 10];
type Load = Awaited<ReturnType<typeof openLoad>>;

/** A load with another one beside it; only the first is measured. */
const withBackground = (load: Load, background: Load): Load => ({
  async run(seconds) {
    const [measured] = await Promise.all([load.run(seconds), background.run(seconds)]);
    return measured;
  },
  close() {
    load.close();
    background.close();
  },
});

/** Reads alone and beside creators, and creates, in turns. */
async function benchRates({ bare, relay }: Awaited<ReturnType<typeof startPair>>) {
  const open = async ({ pids, port, work }: Server, kind: "reads" | "creates", n: number) => {
    const { requests, status } = work[kind];
    return { pids, ...(await openLoad({ port, requests: requests.slice(0, n), status })) };
  };
  const { creates } = relay.work;
  const creators = await openLoad({ ...creates, port: relay.port, requests: creatorsOf(creates) });
  const beside = await open(relay, "reads", READERS);
  const sides = [
    await open(bare, "reads", READERS),
    await open(relay, "reads", READERS),
    { pids: relay.pids, ...withBackground(beside, creators) },
    await open(bare, "creates", CONNECTIONS),
    await open(relay, "creates", CONNECTIONS),
  ];
  const names = [
    "bare, reads",
    "reads",
    `reads beside ${CREATORS} creators`,
    "bare, creates",
    "creates",
  ];
  const measured = await measureInTurns(sides, { rounds, turn: TURN, warm_up: WARM_UP });
  for (const side of sides) side.close();
  /** The load that each ratio refers to. */
  const bases = [undefined, 0, 1, undefined, 3];
  for (const [i, own] of measured.entries()) {
    const base = bases[i] === undefined ? undefined : measured[bases[i]];
    rowOf(WIDTHS, [
      names[i]!,
      count(median(own, "rate")),
      base ? ratioOf(own, base).toFixed(2) : "",
      quantiles(own),
      count(median(own, "cpu_us")),
    ]);
  }
}

/** Time from the response to an answer until the waiting agent has it, beside creators. */
async function benchWakes({ port, work }: Server): Promise<void> {
  const creators = await openLoad({ ...work.creates, port, requests: creatorsOf(work.creates) });
  const wakes = await createWakes(port);
  const [late] = await Promise.all([wakes.run(WAKES), creators.run(WAKES)]);
  creators.close();
  wakes.close();
  const { p50, p99 } = quantilesOf(late);
  const quantiles = `${p50.toFixed(2)} / ${p99.toFixed(2)}`;
  rowOf(WIDTHS, [`wait woken after the answer (${late.length})`, "", "", quantiles]);
}

/** The cost of strace alone, which must not be what is measured. */
async function benchStrace(): Promise<void> {
  const pairs = [await startPair(null), await startPair(0)];
  for (const kind of ["reads", "creates"] as const) {
    const sides = await Promise.all(
      pairs.map(async ({ relay: { pids, port, work } }) => ({
        pids,
        ...(await openLoad({ port, ...work[kind] })),
      })),
    );
    const [without, under] = await measureInTurns(sides, { rounds, turn: TURN, warm_up: WARM_UP });
    for (const side of sides) side.close();
    print(
      `${kind} under strace without a delay: ${ratioOf(under!, without!).toFixed(2)} of those without`,
    );
  }
  await endAll();
}

/** Ends what runs; a traced server ends with its strace. */
async function endAll(): Promise<void> {
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(children.splice(0).map((child) => child.exited));
}

try {
  if (STRACE) await benchStrace();
  else print("strace is not installed: only the disk as it is is measured");
  for (const delay of delays) {
    print(`\nsync slowed by ${delay} ms`);
    rowOf(WIDTHS, ["", "/s", "ratio", "p50 / p99 ms", "CPU µs"]);
    const pair = await startPair(STRACE ? delay : null);
    await benchRates(pair);
    await benchWakes(pair.relay);
    await endAll();
  }
} finally {
  await place.end();
}
