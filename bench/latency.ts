/**
 * `bun run bench:latency`: what a libSQL server that is far away costs. A proxy delays everything between Relay and the
 * server by some milliseconds each way; for each common request it prints the median time, and by how many round trips
 * the time grows with the delay.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../test/support/sqld.ts";
import { startDelayProxy } from "./delay-proxy.ts";
import { createPlace } from "./place.ts";
import { post, startRelay, startSqld, times } from "./process.ts";

const { values } = parseArgs({
  options: {
    delays: { type: "string", default: "0,1,5,20" },
    times: { type: "string", default: "15" },
    only: { type: "string" },
    seconds: { type: "string", default: "2" },
  },
});
const DELAYS = values.delays.split(",").map(Number);
const TIMES = Number(values.times);
const SECONDS = Number(values.seconds);
const CONNECTIONS = 64;
/** Milliseconds for a request, whatever the delay: the longest wait takes 30 s. */
const PATIENCE = 60_000;

const median = (all: readonly number[]): number =>
  all.toSorted((a, b) => a - b)[all.length >> 1] ?? Number.NaN;

const place = createPlace("relay-latency");
const { folder, children } = place;
const port = freePort();
await startSqld(join(folder, "sqld"), port, children);
const proxy = await startDelayProxy(port);
try {
  const relay = await startRelay(folder, children, { env: { DATABASE_URL: proxy.url } });
  const send = async (secret: string, method: string, path: string, body?: object) => {
    const response = await fetch(`http://127.0.0.1:${relay.port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        "content-type": "application/json",
        ...(path === "/mcp" && { accept: "application/json, text/event-stream" }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE),
    });
    if (!response.ok)
      throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { id: string; questions: { id: string }[] };
  };
  const account = await post<{ token: string }>(relay.port, "/v1/accounts", {});
  const key = await post<{ secret: string }>(relay.port, "/v1/keys", { label: "A" }, account.token);
  const agent = send.bind(null, key.secret);
  const person = send.bind(null, account.token);
  const create = () => agent("POST", "/v1/tasks", { title: "A task" });
  const ask = () => agent("POST", "/v1/questions", { prompt: "Go on?", kind: "text" });
  const answer = ({ id }: { id: string }) =>
    person("POST", `/v1/questions/${id}/answer`, { answer: "Yes" });
  const call = (name: string, args: object) =>
    agent("POST", "/mcp", {
      ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
      params: { name, arguments: args },
    });
  const task = await create();
  for (let i = 0; i < 50; i++) await create();

  /** Returns the milliseconds of what is measured. */
  const timed = async (run: () => Promise<unknown>): Promise<number> => {
    const since = performance.now();
    await run();
    return performance.now() - since;
  };
  let turn = 0;
  const requests: Record<string, () => Promise<number>> = {
    "create a task": () => timed(create),
    "create a task, with an `Idempotency-Key`": async () => {
      const headers = {
        authorization: `Bearer ${key.secret}`,
        "content-type": "application/json",
        "idempotency-key": crypto.randomUUID(),
      };
      const body = JSON.stringify({ title: "A task" });
      const url = `http://127.0.0.1:${relay.port}/v1/tasks`;
      return timed(async () => (await fetch(url, { method: "POST", headers, body })).json());
    },
    "change a task": () =>
      timed(() => agent("PATCH", `/v1/tasks/${task.id}`, { status_note: `Step ${turn++}` })),
    "read a task": () => timed(() => agent("GET", `/v1/tasks/${task.id}`)),
    "list 50 tasks": () => timed(() => agent("GET", "/v1/tasks?limit=50")),
    "ask a question": async () => {
      let asked = { id: "" };
      const ms = await timed(async () => {
        asked = await ask();
      });
      await answer(asked);
      return ms;
    },
    "answer a question": async () => {
      const asked = await ask();
      return timed(() => answer(asked));
    },
    "from an answer's response to the waiting request's": async () => {
      const asked = await ask();
      let woken = 0;
      const waiting = agent("GET", `/v1/questions/${asked.id}?wait=30`).then(() => {
        woken = performance.now();
      });
      await Bun.sleep(400);
      await answer(asked);
      const since = performance.now();
      await waiting;
      return woken - since;
    },
    "`tools/call` of `create_task`": () => timed(() => call("create_task", { title: "A task" })),
    "`tools/call` of `get_task`": () => timed(() => call("get_task", { task_id: task.id })),
    "read an empty inbox": () => timed(() => agent("GET", "/v1/inbox")),
  };
  const chosen = Object.entries(requests).filter(
    ([name]) => !values.only || values.only.split(",").some((part) => name.includes(part)),
  );
  const all = new Map<string, number[]>(chosen.map(([name]) => [name, []]));
  for (const delay of DELAYS) {
    proxy.setDelay(delay);
    for (const [name, run] of chosen) {
      await run();
      const taken: number[] = [];
      for (let i = 0; i < TIMES; i++) taken.push(await run());
      all.get(name)!.push(median(taken));
    }
  }
  const line = (cells: readonly unknown[]) => process.stdout.write(`| ${cells.join(" | ")} |\n`);
  line(["ms each way", ...DELAYS, "round trips in a row"]);
  line(["---", ...DELAYS.map(() => "---"), "---"]);
  for (const [name, taken] of all) {
    const [first = 0] = taken;
    const grown = (taken.at(-1)! - first) / (2 * (DELAYS.at(-1)! - DELAYS[0]!));
    line([name, ...taken.map((ms) => ms.toFixed(1)), grown.toFixed(1)]);
  }

  if (SECONDS > 0) {
    const keys = await Promise.all(
      times(CONNECTIONS, async (i) =>
        post<{ secret: string }>(relay.port, "/v1/keys", { label: `K${i}` }, account.token),
      ),
    );
    const rate = async (run: (secret: string) => Promise<unknown>): Promise<number> => {
      let done = 0;
      const until = performance.now() + SECONDS * 1000;
      await Promise.all(
        keys.map(async ({ secret }) => {
          for (; performance.now() < until; done++) await run(secret);
        }),
      );
      return done / SECONDS;
    };
    const loads: Record<string, (secret: string) => Promise<unknown>> = {
      creates: (secret) => send(secret, "POST", "/v1/tasks", { title: "A task" }),
      reads: () => agent("GET", `/v1/tasks/${task.id}`),
    };
    line([`per second, ${CONNECTIONS} connections`, ...DELAYS, ""]);
    for (const [name, run] of Object.entries(loads)) {
      const rates: number[] = [];
      for (const delay of DELAYS) {
        proxy.setDelay(delay);
        await rate(run);
        rates.push(await rate(run));
      }
      line([name, ...rates.map((one) => one.toFixed(0)), ""]);
    }
  }
} finally {
  proxy.stop();
  await place.end();
}
process.exit();
