/**
 * `bun run bench:footprint`: memory of each idle event stream and wait beside bare `Bun.serve`, memory at rest, and the
 * time of a start. Each figure is the median of several runs, each of a new process.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openStore } from "../db/store/open.ts";
import { systemClock } from "../src/clock.ts";
import { LIMITS } from "../src/limits.ts";
import { cpuOf, middle, rowOf } from "./compare.ts";
import { fill, runOnFile } from "./fill.ts";
import { buildExecutable } from "./in-runner.ts";
import { requestOf } from "./load.ts";
import { createPlace } from "./place.ts";
import { type Child, post, startChild, startRelay, times } from "./process.ts";
import { within } from "./within.ts";

const { values } = parseArgs({
  options: {
    /** Connections that are measured. */
    count: { type: "string", default: "2000" },
    rounds: { type: "string", default: "5" },
    only: { type: "string", default: "streams,waits,mcp,start" },
  },
});
const COUNT = Number(values.count);
const ROUNDS = Number(values.rounds);
const ONLY = values.only.split(",");
/** Connections opened before memory is first read, so that what a process makes once does not count. */
const FIRST = 500;
const WAITS_PER_KEY = LIMITS.pending_questions_per_key;
/** Bytes of a page in `/proc`. */
const PAGE = 4_096;
/** Milliseconds between two looks whether a process is idle, and ticks of processor time that it may use meanwhile. */
const LOOK = 1_000;
const IDLE_TICKS = 0.04;
/** Looks after which a process counts as one that never rests, and seconds until a connection must be open. */
const LOOKS = 60;
const OPEN = 30;

/** A file of about 1.2 GB. */
const LARGE = { tasks: 1_000_000, keys: 1_000 };

const place = createPlace();
const { folder, children } = place;
const WIDTHS = [34, 14, 24, 10];

/** Resident memory in KB. */
function memoryOf(pid: number): number {
  return (Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]) * PAGE) / 1024;
}

/** Resolves once the process does nothing, and returns its resident memory in KB. */
async function restOf({ pid }: Child): Promise<number> {
  for (let looks = 0, used = Number.POSITIVE_INFINITY; used > IDLE_TICKS; looks++) {
    if (looks === LOOKS) throw new Error(`the process works on after ${LOOKS} looks`);
    const before = cpuOf([pid]);
    await Bun.sleep(LOOK);
    used = cpuOf([pid]) - before;
  }
  return memoryOf(pid);
}

async function endLast(): Promise<void> {
  const child = children.pop()!;
  child.kill("SIGKILL");
  await child.exited;
}

/** Opens a connection for each request, which stays unanswered or is answered by a stream. */
async function openAll(port: number, requests: readonly Uint8Array[], ended: () => void) {
  const sockets: Bun.Socket[] = [];
  for (const request of requests) {
    const connecting = Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        data(_, chunk) {
          const status = chunk.toString("latin1", 0, 12);
          if (/^HTTP.*[^0]$|^HTTP.* [^2]/.test(status)) throw new Error(chunk.toString());
        },
        close: ended,
      },
    });
    const socket = await within(OPEN, "a connection", connecting);
    socket.write(request);
    sockets.push(socket);
  }
  return sockets;
}

/** KB of each connection, in one new process. */
async function costOf(child: Child, requests: readonly Uint8Array[]): Promise<number> {
  let closing = false;
  const ended = () => {
    if (!closing) throw new Error("a connection ended");
  };
  const first = await openAll(child.port, requests.slice(0, FIRST), ended);
  const before = await restOf(child);
  const rest = await openAll(child.port, requests.slice(FIRST), ended);
  const after = await restOf(child);
  closing = true;
  for (const socket of [...first, ...rest]) socket.terminate();
  await endLast();
  return (after - before) / rest.length;
}

const shown = (figures: number[], digits = 1) => {
  const sorted = figures.toSorted((a, b) => a - b);
  const of = (value: number) => value.toFixed(digits);
  return [of(middle(figures)), `(${of(sorted[0]!)} to ${of(sorted.at(-1)!)})`];
};

/** Measures the bare server and Relay in turns. */
async function compare(
  what: string,
  bare: readonly Uint8Array[],
  relay: readonly Uint8Array[],
): Promise<void> {
  const costs: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    costs[0].push(await costOf(await startChild(children, "bare-idle.ts", []), bare));
    costs[1].push(await costOf(await startRelay(folder, children), relay));
  }
  rowOf(WIDTHS, [`${what}, bare`, ...shown(costs[0])]);
  rowOf(WIDTHS, [`${what}, Relay`, ...shown(costs[1])]);
}

interface Question {
  readonly id: string;
  readonly secret: string;
}

/** Makes accounts for the streams, and a question for each wait, in a process of its own. */
async function prepare(n: number) {
  const { port } = await startRelay(folder, children);
  const accounts = await Promise.all(
    times(Math.ceil(n / LIMITS.streams), () => post<{ token: string }>(port, "/v1/accounts", {})),
  );
  const keys = times(Math.ceil(n / WAITS_PER_KEY), async (i) => {
    const { token } = accounts[i % accounts.length]!;
    const { secret } = await post<{ secret: string }>(port, "/v1/keys", { label: "Bench" }, token);
    const asked = { prompt: "Go on?", expires_in: LIMITS.expires_in_max };
    return Promise.all(
      times(WAITS_PER_KEY, async (): Promise<Question> => {
        const { id } = await post<{ id: string }>(port, "/v1/questions", asked, secret);
        return { id, secret };
      }),
    );
  });
  const questions = (await Promise.all(keys)).flat().slice(0, n);
  await endLast();
  return { tokens: accounts.map(({ token }) => token), questions };
}

async function benchConnections(): Promise<void> {
  const n = FIRST + COUNT;
  const { tokens, questions } = await prepare(n);
  const repeated = (request: Uint8Array) => times(n, () => request);
  rowOf(WIDTHS, [`KB for each of ${COUNT}`, "median", "from to"]);
  if (ONLY.includes("streams")) {
    await compare(
      "idle stream",
      repeated(requestOf("GET /stream")),
      times(n, (i) =>
        requestOf("GET /v1/events", { credential: tokens[Math.floor(i / LIMITS.streams)]! }),
      ),
    );
  }
  if (ONLY.includes("waits")) {
    await compare(
      "wait",
      repeated(requestOf("GET /wait")),
      questions.map(({ id, secret }) =>
        requestOf(`GET /v1/questions/${id}?wait=${LIMITS.wait_max}`, { credential: secret }),
      ),
    );
  }
  if (ONLY.includes("mcp")) {
    const headers = ["accept: application/json, text/event-stream"];
    const call = (id: string) =>
      JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: {
          name: "get_question",
          arguments: { question_id: id, wait_seconds: LIMITS.wait_max },
        },
      });
    await compare(
      "wait by MCP",
      repeated(requestOf("POST /mcp", { body: call("0"), headers })),
      questions.map(({ id, secret }) =>
        requestOf("POST /mcp", { credential: secret, body: call(id), headers }),
      ),
    );
  }
}

/** Starts Relay on a store some times; returns the seconds until it listens, and MB at rest of the first start. */
async function startsOf(url: string, command: readonly string[]) {
  const seconds: number[] = [];
  const memory: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const from = performance.now();
    const options = { env: { DATABASE_URL: url }, ...(command.length > 0 && { program: command }) };
    const child = await startRelay(folder, children, options);
    seconds.push((performance.now() - from) / 1000);
    memory.push((await restOf(child)) / 1024);
    await endLast();
  }
  return { seconds, memory };
}

async function benchStarts(): Promise<void> {
  const executable = join(folder, "relay");
  await buildExecutable(executable);
  const large = `file:${join(folder, "large.db")}`;
  await (await openStore({ url: large, auth_token: undefined }, systemClock)).close();
  const { run, close } = runOnFile(join(folder, "large.db"));
  await fill(run, LARGE);
  close();
  const small = `file:${join(folder, "small.db")}`;
  rowOf(WIDTHS, ["", "median", "from to"]);
  const programs = { sources: [], executable: [executable, "serve"] };
  for (const [program, command] of Object.entries(programs)) {
    for (const [store, url] of Object.entries({ small, "1.2 GB": large })) {
      const { seconds, memory } = await startsOf(url, command);
      rowOf(WIDTHS, [`start of the ${program}, ${store}, s`, ...shown(seconds, 2)]);
      rowOf(WIDTHS, ["  MB at rest", ...shown(memory, 0)]);
    }
  }
}

try {
  if (ONLY.some((name) => name !== "start")) await benchConnections();
  if (ONLY.includes("start")) await benchStarts();
} finally {
  await place.end();
}
