/** The requests of `bench:peers`: Relay and PocketBase do the same work, in turns. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Measured, measureInTurns } from "../compare.ts";
import { openLoad, requestOf } from "../load.ts";
import { type Child, startRelay, times } from "../process.ts";
import {
  KINDS as ALL_AT_ONCE,
  type Kind as AllAtOnce,
  createWork,
  type Work,
} from "../stores-work.ts";
import { type PocketBase, startPocketBase } from "./pocketbase.ts";
import { type Figures, type Measure, type Spread, spreadOf } from "./results.ts";
import { syncsOf } from "./syncs.ts";

/** The work of `bench:stores` over all connections, and creates over a single one. */
export const KINDS = [...ALL_AT_ONCE, "creates-one"] as const;
export type Kind = (typeof KINDS)[number];

const TITLES: Readonly<Record<Kind, string>> = {
  creates: "create a task",
  reads: "read a task",
  lists: "list 50 tasks",
  "patch-one": "PATCH of one task by all",
  "patch-many": "PATCH, spread over 200 tasks",
  "creates-one": "create a task, one connection",
};

const workOf = (work: Work, kind: Kind): Work[AllAtOnce] =>
  kind === "creates-one"
    ? { ...work.creates, requests: [work.creates.requests.flat()] }
    : work[kind];

export interface Turns {
  readonly rounds: number;
  readonly seconds: number;
}

const WARM_UP = 1;
/** Creates that are made one after another while the syncs of the server are counted. */
const WATCHED = 10;

export function ratiosOf(relay: readonly number[], peer: readonly number[]): Spread {
  return spreadOf(relay.map((value, i) => value / peer[i]!));
}

function figuresOf(turns: readonly Measured[]): Figures {
  const of = (field: keyof Measured) => spreadOf(turns.map((turn) => turn[field]));
  return { rate: of("rate"), p50_ms: of("p50"), p99_ms: of("p99"), cpu_us: of("cpu_us") };
}

async function measureKind(
  kind: Kind,
  servers: readonly (readonly [Child, Work])[],
  { rounds, seconds }: Turns,
): Promise<Measure> {
  const sides = await Promise.all(
    servers.map(async ([{ port, pid }, work]) => ({
      pids: [pid],
      ...(await openLoad({ port, ...workOf(work, kind) })),
    })),
  );
  const turns = await measureInTurns(sides, { rounds, turn: seconds, warm_up: WARM_UP });
  for (const side of sides) side.close();
  const [relay, peer] = turns as [Measured[], Measured[]];
  const rates = (of: readonly Measured[]) => of.map(({ rate }) => rate);
  return {
    title: TITLES[kind],
    relay: figuresOf(relay),
    peer: figuresOf(peer),
    ratio: ratiosOf(rates(relay), rates(peer)),
  };
}

/** The syncs of a server during creates that follow one another. */
async function watchedSyncs({ port, pid }: Child, { creates }: Work, what: string) {
  const [request] = creates.requests[0]!;
  const found = await syncsOf(pid, async () => {
    const load = await openLoad({ port, requests: [[request!]], status: creates.status });
    for (let i = 0; i < WATCHED; i++) await load.run(0);
    load.close();
  });
  if (found !== undefined && found < WATCHED) {
    throw new Error(`${what} synced ${found} times for ${WATCHED} creates: it is not durable`);
  }
  return found === undefined ? "not counted: no strace" : `${found} for ${WATCHED} creates`;
}

/** Measures Relay beside PocketBase, whose executable is `binary`. */
export async function benchRequests(
  { folder, children }: { folder: string; children: Bun.Subprocess[] },
  binary: string,
  kinds: readonly Kind[],
  turns: Turns,
) {
  const own = join(folder, "requests");
  mkdirSync(own);
  const relay = await startRelay(own, children);
  const peer: PocketBase = await startPocketBase(binary, join(own, "pocketbase"), children);
  const servers = [
    [relay, await createWork(relay.port)],
    [peer, await createPocketBaseWork(peer)],
  ] as const;
  const settings = {
    connections: servers[0][1].creates.requests.length,
    syncs_of_relay: await watchedSyncs(...servers[0], "Relay"),
    syncs_of_pocketbase: await watchedSyncs(...servers[1], "PocketBase"),
    pragmas_of_pocketbase: `journal_mode ${peer.journal_mode}, synchronous ${peer.synchronous} (2 is FULL)`,
  };
  const measures: Record<string, Measure> = {};
  // Creates last: the faster server would have more tasks in all that follows.
  const isCreate = (kind: Kind) => kind.startsWith("creates");
  const last = kinds.filter(isCreate);
  for (const kind of [...kinds.filter((one) => !isCreate(one)), ...last]) {
    measures[kind] = await measureKind(kind, servers, turns);
  }
  const inOrder = kinds.map((kind) => [kind, measures[kind]!] as const);
  return {
    settings,
    measures: Object.fromEntries(inOrder),
    versions: { pocketbase: peer.version, "sqlite of pocketbase": peer.sqlite },
  };
}

const PATH = "/api/collections/tasks/records";
const TASKS = 50;
const SPREAD = 200;
const TASK = { title: "Release version 2", description: "Build, test and publish the packages." };
const STATE = { status: "todo", priority: "medium", progress: 0, notify: true };

/** Prepares PocketBase with the work of `bench:stores`: a user for each connection, and one for changes. */
async function createPocketBaseWork({ port, users }: PocketBase): Promise<Work> {
  const bodyOf = (owner: string) => JSON.stringify({ ...TASK, ...STATE, owner });
  const create = async ({ id: owner, token }: PocketBase["users"][number], tasks: number) => {
    const ids: string[] = [];
    for (let i = 0; i < tasks; i++) {
      const response = await fetch(`http://127.0.0.1:${port}${PATH}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: bodyOf(owner),
      });
      if (!response.ok) throw new Error(`POST ${PATH}: ${await response.text()}`);
      ids.push(((await response.json()) as { id: string }).id);
    }
    return { owner, credential: token, ids };
  };
  const keys = await Promise.all(users.slice(1).map((user) => create(user, TASKS)));
  const { credential, ids } = await create(users[0]!, SPREAD);
  const patch = (id: string, connection: number, turn: number) => {
    const body = JSON.stringify({ status_note: `Step ${turn} of agent ${connection}` });
    return requestOf(`PATCH ${PATH}/${id}`, { credential, body });
  };
  const at = (turn: number, connection: number) => ids[(turn * 7 + connection * 31) % SPREAD]!;
  return {
    creates: {
      status: 200,
      requests: keys.map(({ owner, credential }) => [
        requestOf(`POST ${PATH}`, { credential, body: bodyOf(owner) }),
      ]),
    },
    reads: {
      status: 200,
      requests: keys.map(({ credential, ids }) =>
        ids.map((id) => requestOf(`GET ${PATH}/${id}`, { credential })),
      ),
    },
    lists: {
      status: 200,
      requests: keys.map(({ credential }) => [
        // The newest first, as Relay lists them, and without counting them all.
        requestOf(`GET ${PATH}?perPage=${TASKS}&sort=-created&skipTotal=1`, { credential }),
      ]),
    },
    "patch-one": {
      status: 200,
      requests: times(keys.length, (i) => times(20, (turn) => patch(ids[0]!, i, turn))),
    },
    "patch-many": {
      status: 200,
      requests: times(keys.length, (i) => times(SPREAD, (turn) => patch(at(turn, i), i, turn))),
    },
  };
}
