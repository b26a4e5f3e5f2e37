/**
 * `bun run bench:deletion`: an account with 10,000 tasks, 1,000 questions and 10,000 inbox items is
 * deleted while other accounts work; how long that takes, and what the others notice.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../db/open.ts";
import { p, sql } from "../db/sql.ts";
import { statement } from "../db/statement.ts";
import { systemClock } from "../src/clock.ts";
import { openLoad, requestOf } from "./load.ts";
import { post, startRelay } from "./process.ts";

const TASKS = 10_000;
const QUESTIONS = 1_000;
const ITEMS = 10_000;
/** Connections of the other accounts, half of which create and half of which read. */
const OTHERS = 8;
/** Seconds of load before the deletion, and during it. */
const BEFORE = 4;

const folder = mkdtempSync(join(tmpdir(), "relay-bench-"));
const children: Bun.Subprocess[] = [];

/** Runs `work` for each number below `count`, a few at a time. */
async function each(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: 32 }, worker));
}

try {
  const { port } = await startRelay(folder, children);
  const create = async () => {
    const { token } = await post<{ token: string }>(port, "/v1/accounts", {});
    const body = { label: "Bench" };
    const made = await post<{ key: { id: string }; secret: string }>(port, "/v1/keys", body, token);
    return { token, key_id: made.key.id, secret: made.secret };
  };
  const doomed = await create();
  await each(TASKS, () => post(port, "/v1/tasks", { title: "Release" }, doomed.secret));
  for (let i = 0; i < QUESTIONS; i += 10) {
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        const { id } = await post<{ id: string }>(
          port,
          "/v1/questions",
          { prompt: "p" },
          doomed.secret,
        );
        await post(port, `/v1/questions/${id}/answer`, { answer: "Yes" }, doomed.token);
      }),
    );
  }
  // Each answer made an item as well.
  await each(ITEMS - QUESTIONS, () =>
    post(port, "/v1/messages", { key_id: doomed.key_id, text: "m" }, doomed.token),
  );

  const others = await Promise.all(Array.from({ length: OTHERS }, create));
  const body = JSON.stringify({ title: "Release" });
  const reads = await Promise.all(
    others.map(async ({ secret }) => {
      const { id } = await post<{ id: string }>(port, "/v1/tasks", { title: "Read" }, secret);
      return requestOf(`GET /v1/tasks/${id}`, { credential: secret });
    }),
  );
  const half = OTHERS / 2;
  const loads = {
    create: await openLoad({
      port,
      requests: others
        .slice(0, half)
        .map(({ secret }) => [requestOf("POST /v1/tasks", { credential: secret, body })]),
      status: 201,
    }),
    read: await openLoad({ port, requests: reads.slice(half).map((read) => [read]), status: 200 }),
  };

  const database = await openStore(
    { url: `file:${join(folder, "relay.db")}`, auth_token: undefined },
    systemClock,
  );
  const rows = ["keys", "tasks", "questions", "items"]
    .map((table) => sql`(select count(*) from ${sql.raw(table)} where account_id = ${p("id")})`)
    .reduce((sum, one) => sql`${sum} + ${one}`);
  const countRows = statement(sql`select ${rows}`, { gives: "row" });
  const left = async () => (await database.read(countRows({ id: account_id })))[0]![0] as number;
  const account = await fetch(`http://127.0.0.1:${port}/v1/account`, {
    headers: { authorization: `Bearer ${doomed.token}` },
  });
  const { id: account_id } = (await account.json()) as { id: string };

  const run = async (seconds: number) => {
    const [created, read] = await Promise.all([loads.create.run(seconds), loads.read.run(seconds)]);
    const quantiles = ({ ms }: { ms: number[] }) => {
      const sorted = ms.toSorted((a, b) => a - b);
      const at = (part: number) => sorted[Math.floor(sorted.length * part)]!.toFixed(2);
      return `p50 ${at(0.5)} p99 ${at(0.99)} max ${sorted.at(-1)!.toFixed(1)} ms`;
    };
    return `create ${quantiles(created)} | read ${quantiles(read)}`;
  };
  await run(1);
  process.stdout.write(`before the deletion: ${await run(BEFORE)}\n`);
  process.stdout.write(`rows of the account: ${await left()}\n`);
  const small_at = performance.now();
  await post(port, "/v1/keys", { label: "small" }, doomed.token);
  const small = performance.now() - small_at;
  const from = performance.now();
  const deleting = fetch(`http://127.0.0.1:${port}/v1/account`, {
    method: "DELETE",
    headers: { authorization: `Bearer ${doomed.token}` },
  }).then(({ status }) => ({ status, took: performance.now() - from }));
  let swept = 0;
  const sweep = (async () => {
    await deleting;
    while ((await left()) > 0) await Bun.sleep(50);
    swept = performance.now() - from;
  })();
  process.stdout.write(`during the sweep:    ${await run(BEFORE)}\n`);
  await sweep;
  const { status, took } = await deleting;
  process.stdout.write(
    `DELETE /v1/account: ${status} after ${took.toFixed(2)} ms (POST /v1/keys: ${small.toFixed(2)} ms)\n` +
      `no row of it left after ${(swept / 1000).toFixed(1)} s\n`,
  );
  await database.close();
  for (const load of Object.values(loads)) load.close();
} finally {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true });
}
