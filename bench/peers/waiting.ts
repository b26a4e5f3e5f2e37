/** The idle connections of `bench:peers`: latency among them and memory of each, in Relay and in nchan. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { LIMITS } from "../../src/limits.ts";
import { type Measured, measureInTurns } from "../compare.ts";
import { requestOf } from "../load.ts";
import { post, startRelay, times } from "../process.ts";
import { KINDS, type Kind, nchanDelivery, relayDelivery } from "./delivery.ts";
import { type Idle, memoryAtRest, openIdle } from "./idle.ts";
import { nchanVersions, startNchan } from "./nchan.ts";
import { ratiosOf, type Turns } from "./requests.ts";
import { type Figures, type Measure, spreadOf } from "./results.ts";

export { KINDS };

const TITLES: Readonly<Record<Kind, string>> = {
  waits: "answer to a wait",
  streams: "change to a stream",
};
/** New processes of both servers for each measure: memory differs by process. */
const PROCESSES = 3;
const WARM_UP = 0.5;
/** Connections opened before memory is first read, so that what a process makes once does not count. */
const FIRST = 500;
const ACCOUNTS_AT_ONCE = 32;

/** What Relay's idle connections send, prepared in a process of its own. */
type Requests = Readonly<Record<Kind, readonly Uint8Array[]>>;

interface Place {
  readonly folder: string;
  readonly children: Bun.Subprocess[];
}

async function endLast(children: Bun.Subprocess[]): Promise<void> {
  const child = children.pop()!;
  child.kill("SIGKILL");
  await child.exited;
}

async function prepareRelay({ folder, children }: Place, most: number): Promise<Requests> {
  const { port } = await startRelay(folder, children);
  const each = Math.min(LIMITS.streams, LIMITS.pending_questions_per_key);
  const prepareAccount = async () => {
    const { token } = await post<{ token: string }>(port, "/v1/accounts", {});
    const { secret } = await post<{ secret: string }>(port, "/v1/keys", { label: "Bench" }, token);
    const asked = { prompt: "Go on?", expires_in: LIMITS.expires_in_max };
    const questions = await Promise.all(
      times(each, () => post<{ id: string }>(port, "/v1/questions", asked, secret)),
    );
    return {
      streams: questions.map(() => requestOf("GET /v1/events", { credential: token })),
      waits: questions.map(({ id }) =>
        requestOf(`GET /v1/questions/${id}?wait=${LIMITS.wait_max}`, { credential: secret }),
      ),
    };
  };
  const accounts: { streams: Uint8Array[]; waits: Uint8Array[] }[] = [];
  while (accounts.length * each < most) {
    accounts.push(...(await Promise.all(times(ACCOUNTS_AT_ONCE, prepareAccount))));
  }
  await endLast(children);
  return {
    streams: accounts.flatMap(({ streams }) => streams),
    waits: accounts.flatMap(({ waits }) => waits),
  };
}

/** Each wait has its own channel, and as many streams share one as an account of Relay may have. */
const nchanRequests = (n: number): Requests => ({
  streams: times(n, (i) =>
    requestOf(`GET /events?id=idle-${Math.floor(i / LIMITS.streams)}`, {
      headers: ["accept: text/event-stream"],
    }),
  ),
  waits: times(n, (i) => requestOf(`GET /wait?id=idle-${i}`)),
});

interface Held {
  readonly kb_each: number;
  readonly rss_mb: number;
  readonly idle: readonly Idle[];
}

/** Opens the connections, and reads the memory after the first ones and after all. */
async function hold(
  { port, pid }: { port: number; pid: number },
  kind: Kind,
  requests: readonly Uint8Array[],
): Promise<Held> {
  const streams = kind === "streams";
  const first = await openIdle({ port, requests: requests.slice(0, FIRST), streams });
  const before = await memoryAtRest(pid);
  const rest = await openIdle({ port, requests: requests.slice(FIRST), streams });
  const after = await memoryAtRest(pid);
  const kb_each = (after - before) / (requests.length - FIRST);
  return { kb_each, rss_mb: after / 1024, idle: [first, rest] };
}

/** One round: new processes, the idle connections, then the turns. */
async function round(
  { folder, children }: Place,
  kind: Kind,
  requests: readonly (readonly Uint8Array[])[],
  turns: Turns,
) {
  const relay = await startRelay(folder, children);
  const nchan = await startNchan(join(folder, "nchan"));
  try {
    const held = await Promise.all(
      [relay, nchan].map((server, i) => hold(server, kind, requests[i]!)),
    );
    const deliveries = [
      { pids: [relay.pid], ...(await relayDelivery(kind, relay.port)) },
      { pids: [nchan.pid], ...(await nchanDelivery(kind, nchan.port)) },
    ];
    const measured = await measureInTurns(deliveries, {
      rounds: turns.rounds,
      turn: turns.seconds,
      warm_up: WARM_UP,
    });
    const idle = held.flatMap((one) => one.idle);
    for (const one of idle) one.check();
    for (const one of idle) one.close();
    for (const delivery of deliveries) delivery.close();
    return { held, measured };
  } finally {
    await nchan.stop();
    await endLast(children);
  }
}

async function measureKind(
  place: Place,
  kind: Kind,
  requests: readonly (readonly Uint8Array[])[],
  turns: Turns,
): Promise<Measure> {
  const rounds: Awaited<ReturnType<typeof round>>[] = [];
  const own = { ...turns, rounds: Math.ceil(turns.rounds / PROCESSES) };
  for (let i = 0; i < PROCESSES; i++) rounds.push(await round(place, kind, requests, own));
  const turnsOf = (side: number): Measured[] => rounds.flatMap(({ measured }) => measured[side]!);
  const figuresOf = (side: number): Figures => ({
    p50_ms: spreadOf(turnsOf(side).map(({ p50 }) => p50)),
    p99_ms: spreadOf(turnsOf(side).map(({ p99 }) => p99)),
    kb_each: spreadOf(rounds.map(({ held }) => held[side]!.kb_each)),
    rss_mb: spreadOf(rounds.map(({ held }) => held[side]!.rss_mb)),
  });
  const latencies = (side: number) => turnsOf(side).map(({ p50 }) => p50);
  return {
    title: `${TITLES[kind]}, among ${requests[0]!.length.toLocaleString("en")}`,
    relay: figuresOf(0),
    peer: figuresOf(1),
    ratio: ratiosOf(latencies(0), latencies(1)),
  };
}

/** Measures Relay beside nchan with each of these numbers of idle connections. */
export async function benchWaiting(
  { folder, children }: Place,
  kinds: readonly Kind[],
  idle: readonly number[],
  turns: Turns,
) {
  const place = { folder: join(folder, "waiting"), children };
  mkdirSync(place.folder);
  const ours = await prepareRelay(place, Math.max(...idle));
  const measures: Record<string, Measure> = {};
  for (const kind of kinds) {
    for (const n of idle) {
      const requests = [ours[kind].slice(0, n), nchanRequests(n)[kind]];
      measures[`${kind}-${n}`] = await measureKind(place, kind, requests, turns);
    }
  }
  const settings = {
    processes: PROCESSES,
    nchan: "one worker; messages in memory; no credential is checked",
    relay: "one process; each answer and change is synced before it is delivered",
  };
  return { settings, measures, versions: nchanVersions() };
}
