/**
 * `bun run bench:compare <commit> [name …]`: this version beside that of a commit, in turns, with the ratio
 * of each measure. Exits with 1 if one of the rates is under 0.9 of the other version's.
 */

import { join } from "node:path";
import { LIMITS } from "../src/limits.ts";
import { checkOut, commitOf } from "../test/support/checkout.ts";
import { freePort } from "../test/support/sqld.ts";
import {
  count,
  lineOf,
  type Measured,
  measureInTurns,
  median,
  ratiosOf,
  type Side,
} from "./compare.ts";
import { type Load, openLoad, openReaders, requestOf } from "./load.ts";
import { createPlace } from "./place.ts";
import { post, startRelay, startSqld, times } from "./process.ts";
import {
  CONNECTIONS,
  createAccount,
  createKey,
  createWork,
  each,
  type Kind,
  LIST,
  TASK,
  TASKS,
} from "./stores-work.ts";

/** A rate below this part of the other version's is a failure. */
const LEAST = 0.9;
/** Rounds of a measure, with one turn of each version in a round. Repeated as often as the next two say. */
const TURNS = { rounds: 5, turn: 1, warm_up: 0.5 };
/** Turns without which a rate is not believed to be too low, and turns that end every doubt. */
const CONFIRMED = 15;
const MOST = 30;

/** Event streams, 16 for each account. */
const STREAMS = 512;
/** Accounts whose tasks are listed in turn. */
const LISTERS = 16;

const STORES = ["file", "server"] as const;
type StoreKind = (typeof STORES)[number];

interface Server {
  readonly port: number;
  readonly pids: readonly number[];
  readonly store_pids: readonly number[];
  /** The requests of `bench:stores`. */
  readonly work: () => ReturnType<typeof createWork>;
  /** One key of each account whose tasks are listed. */
  readonly listers: () => Promise<readonly string[]>;
}

interface Running {
  run(seconds: number): Promise<Load>;
  close(): void;
}

type Open = (server: Server) => Promise<Running | null>;

const requests =
  (kind: Kind): Open =>
  async ({ port, work }) =>
    openLoad({ port, ...(await work())[kind] });

/** Lists of 50 tasks, by the keys of so many accounts, over so many connections. */
const lists =
  (accounts: number, connections: number): Open =>
  async ({ port, listers }) => {
    const credentials = (await listers()).slice(0, accounts);
    // Each connection takes the accounts in turn, from another one on.
    const credential = (i: number) => credentials[i % accounts]!;
    const list = (i: number) => requestOf(`GET ${LIST}`, { credential: credential(i) });
    return openLoad({
      port,
      requests: times(connections, (i) => times(accounts, (turn) => list(i + turn))),
      status: 200,
    });
  };

/**
 * Creates by accounts that have an ntfy topic each, on a server that never answers: what a create costs without
 * the delivery. Null if the version has no channels.
 */
const createWithTarget: Open = async ({ port }) => {
  const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const url = `http://127.0.0.1:${silent.port}/relay`;
  const body = JSON.stringify(TASK);
  const create = async () => {
    const token = await createAccount(port);
    await post(port, "/v1/channels", { type: "ntfy", label: "Bench", url }, token);
    const { credential } = await createKey(port, token, 1);
    return [requestOf("POST /v1/tasks", { credential, body })];
  };
  const known = await fetch(`http://127.0.0.1:${port}/v1/channels`);
  if (known.status === 404) {
    silent.stop();
    return null;
  }
  const load = await openLoad({ port, requests: await each(CONNECTIONS, create), status: 201 });
  return {
    run: load.run,
    close() {
      load.close();
      silent.stop(true);
    },
  };
};

/** Frames: one task of each account changes, which all its streams show. */
const openStreams: Open = async ({ port }) => {
  const accounts = await each(STREAMS / LIMITS.streams, async () => {
    const token = await createAccount(port);
    return { token, key: await createKey(port, token, 1) };
  });
  const changes = await openLoad({
    port,
    requests: accounts.map(({ key: { credential, ids } }) =>
      times(2, (turn) => {
        const body = JSON.stringify({ status_note: `Step ${turn}` });
        return requestOf(`PATCH /v1/tasks/${ids[0]}`, { credential, body });
      }),
    ),
    status: 200,
  });
  const readers = await openReaders({
    port,
    requests: times(STREAMS, (i) =>
      requestOf("GET /v1/events", { credential: accounts[i % accounts.length]!.token }),
    ),
    // Without time for more, one request on each connection.
    emit: () => changes.run(0),
  });
  return {
    run: readers.run,
    close() {
      readers.close();
      changes.close();
    },
  };
};

const OPEN: Readonly<Record<string, Open>> = {
  reads: requests("reads"),
  "lists-key-4": lists(1, 4),
  "lists-key-64": lists(1, 64),
  "lists-accounts-4": lists(LISTERS, 4),
  "lists-accounts-64": lists(LISTERS, 64),
  "patch-one": requests("patch-one"),
  "patch-many": requests("patch-many"),
  creates: requests("creates"),
  "creates-target": createWithTarget,
  frames: openStreams,
};

export interface Measure {
  readonly name: string;
  readonly store: StoreKind;
  readonly open: Open;
}

const MEASURES: readonly Measure[] = STORES.flatMap((store) =>
  Object.entries(OPEN).map(([name, open]) => ({ name: `${name}-${store}`, store, open })),
);

const USAGE = `usage: bun run bench:compare <commit> [name …]

A name selects every measure that has all its parts: lists, server, creates-file, lists-64.
Without one, all are measured, on a file and on a libSQL server:
  ${Object.keys(OPEN).join(", ")}, each with -file or -server
`;

/** The commit and the measures that the arguments name; a string says what is wrong with them. */
export function parseCommand([name, ...names]: readonly string[]) {
  if (name === undefined || name.startsWith("-")) return USAGE;
  const commit = commitOf(name);
  if (commit === null) return `${name} is no commit of this clone.\n\n${USAGE}`;
  const has = (measure: Measure, wanted: string) => {
    const parts = measure.name.split("-");
    return wanted.split("-").every((part) => parts.includes(part));
  };
  const unknown = names.filter((wanted) => !MEASURES.some((one) => has(one, wanted)));
  if (unknown.length > 0) return `No measure is named ${unknown.join(" or ")}.\n\n${USAGE}`;
  const measures = MEASURES.filter(
    (one) => names.length === 0 || names.some((wanted) => has(one, wanted)),
  );
  return { commit, measures };
}

const WIDTHS = [22, 12, 12, 9, 18];
const FIELDS = [
  ["rate", "per second"],
  ["cpu_us", "CPU of Relay, µs"],
  ["store_us", "CPU of sqld, µs"],
  ["p99", "p99, ms"],
] as const satisfies readonly (readonly [keyof Measured, string])[];

/** The figures of one measure, as lines of a table. */
function tableOf(name: string, [ours, theirs]: readonly [Measured[], Measured[]]): string {
  const lines = FIELDS.flatMap(([field, label]) => {
    const [mine, other] = [median(ours, field), median(theirs, field)];
    if (mine === 0 && other === 0) return [];
    const show = field === "p99" ? (value: number) => value.toFixed(2) : count;
    const { low, median: ratio, high } = ratiosOf(ours, theirs, field);
    const spread = `${low.toFixed(2)} to ${high.toFixed(2)}`;
    return lineOf(WIDTHS, [`  ${label}`, show(mine), show(other), ratio.toFixed(2), spread]);
  });
  const turns = `${ours.length} turns each`;
  return lineOf(WIDTHS, [name, "this", "that", "ratio", "middle half"]) + lines.join("") + turns;
}

/**
 * Measures both versions in turns. Other work on the machine makes single turns slow, so the rounds are repeated
 * while it may be that which makes a rate too low: if a quarter of the ratios is too low, until 15 turns confirm it,
 * and until 30 if a quarter of them is high enough.
 */
async function compareSides(sides: readonly [Side, Side]): Promise<[Measured[], Measured[]]> {
  const turns: [Measured[], Measured[]] = [[], []];
  while (true) {
    const more = await measureInTurns(sides, TURNS);
    for (const [i, own] of turns.entries()) own.push(...more[i]!);
    const { low, high } = ratiosOf(...turns);
    const done = turns[0].length;
    if (low >= LEAST || done >= MOST || (done >= CONFIRMED && high < LEAST)) return turns;
  }
}

/** The two sides of a measure, this version first; null if one of the versions cannot do it. */
export type OpenSides = (measure: Measure) => Promise<readonly [Side, Side] | null>;

/** Compares each measure and writes its figures; the result is the exit code. */
export async function compareVersions(
  measures: readonly Measure[],
  openSides: OpenSides,
  write: (text: string) => void,
): Promise<0 | 1> {
  const slow: string[] = [];
  for (const measure of measures) {
    const sides = await openSides(measure);
    if (sides === null) {
      write(`${measure.name}: left out, since one of the versions cannot do it\n\n`);
      continue;
    }
    const turns = await compareSides(sides);
    for (const side of sides) side.close();
    write(`${tableOf(measure.name, turns)}\n\n`);
    if (ratiosOf(...turns).median < LEAST) slow.push(measure.name);
  }
  write(slow.length > 0 ? `Under ${LEAST}: ${slow.join(", ")}\n` : `No rate is under ${LEAST}.\n`);
  return slow.length > 0 ? 1 : 0;
}

/** Calls `make` once, when the value is first needed. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Starts servers of this version and of the one in `tree` when a measure first needs them. */
function createServers(folder: string, tree: string, children: Bun.Subprocess[]) {
  const start = async (store: StoreKind, side: "this" | "that"): Promise<Server> => {
    const path = join(folder, `${side}-${store}`);
    const sqld = store === "server" ? await startSqld(path, freePort(), children) : null;
    // Channels may reach the stand-in on this machine.
    const env = { DATABASE_URL: sqld?.url ?? `file:${path}.db`, OUTBOUND_PRIVATE: "127.0.0.0/8" };
    const version = side === "that" ? { tree } : {};
    const { port, pid } = await startRelay(folder, children, { env, ...version });
    return {
      port,
      pids: [pid],
      store_pids: sqld ? [sqld.pid] : [],
      work: once(() => createWork(port)),
      listers: once(() =>
        each(LISTERS, async () => {
          const token = await createAccount(port);
          return (await createKey(port, token, TASKS)).credential;
        }),
      ),
    };
  };
  const pairOf = (store: StoreKind) =>
    once(() => Promise.all([start(store, "this"), start(store, "that")]));
  const pairs = { file: pairOf("file"), server: pairOf("server") };

  const openSides: OpenSides = async ({ store, open }) => {
    const [ours, theirs] = await pairs[store]();
    const openSide = async (server: Server): Promise<Side | null> => {
      const running = await open(server);
      return running && { ...running, pids: server.pids, store_pids: server.store_pids };
    };
    const mine = await openSide(ours);
    const other = await openSide(theirs);
    if (mine && other) return [mine, other];
    mine?.close();
    other?.close();
    return null;
  };
  return openSides;
}

async function main(): Promise<void> {
  const command = parseCommand(process.argv.slice(2));
  if (typeof command === "string") {
    process.stderr.write(command);
    process.exitCode = 2;
    return;
  }
  const place = createPlace();
  const { folder, children } = place;
  try {
    const { commit, measures } = command;
    const tree = join(folder, "that");
    checkOut(commit, tree);
    process.stdout.write(`"this" is the checkout as it is, "that" is ${commit}\n\n`);
    const openSides = createServers(folder, tree, children);
    const write = (text: string) => void process.stdout.write(text);
    process.exitCode = await compareVersions(measures, openSides, write);
  } finally {
    await place.end();
  }
}

if (import.meta.main) await main();
