/**
 * `bun run bench:shards`: simulates accounts on three libSQL servers beside one (docs/scale.md). One process of Relay has
 * a core for each server, and each server as many clients as the single one has. Then an account moves under load.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../test/support/sqld.ts";
import {
  count,
  cpuOf,
  type Measured,
  measureInTurns,
  median,
  quantiles,
  ratiosOf,
  rowOf,
} from "./compare.ts";
import { openLoad } from "./load.ts";
import { createPlace } from "./place.ts";
import { post, startSqld, times } from "./process.ts";
import { markOf } from "./shards/directory.ts";
import { createAccount, createKey, each, ownWork, TASK } from "./stores-work.ts";
import { within } from "./within.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    /** Clients of each server. */
    clients: { type: "string", default: "64" },
  },
});
const ROUNDS = Number(values.rounds);
const CLIENTS = Number(values.clients);
const SHARDS = 3;
/** Tasks of the account that moves. */
const MOVED_TASKS = 1_000;
/** Clients that create tasks of it meanwhile. */
const WRITERS = 8;
/** Seconds in which an idle process is measured. */
const IDLE = 10;
/** Seconds for the start of a process, for a move, and for a request. */
const START = 120;
const MOVE = 120;
const ANSWER = 30;

const place = createPlace();
const { folder, children } = place;

interface Moved {
  readonly rows: number;
  readonly copy_ms: number;
  readonly moved_ms: number;
}

/** Relay with a core for each of `shards` new libSQL servers. */
async function startShards(name: string, shards: number) {
  const stores = [];
  for (let i = 0; i < shards; i++) {
    stores.push(await startSqld(join(folder, `${name}-${i}`), freePort(), children));
  }
  const started = Promise.withResolvers<number>();
  let answered = Promise.withResolvers<Moved>();
  const child = Bun.spawn(
    [
      process.execPath,
      "--no-orphans",
      join(import.meta.dir, "shards/front.ts"),
      ...stores.map(({ url }) => url),
    ],
    {
      env: { PATH: process.env.PATH ?? "", RATE_LIMITS: "off", PORT: "0" },
      stdio: ["ignore", "inherit", "inherit"],
      ipc({ port, moved, fault }: { port?: number; moved?: Moved; fault?: string }) {
        if (port !== undefined) started.resolve(port);
        if (moved) answered.resolve(moved);
        if (fault !== undefined) answered.reject(new Error(fault));
      },
    },
  );
  children.push(child);
  void child.exited.then((code) => {
    const ended = new Error(`the process of ${shards} shards ended with ${code}`);
    started.reject(ended);
    answered.reject(ended);
  });
  // Only the one that is waited for may fail.
  started.promise.catch(() => {});
  answered.promise.catch(() => {});
  return {
    port: await within(START, `the start of ${shards} shards`, started.promise),
    pids: [child.pid],
    store_pids: stores.map(({ pid }) => pid),
    move(account_id: string, from: number, to: number): Promise<Moved> {
      answered = Promise.withResolvers();
      child.send({ account_id, from, to });
      return within(MOVE, "the move of an account", answered.promise);
    },
  };
}

type Shards = Awaited<ReturnType<typeof startShards>>;

/** Creates and reads of `CLIENTS` keys for each shard, whose accounts take the shards in turn. */
async function openWork({ port, store_pids }: Shards) {
  const tokens = await each(4 * store_pids.length, () => createAccount(port));
  const keys = await each(CLIENTS * store_pids.length, (i) =>
    createKey(port, tokens[i % tokens.length]!, 20),
  );
  return ownWork(keys);
}

/** Microseconds of processor time that the idle process takes each second, and the servers together. */
async function idleOf({ pids, store_pids }: Shards) {
  await Bun.sleep(2_000);
  const before = [cpuOf(pids), cpuOf(store_pids)] as const;
  await Bun.sleep(IDLE * 1_000);
  return [cpuOf(pids) - before[0], cpuOf(store_pids) - before[1]].map((s) => (s * 1e3) / IDLE);
}

const WIDTHS = [26, 10, 20, 18, 20];

async function compareKind(
  kind: "creates" | "reads",
  sides: readonly Shards[],
  works: readonly Awaited<ReturnType<typeof openWork>>[],
) {
  const loads = [];
  for (const [i, side] of sides.entries()) {
    const load = await openLoad({ port: side.port, ...works[i]![kind] });
    loads.push({ ...load, pids: side.pids, store_pids: side.store_pids });
  }
  const measured = await measureInTurns(loads, { rounds: ROUNDS, turn: 1, warm_up: 1 });
  for (const load of loads) load.close();
  const [one, three] = measured as [Measured[], Measured[]];
  rowOf(WIDTHS, [kind, "/s", "p50 / p99 ms", "CPU µs, sqld", "of one (quartiles)"]);
  for (const [i, turns] of measured.entries()) {
    const { low, median: ratio, high } = ratiosOf(turns, one);
    rowOf(WIDTHS, [
      `${sides[i]!.store_pids.length} libSQL server(s)`,
      count(median(turns, "rate")),
      quantiles(turns),
      `${count(median(turns, "cpu_us"))}, ${count(median(turns, "store_us"))}`,
      i === 0 ? "" : `${ratio.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`,
    ]);
  }
  // With a core of its own for each process, the busiest process bounds the rate.
  const relay = ratiosOf(three, one, "cpu_us").median;
  const store = ratiosOf(three, one, "store_us").median;
  process.stdout.write(
    `CPU of a request, three beside one: Relay ${relay.toFixed(2)}, sqld ${store.toFixed(2)}. With cores enough, three ` +
      `servers and three processes carry ${(SHARDS / Math.max(relay, store)).toFixed(2)} times the rate of one.\n\n`,
  );
}

/** Moves an account from the first shard while its clients create tasks; counts what was acknowledged. */
async function moveUnderLoad(shards: Shards) {
  const { port } = shards;
  let person = { account: { id: "" }, token: "" };
  // New accounts take the shards in turn.
  do person = await post<typeof person>(port, "/v1/accounts", {});
  while (markOf(person.token.slice(4)) !== undefined);
  const key = await createKey(port, person.token, MOVED_TASKS);
  const acknowledged: string[] = [];
  let refused = 0;
  let longest = 0;
  let done = false;
  const writers = times(WRITERS, async () => {
    let first_refusal = 0;
    while (!done) {
      const response = await fetch(`http://127.0.0.1:${port}/v1/tasks`, {
        method: "POST",
        headers: { authorization: `Bearer ${key.credential}`, "content-type": "application/json" },
        body: JSON.stringify(TASK),
        signal: AbortSignal.timeout(ANSWER * 1000),
      });
      const body = (await response.json()) as { id: string };
      if (response.status === 201) {
        acknowledged.push(body.id);
        if (first_refusal > 0) longest = Math.max(longest, performance.now() - first_refusal);
        first_refusal = 0;
      } else {
        if (response.status !== 503 && response.status !== 403)
          throw new Error(`an answer ${response.status}`);
        refused++;
        first_refusal ||= performance.now();
        await Bun.sleep(20);
      }
    }
  });
  await Bun.sleep(500);
  const moved = await shards.move(person.account.id, 0, 1);
  await Bun.sleep(500);
  done = true;
  await Promise.all(writers);
  const found: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const response = await fetch(`http://127.0.0.1:${port}/v1/tasks?limit=100${query}`, {
      headers: { authorization: `Bearer ${key.credential}` },
      signal: AbortSignal.timeout(ANSWER * 1000),
    });
    const page = (await response.json()) as { tasks: { id: string }[]; next_cursor: string | null };
    found.push(...page.tasks.map(({ id }) => id));
    cursor = page.next_cursor;
  }
  const lost = [...key.ids, ...acknowledged].filter((id) => !found.includes(id)).length;
  const twice = found.length - new Set(found).size;
  process.stdout.write(
    `A move of ${moved.rows} rows took ${count(moved.copy_ms)} ms to copy; the account was refused for ${count(longest)} ms ` +
      `(${refused} requests). ${acknowledged.length} creates were acknowledged meanwhile: ${lost} lost, ${twice} twice.\n`,
  );
  if (lost + twice > 0 || found.length !== key.ids.length + acknowledged.length)
    process.exitCode = 1;
}

try {
  const sides = [await startShards("one", 1), await startShards("three", SHARDS)];
  const works = [];
  for (const side of sides) works.push(await openWork(side));
  for (const side of sides) {
    const [relay, store] = await idleOf(side);
    process.stdout.write(
      `idle, ${side.store_pids.length} libSQL server(s): Relay ${relay!.toFixed(1)} ms of CPU a second, sqld ${store!.toFixed(1)}\n`,
    );
  }
  for (const kind of ["creates", "reads"] as const) await compareKind(kind, sides, works);
  await moveUnderLoad(sides[1]!);
} finally {
  await place.end();
}
