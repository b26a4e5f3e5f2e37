/**
 * `bun run bench:growth`: whether a request costs the same on a small store and on a large one, which SQL fills. Each
 * kind of request is measured on both in turns.
 */

import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openStore } from "../db/store/open.ts";
import { systemClock } from "../src/clock.ts";
import { freePort } from "../test/support/sqld.ts";
import {
  count,
  type Measured,
  measureInTurns,
  median,
  middle,
  rowOf,
  type Side,
} from "./compare.ts";
import { openConnection } from "./connection.ts";
import { type Filled, fill, runOnFile, runOnServer, type Size } from "./fill.ts";
import { type Load, openLoad, requestOf } from "./load.ts";
import { createPlace } from "./place.ts";
import { startChild, startRelay, startSqld } from "./process.ts";
import { within } from "./within.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "embedded" },
    /** Rows and keys of the large store. */
    tasks: { type: "string", default: "2000000" },
    keys: { type: "string", default: "10000" },
    rounds: { type: "string", default: "5" },
    only: { type: "string" },
    /** Keeps the stores here for further runs. */
    folder: { type: "string" },
  },
});
const SMALL: Size = { tasks: 30_000, keys: 10 };
const LARGE: Size = { tasks: Number(values.tasks), keys: Number(values.keys) };
const CONNECTIONS = 8;
/** Seconds of one turn. */
const TURN = 0.8;
/** Milliseconds until an answer counts as missing. */
const PATIENCE = 10_000;
/** Seconds for one pass of every job, which growth-jobs.ts gives up after two minutes. */
const JOBS = 180;
const WIDTHS = [26, 10, 10, 8, 12, 18, 18, 18];

const place = createPlace();
const { folder: scratch, children } = place;
const kept = values.folder ?? scratch;
const print = (line: string) => process.stdout.write(`${line}\n`);

interface Ready extends Filled {
  readonly url: string;
  readonly port: number;
  readonly pids: readonly number[];
  readonly store_pids: readonly number[];
}

/** Fills a store unless an earlier run has, and starts Relay on it. */
async function prepare(name: string, size: Size): Promise<Ready> {
  const folder = join(kept, `${values.store}-${name}-${size.tasks}-${size.keys}`);
  const facts = join(folder, "filled.json");
  const is_new = !existsSync(facts);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "relay.db");
  const sqld = values.store === "server" ? await startSqld(folder, freePort(), children) : null;
  const url = sqld?.url ?? `file:${path}`;
  if (is_new) {
    const from = performance.now();
    await (await openStore({ url, auth_token: undefined }, systemClock)).close();
    const file = sqld ? null : runOnFile(path);
    const filled = await fill(file?.run ?? runOnServer(url), size);
    file?.close();
    writeFileSync(facts, JSON.stringify(filled));
    print(`${name} store filled in ${((performance.now() - from) / 1000).toFixed(0)} s`);
  }
  const from = performance.now();
  const relay = await startRelay(scratch, children, { env: { DATABASE_URL: url } });
  const bytes = sqld ? "" : `, ${(statSync(path).size / 1e9).toFixed(2)} GB`;
  const started = (performance.now() - from).toFixed(0);
  print(
    `${name}: ${count(size.tasks)} tasks, ${count(size.keys)} keys${bytes}, start ${started} ms`,
  );
  return {
    ...(JSON.parse(readFileSync(facts, "utf8")) as Filled),
    url,
    port: relay.port,
    pids: [relay.pid],
    store_pids: sqld ? [sqld.pid] : [],
  };
}

type Open = (ready: Ready) => Promise<Pick<Side, "run" | "close">>;

const TASK = JSON.stringify({
  title: "Release version 2",
  description: "Build, test and publish the packages.",
});

/** A load of requests, of each of which `make` gets the number of its key and of its turn. */
const load =
  (
    status: number,
    turns: number,
    make: (ready: Ready, key: number, turn: number) => Uint8Array,
  ): Open =>
  (ready) =>
    openLoad({
      port: ready.port,
      status,
      requests: Array.from({ length: CONNECTIONS }, (_, key) =>
        Array.from({ length: turns }, (_, turn) => make(ready, key, turn)),
      ),
    });

const get = (path: string, by: "key" | "account" = "key") =>
  load(200, 1, ({ secrets, token }, key) =>
    requestOf(`GET ${path}`, { credential: by === "key" ? secrets[key]! : token }),
  );

/** Agents that ask, each of which has the person answer before it asks again. */
const askAndAnswer: Open = async ({ port, token, secrets }) => {
  const connections = await Promise.all(
    secrets.slice(0, CONNECTIONS).map(() => openConnection("127.0.0.1", port)),
  );
  const send = async (key: number, status: number, request: Uint8Array) => {
    const answer = await connections[key]!.exchange(request, PATIENCE);
    if (answer?.status !== status) throw new Error(`an answer ${answer?.status}: ${answer?.text}`);
    return answer.text;
  };
  return {
    async run(seconds): Promise<Load> {
      const ms: number[] = [];
      const from = performance.now();
      const agent = async (key: number) => {
        while (performance.now() < from + seconds * 1000) {
          const began = performance.now();
          const body = JSON.stringify({ prompt: "Go on?" });
          const asked = await send(
            key,
            201,
            requestOf("POST /v1/questions", { credential: secrets[key]!, body }),
          );
          const { id } = JSON.parse(asked) as { id: string };
          const answer = JSON.stringify({ answer: "Yes" });
          const request = { credential: token, body: answer };
          await send(key, 200, requestOf(`POST /v1/questions/${id}/answer`, request));
          ms.push(performance.now() - began);
        }
      };
      await Promise.all(connections.map((_, key) => agent(key)));
      return { count: ms.length, seconds: (performance.now() - from) / 1000, ms };
    },
    close: () => connections.forEach((connection) => void connection.end()),
  };
};

const KINDS: Readonly<Record<string, Open>> = {
  create: load(201, 1, ({ secrets }, key) =>
    requestOf("POST /v1/tasks", { credential: secrets[key]!, body: TASK }),
  ),
  read: load(200, 50, ({ secrets, tasks }, key, turn) =>
    requestOf(`GET /v1/tasks/${tasks[key]![turn]}`, { credential: secrets[key]! }),
  ),
  "list-key": get("/v1/tasks?limit=50"),
  "list-account": get("/v1/tasks?limit=50", "account"),
  "list-account-done": get("/v1/tasks?limit=50&status=done", "account"),
  // Another note each time, since the same one would change nothing.
  patch: load(200, 100, ({ secrets, tasks }, key, turn) =>
    requestOf(`PATCH /v1/tasks/${tasks[key]![turn % 50]}`, {
      credential: secrets[key]!,
      body: JSON.stringify({ status_note: turn < 50 ? "Builds" : "Runs the tests" }),
    }),
  ),
  "ask-answer": askAndAnswer,
  questions: get("/v1/questions?status=answered&limit=50"),
  inbox: get("/v1/inbox?peek=true&limit=50"),
  "request-log": async (ready) => {
    const response = await fetch(`http://127.0.0.1:${ready.port}/v1/keys`, {
      headers: { authorization: `Bearer ${ready.token}` },
      signal: AbortSignal.timeout(PATIENCE),
    });
    const { keys } = (await response.json()) as { keys: { id: string }[] };
    return get(`/v1/keys/${keys[0]!.id}/activity?limit=50`, "account")(ready);
  },
};

/** The median and the range of the ratios of neighbouring turns. */
function ratios(
  of: readonly Measured[],
  to: readonly Measured[],
  field: "p50" | "cpu_us" | "store_us",
) {
  const all = of.map((one, i) => one[field] / to[i]![field]).sort((a, b) => a - b);
  return `${middle([...all]).toFixed(2)} (${all[0]!.toFixed(2)}-${all.at(-1)!.toFixed(2)})`;
}

async function compareStores(small: Ready, large: Ready): Promise<void> {
  const of_server = values.store === "server";
  const head = ["", "small/s", "large/s", "p50", "p50 large", "p50 ratio", "CPU ratio"];
  rowOf(WIDTHS, of_server ? [...head, "sqld CPU ratio"] : head);
  for (const [name, open] of Object.entries(KINDS)) {
    if (values.only && !values.only.split(",").includes(name)) continue;
    const sides: Side[] = [];
    for (const ready of [small, large]) sides.push({ ...ready, ...(await open(ready)) });
    const rounds = { rounds: Number(values.rounds), turn: TURN, warm_up: 0.5 };
    const [few, many] = (await measureInTurns(sides, rounds)) as [Measured[], Measured[]];
    for (const side of sides) side.close();
    rowOf(WIDTHS, [
      name,
      count(median(few, "rate")),
      count(median(many, "rate")),
      median(few, "p50").toFixed(2),
      median(many, "p50").toFixed(2),
      ratios(many, few, "p50"),
      ratios(many, few, "cpu_us"),
      ...(of_server ? [ratios(many, few, "store_us")] : []),
    ]);
  }
}

/** Runs every periodic job once in a process of its own, and prints those that held up the event loop longest. */
async function timeJobs({ url }: Ready): Promise<void> {
  const child = await startChild(children, "growth-jobs.ts", [], { DATABASE_URL: url });
  const { exited } = children.find(({ pid }) => pid === child.pid)!;
  await within(JOBS, "the jobs", exited);
}

try {
  const small = await prepare("small", SMALL);
  const large = await prepare("large", LARGE);
  await compareStores(small, large);
  if (!values.only || values.only.split(",").includes("jobs")) {
    for (const ready of [small, large]) await timeJobs(ready);
  }
} finally {
  await place.end();
}
