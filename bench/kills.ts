/**
 * `bun run kills --rounds 200 --store embedded` (or `server`): `kill -9` under load, round after round, of
 * Relay, or alternately of Relay and the libSQL server. After each restart everything acknowledged exists,
 * a repeated request does nothing twice, and the store is sound. Exits with 1 at the first fault.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { openStore } from "../db/store/open.ts";
import { sql } from "../db/store/sql.ts";
import { statement } from "../db/store/statement.ts";
import { systemClock } from "../src/clock.ts";
import { client, type Send } from "../test/support/client.ts";
import { freePort } from "../test/support/sqld.ts";
import { until } from "../test/support/until.ts";
import { createLedger, type Ledger } from "./kills-ledger.ts";
import { createPlace } from "./place.ts";
import { isUp, startRelay, startSqld } from "./process.ts";
import { within } from "./within.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "200" },
    store: { type: "string", default: "embedded" },
  },
});
const rounds = Number(values.rounds);
const kind = values.store;
if (!(rounds >= 1) || !["embedded", "server"].includes(kind)) {
  throw new Error("usage: --rounds 200 --store embedded|server");
}

/** Clients of a round. */
const CLIENTS = 8;
/** Acknowledgements before the kill, and milliseconds after them, at random, so that the kill comes anywhere. */
const ACKS = { least: 5, most: 60 };
const DELAY = 5;
/** Seconds for a request, and for the clients of a round to notice that it has ended. */
const ANSWER = 30;
const ROUND = 120;
/** Rounds after which earlier rounds are checked again. */
const LOOK_BACK = 25;

const place = createPlace("relay-kills");
const { folder, children } = place;
const print = (line: string) => process.stdout.write(`${line}\n`);

async function kill(pid: number): Promise<void> {
  const child = children.splice(
    children.findIndex((one) => one.pid === pid),
    1,
  )[0]!;
  child.kill("SIGKILL");
  await child.exited;
}

const port = freePort();
const sqld_folder = join(folder, "sqld");
let sqld = kind === "server" ? await startSqld(sqld_folder, port, children) : null;
const database_url = sqld?.url ?? `file:${join(folder, "relay.db")}`;
const start = () =>
  startRelay(folder, children, { env: { DATABASE_URL: database_url, LOG_LEVEL: "error" } });
let relay = await start();
const urlOf = () => `http://127.0.0.1:${relay.port}`;

/** A client of the current server, whose requests take 30 seconds at most. */
const clientOf =
  (token?: string): Send =>
  (request, body, options) =>
    client(urlOf(), token)(request, body, {
      ...options,
      signal: AbortSignal.timeout(ANSWER * 1000),
    });

/** Kills this round's process and restarts it. */
async function strike(round: number): Promise<void> {
  if (sqld && round % 2 === 1) {
    await kill(sqld.pid);
    sqld = await startSqld(sqld_folder, port, children);
    await until(() => isUp(`${urlOf()}/health`));
  } else {
    await kill(relay.pid);
    relay = await start();
  }
}

/** Checks the store beside the running server: closing it first would tidy up what the kill left. */
async function checkSound(): Promise<void> {
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  const rows = (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({}));
  try {
    const integrity = JSON.stringify(await rows("pragma integrity_check"));
    if (integrity !== '[["ok"]]') throw new Error(`integrity_check: ${integrity}`);
    const [gaps] = await rows("select coalesce(max(seq) - min(seq) + 1 - count(*), 0) from events");
    if (gaps![0] !== 0) throw new Error(`${gaps![0]} events are missing`);
  } finally {
    await store.close();
  }
}

const ledgers: Ledger[] = [];
const started_at = performance.now();
let slowest = 0;
let acks = 0;
let repeats = 0;
let unanswered = 0;

async function runRound(round: number): Promise<void> {
  const ledger = await createLedger(clientOf(), clientOf);
  ledgers.push(ledger);
  const clients = Array.from({ length: CLIENTS }, (_, i) => ledger.load(`${round}/${i}`));
  const loaded = Promise.all(clients);
  const target = ACKS.least + Math.floor(Math.random() * (ACKS.most - ACKS.least));
  await Promise.race([until(() => ledger.acks() >= target), loaded]);
  await Bun.sleep(Math.random() * DELAY);
  ledger.stop();
  await strike(round);
  ledger.end();
  await within(ROUND, "the end of the clients of a round", loaded);
  acks += ledger.acks();
  unanswered += ledger.unanswered();
  await ledger.check();
  repeats += await ledger.repeat();
  await ledger.check();
  await checkSound();
}

try {
  for (let round = 0; round < rounds; round++) {
    const from = performance.now();
    await runRound(round);
    slowest = Math.max(slowest, performance.now() - from);
    if (round % LOOK_BACK === LOOK_BACK - 1 || round === rounds - 1) {
      for (const ledger of ledgers) await ledger.check();
      const each = Math.round((performance.now() - started_at) / (round + 1));
      print(`${round + 1} kills, ${acks} acknowledged, ${each} ms a round`);
    }
  }
  print(
    `${kind}: ${rounds} kills lost nothing of ${acks} acknowledged changes; ${unanswered} had no answer; ` +
      `${repeats} requests repeated, none done twice; the slowest round took ${Math.round(slowest)} ms`,
  );
} catch (error) {
  print(`after ${ledgers.length} kills: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
} finally {
  await place.end();
}
