/**
 * `bun run kills:webhooks --rounds 50 --store embedded` (or `server`): two processes send webhooks while one
 * of them is killed in turn with `SIGKILL` in mid-send. Then every acknowledged change must have arrived,
 * in order; otherwise it exits with 1.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { client, WEBHOOK } from "../test/support/client.ts";
import type { Got } from "../test/support/receiver.ts";
import { freePort } from "../test/support/sqld.ts";
import { until } from "../test/support/until.ts";
import { checkDelivered, type Made, makeChanges } from "../test/support/webhook-load.ts";
import { createPlace } from "./place.ts";
import { startRelay, startSqld } from "./process.ts";
import { within } from "./within.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "50" },
    store: { type: "string", default: "embedded" },
  },
});
const rounds = Number(values.rounds);
if (!(rounds >= 1) || !["embedded", "server"].includes(values.store)) {
  throw new Error("usage: --rounds 50 --store embedded|server");
}

/** Agents of a round, fewer than the attempts that its channel has in a minute. */
const AGENTS = 8;
/** The longest response time in milliseconds, and milliseconds from the first response to the kill. */
const ANSWER = 60;
const DELAY = 100;
/** Seconds in which the changes of a round must be made. */
const ROUND = 120;

const place = createPlace("relay-webhook-kills");
const { folder, children } = place;
const print = (line: string) => process.stdout.write(`${line}\n`);

/** By the path of a channel. */
const got = new Map<string, Got[]>();
let open = 0;
const receiver = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const { pathname: path } = new URL(request.url);
    const { type, timestamp: at, data } = (await request.json()) as Got & { timestamp: string };
    const id = request.headers.get("webhook-id")!;
    open++;
    await Bun.sleep(Math.random() * ANSWER);
    open--;
    const one = { path, host: "", id, type, at, data, timestamp: 0, status: 200 };
    got.set(path, [...(got.get(path) ?? []), one]);
    return new Response();
  },
});

const sqld =
  values.store === "server" ? await startSqld(join(folder, "sqld"), freePort(), children) : null;
const env = {
  DATABASE_URL: sqld?.url ?? `file:${join(folder, "relay.db")}`,
  OUTBOUND_PRIVATE: "127.0.0.0/8",
  LOG_LEVEL: "error",
};
const start = () => startRelay(folder, children, { env });
const pair = [await start(), await start()];
const urlOf = ({ port }: { readonly port: number }) => `http://127.0.0.1:${port}`;

async function kill(pid: number): Promise<void> {
  const at = children.findIndex((one) => one.pid === pid);
  const [child] = children.splice(at, 1);
  child!.kill("SIGKILL");
  await child!.exited;
}

const made: Made[][] = [];
let struck = 0;

async function runRound(round: number): Promise<void> {
  const doomed = round % 2;
  const send = client(urlOf(pair[1 - doomed]!));
  const { body: person } = await send("POST /v1/accounts");
  const account = client(urlOf(pair[1 - doomed]!), person.token);
  const { body: key } = await account("POST /v1/keys", { label: "agent" });
  const url = `http://127.0.0.1:${receiver.port}/${round}`;
  await account("POST /v1/channels", { ...WEBHOOK, url });
  await until(() => got.has(`/${round}`));
  const changes: Made[] = [];
  made.push(changes);
  const acts = Array.from({ length: AGENTS }, (_, i) =>
    makeChanges(client(urlOf(pair[i % 2]!), key.secret), changes, 5),
  );
  await until(() => open > 0);
  await Bun.sleep(Math.random() * DELAY);
  if (open > 0) struck++;
  await kill(pair[doomed]!.pid);
  await within(ROUND, "the changes of a round", Promise.all(acts));
  pair[doomed] = await start();
}

/** Rounds with a fault. */
const faults = () =>
  made.flatMap((changes, round) => {
    const { missing, disorder } = checkDelivered(changes, got.get(`/${round}`) ?? []);
    return missing.length + disorder.length > 0 ? [{ round, missing, disorder }] : [];
  });

try {
  for (let round = 0; round < rounds; round++) {
    await runRound(round);
    if (round % 10 === 9) print(`${round + 1} kills`);
  }
  // The leases of the last killed processes expire, and a minute takes 60 attempts.
  const end = performance.now() + 120_000;
  while (faults().length > 0 && performance.now() < end) await Bun.sleep(250);
  const left = faults();
  if (left.length > 0) throw new Error(JSON.stringify(left.slice(0, 3)));
  const all = [...got.values()].flat();
  const repeated = all.length - new Set(all.map(({ id }) => id)).size;
  print(
    `${values.store}: ${rounds} kills, ${struck} of them with a request under way; ` +
      `${made.flat().length} acknowledged changes arrived in order, ${repeated} messages twice`,
  );
} catch (error) {
  print(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
} finally {
  await receiver.stop(true);
  await place.end();
}
