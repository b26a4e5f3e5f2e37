/**
 * `bun run bench:push [--store file|server] [--pace <ms>]`: 10,000 pushes are due at once, with a round
 * trip of 50 ms to the push service: how fast they are sent, how much memory they take, and how much they
 * delay requests to the sending Relay and to another one on the same machine. `--pace`:
 * milliseconds between two requests of a connection; by default, each is sent once the previous one is
 * answered.
 */

import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { freePort } from "../test/support/sqld.ts";
import { type Load, openLoad, requestOf } from "./load.ts";
import { createPlace } from "./place.ts";
import { post, startRelay, startSqld } from "./process.ts";
import { untilTrue, within } from "./within.ts";

const DEVICES = 20;
const TASKS = 500;
const PUSHES = DEVICES * TASKS;
const ROUND_TRIP = 50;
/** Connections used meanwhile: half of them create and half of them read. */
const OTHERS = 8;
/** Seconds of load. */
const WINDOW = 2;
const ROUNDS = 5;
/** Seconds for an answer of the push service's process, and in which all pushes must be sent. */
const ANSWER = 30;
const SENT = 180;

const { values: flags } = parseArgs({
  options: {
    store: { type: "string", default: "file" },
    pace: { type: "string", default: "0" },
  },
});
const place = createPlace();
const { folder, children } = place;

interface Counts {
  readonly pushes: number;
  readonly requests: number;
}

/** Starts the push service; `counts` returns what it has received so far. */
async function startApple() {
  const path = fileURLToPath(new URL("./apple.ts", import.meta.url));
  const told = Promise.withResolvers<{ port: number; ca: string }>();
  let answer = Promise.withResolvers<Counts>();
  const child = Bun.spawn([process.execPath, "--no-orphans", path, String(ROUND_TRIP)], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc(message: { port: number; ca: string } | Counts) {
      if ("port" in message) told.resolve(message);
      else answer.resolve(message);
    },
  });
  children.push(child);
  const started = await within(ANSWER, "the start of the push service", told.promise);
  const counts = () => {
    answer = Promise.withResolvers();
    child.send("counts");
    return within(ANSWER, "the counts of the push service", answer.promise);
  };
  /** Resolves once so many pushes have arrived. */
  const untilSent = (pushes: number, look?: () => void) =>
    untilTrue(
      SENT,
      `${pushes} pushes`,
      async () => {
        look?.();
        return (await counts()).pushes >= pushes;
      },
      20,
    );
  return { ...started, counts, untilSent };
}

/** Memory of a process in megabytes. */
function memoryOf(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))!;
  return Math.round(Number(kilobytes) / 1024);
}

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const apple = await startApple();
const ca_file = join(folder, "ca.pem");
await Bun.write(ca_file, apple.ca);

/** Creates a store for Relay; returns its folder and the variables that name it. */
async function createStore(name: string) {
  const store = join(folder, name);
  if (flags.store !== "server") return { store, variables: {} };
  const { url } = await startSqld(join(folder, `${name}-sqld`), freePort(), children);
  return { store, variables: { DATABASE_URL: url } };
}

const own = await createStore("own");
const envWith = (port: number) => ({
  LOG_LEVEL: "error",
  ...own.variables,
  APNS_TEAM_ID: "BENCH00000",
  APNS_BUNDLE_ID: "com.example.bench",
  APNS_SANDBOX_KEY_ID: "BENCH00000",
  APNS_SANDBOX_KEY: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  APNS_SANDBOX_URL: `https://127.0.0.1:${port}`,
  APNS_CA_FILE: ca_file,
});

interface Owner {
  readonly token: string;
  readonly secret: string;
}

async function create(port: number): Promise<Owner> {
  const { token } = await post<{ token: string }>(port, "/v1/accounts", {});
  const { secret } = await post<{ secret: string }>(port, "/v1/keys", { label: "Bench" }, token);
  return { token, secret };
}

const createOthers = (port: number) =>
  Promise.all(Array.from({ length: OTHERS }, () => create(port)));

function figuresOf({ ms, count, seconds }: Load) {
  const sorted = ms.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.floor(sorted.length * part)]!;
  return { rate: count / seconds, p50: at(0.5), p99: at(0.99) };
}

const show = ({ rate, p50, p99 }: ReturnType<typeof figuresOf>) =>
  `${Math.round(rate)}/s p50 ${p50.toFixed(2)} p99 ${p99.toFixed(2)} ms`;

/** Requests whose latency is compared. */
const KINDS = ["create", "read"] as const;
type Kind = (typeof KINDS)[number];
type Round = Readonly<Record<Kind, Load>>;

async function openLoads(port: number, others: readonly Owner[], pace: number) {
  const body = JSON.stringify({ title: "Release" });
  const half = OTHERS / 2;
  const reads = await Promise.all(
    others.slice(half).map(async ({ secret }) => {
      const { id } = await post<{ id: string }>(port, "/v1/tasks", { title: "Read" }, secret);
      return [requestOf(`GET /v1/tasks/${id}`, { credential: secret })];
    }),
  );
  const creates = others
    .slice(0, half)
    .map(({ secret }) => [requestOf("POST /v1/tasks", { credential: secret, body })]);
  const loads = [
    await openLoad({ port, requests: creates, status: 201, pace }),
    await openLoad({ port, requests: reads, status: 200, pace }),
  ] as const;
  return {
    async run(seconds: number): Promise<Round> {
      const [create, read] = await Promise.all(loads.map((load) => load.run(seconds)));
      return { create: create!, read: read! };
    },
    close: () => loads.forEach((load) => void load.close()),
  };
}

try {
  // A first run, without a push service, plans the pushes.
  const first = await startRelay(own.store, children, { env: envWith(1) });
  const owner = await create(first.port);
  const others = await createOthers(first.port);
  for (let i = 0; i < DEVICES; i++) {
    const device = {
      platform: "ios",
      model: "m",
      os_version: "1",
      app_version: "1",
      apns_environment: "sandbox",
      apns_token: (i + 1).toString(16).padStart(64, "0"),
    };
    await fetch(`http://127.0.0.1:${first.port}/v1/devices/dev_${crypto.randomUUID()}`, {
      method: "PUT",
      headers: { "content-type": "application/json", authorization: `Bearer ${owner.token}` },
      body: JSON.stringify(device),
    });
  }
  const planned_at = performance.now();
  /** Requests, each of which plans a push for every device. */
  const plan = async (port: number) => {
    for (let i = 0; i < TASKS; i += 10) {
      const ten = Array.from({ length: 10 }, () =>
        post(port, "/v1/tasks", { title: "Release" }, owner.secret),
      );
      await Promise.all(ten);
    }
  };
  await plan(first.port);
  const planned = performance.now() - planned_at;
  process.stdout.write(
    `${PUSHES} pushes planned by ${TASKS} requests in ${Math.round(planned)} ms\n`,
  );
  children.at(-1)!.kill();
  await within(ANSWER, "the stop of Relay", children.at(-1)!.exited);

  // A second run sends them without other load.
  const alone = await startRelay(own.store, children, { env: envWith(apple.port) });
  const idle = memoryOf(alone.pid);
  let most = idle;
  const from = performance.now();
  await apple.untilSent(PUSHES, () => {
    most = Math.max(most, memoryOf(alone.pid));
  });
  const took = performance.now() - from;
  const { pushes, requests } = await apple.counts();
  process.stdout.write(
    `alone: ${pushes} pushes in ${(took / 1000).toFixed(2)} s, ${Math.round((PUSHES / took) * 1000)}/s, ` +
      `${requests - pushes} repeated; memory ${idle} MB at first, ${most} MB at most\n`,
  );

  // Beside requests: the same number of pushes becomes due, round after round. Delays of a Relay that has its own
  // store and sends nothing come from the cores and the disk that both share.
  const apart = await createStore("apart");
  const bystander = await startRelay(apart.store, children, {
    env: { LOG_LEVEL: "error", ...apart.variables },
  });
  const pace = Number(flags.pace);
  const asked = [
    { name: "the same Relay", loads: await openLoads(alone.port, others, pace) },
    {
      name: "another Relay",
      loads: await openLoads(bystander.port, await createOthers(bystander.port), pace),
    },
  ].map((one) => ({ ...one, quiet: [] as Round[], busy: [] as Round[] }));
  for (const { loads } of asked) await loads.run(1);
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, loads, quiet, busy } of asked) {
      quiet.push(await loads.run(WINDOW));
      const before = (await apple.counts()).pushes;
      await plan(alone.port);
      const begun = (await apple.counts()).pushes;
      busy.push(await loads.run(WINDOW));
      const ended = (await apple.counts()).pushes;
      await apple.untilSent(before + PUSHES);
      for (const kind of KINDS) {
        const [without, meanwhile] = [quiet, busy].map((list) => figuresOf(list.at(-1)![kind]));
        process.stdout.write(
          `${kind}, ${name}: quiet ${show(without!)}; busy ${show(meanwhile!)}\n`,
        );
      }
      process.stdout.write(
        `  meanwhile ${Math.round((ended - begun) / WINDOW)} pushes/s, ${before + PUSHES - ended} left\n`,
      );
    }
  }
  process.stdout.write(
    `p99 of a request without and with pushes, of all rounds; memory ${memoryOf(alone.pid)} MB\n`,
  );
  // A round has few requests above its p99: all rounds together vary less than the median of the rounds.
  const p99Of = (rounds: readonly Round[], kinds: readonly Kind[]) => {
    const ms = rounds.flatMap((round) => kinds.flatMap((kind) => round[kind].ms));
    return figuresOf({ count: 0, seconds: 1, ms }).p99;
  };
  for (const { name, quiet, busy, loads } of asked) {
    for (const kinds of [...KINDS.map((kind) => [kind]), KINDS]) {
      const [without, meanwhile] = [p99Of(quiet, kinds), p99Of(busy, kinds)];
      process.stdout.write(
        `${kinds.join(" or ")}, ${name}: ${without.toFixed(2)} and ${meanwhile.toFixed(2)} ms, ${(meanwhile / without).toFixed(2)}\n`,
      );
    }
    loads.close();
  }
} finally {
  await place.end();
}
