/**
 * Restarts two processes of Relay in turn behind each reverse proxy of docs/operating/proxies.md, while clients create, read and
 * change tasks, wait for an answer, and follow the event stream. No request may fail, and every acknowledged create
 * must be in the store once.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { post, startRelay, stopAll, times } from "../../bench/process.ts";
import { untilTrue, within } from "../../bench/within.ts";
import { freePort } from "../../test/support/sqld.ts";
import { PROXIES, type ProxyName, startProxy } from "./proxies.ts";

const RESTARTS = 5;
/** Requests that are sent at least. */
const REQUESTS = 5_000;
const CLIENTS = 8;
/** Milliseconds between two tasks of a client: a key may have 10,000. */
const PAUSE = 100;
/** Seconds that docker gives a process before it kills it. */
const STOP_WITHIN = 10;
/** Seconds for a request, which may wait for 10, for a stop, and for all requests. */
const ANSWER = 30;
const LATEST_STOP = 60;
const ALL = 300;

interface Outcome {
  readonly sent: number;
  readonly failed: readonly string[];
  readonly acknowledged: number;
  readonly stored: number;
  /** True if the proxy made the id of a request, whatever the client sent. */
  readonly makes_ids: boolean;
  /** Seconds that the slowest stop took. */
  readonly slowest_stop: number;
}

async function run(name: ProxyName): Promise<Outcome | null> {
  const folder = mkdtempSync(join(tmpdir(), "relay-operate-"));
  const children: Bun.Subprocess[] = [];
  const ports = [freePort(), freePort()] as const;
  const env = { TRUST_PROXY: "1", DATABASE_URL: `file:${join(folder, "relay.db")}` };
  const start = (i: 0 | 1) =>
    startRelay(folder, children, { env: { ...env, PORT: String(ports[i]) } });
  const failed: string[] = [];
  let sent = 0;
  let acknowledged = 0;
  let over = false;
  try {
    const running = [await start(0), await start(1)];
    const setup = { port: freePort(), upstreams: ports, folder: join(folder, name) };
    const url = await startProxy(name, setup, children);
    if (url === null) return null;
    const sent_id = "chosen-by-the-client";
    const { headers } = await fetch(`${url}/health`, { headers: { "x-request-id": sent_id } });
    const request_id = headers.get("x-request-id") ?? "";
    const makes_ids = request_id !== sent_id && !request_id.startsWith("req_");
    const { token } = await post<{ token: string }>(ports[0], "/v1/accounts", {});
    const { secret } = await post<{ secret: string }>(ports[0], "/v1/keys", { label: "A" }, token);

    const send = async <Body = { id: string }>(method: string, path: string, body?: object) => {
      sent++;
      const response = await fetch(url + path, {
        method,
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(ANSWER * 1000),
      }).catch((error) => String(error));
      if (typeof response !== "string" && response.ok) return (await response.json()) as Body;
      failed.push(
        `${method} ${path}: ${typeof response === "string" ? response : response.status}`,
      );
      return null;
    };
    const client = async () => {
      while (!over) {
        const task = await send("POST", "/v1/tasks", { title: "Rolling" });
        if (!task) continue;
        acknowledged++;
        await send("GET", `/v1/tasks/${task.id}`);
        await send("PATCH", `/v1/tasks/${task.id}`, { status: "done" });
        await Bun.sleep(PAUSE);
      }
    };
    const waiter = async () => {
      const question = await send("POST", "/v1/questions", { prompt: "Go on?", kind: "text" });
      while (question && !over) await send("GET", `/v1/questions/${question.id}?wait=10`);
    };
    const working = [...times(CLIENTS, client), waiter()];

    let slowest_stop = 0;
    for (let turn = 0; turn < RESTARTS; turn++) {
      const i = (turn % 2) as 0 | 1;
      const child = children.find(({ pid }) => pid === running[i]!.pid)!;
      const since = performance.now();
      child.kill("SIGTERM");
      await within(LATEST_STOP, "a stop", child.exited);
      slowest_stop = Math.max(slowest_stop, (performance.now() - since) / 1000);
      running[i] = await start(i);
      // Until the proxy's check has found it.
      await Bun.sleep(3_000);
    }
    await untilTrue(ALL, `${REQUESTS} requests`, () => sent >= REQUESTS);
    over = true;
    await Promise.all(working);

    let stored = 0;
    for (let cursor = ""; ; ) {
      const path = `/v1/tasks?limit=100${cursor && `&cursor=${cursor}`}`;
      const page = await send<{ tasks: object[]; next_cursor: string | null }>("GET", path);
      stored += page?.tasks.length ?? 0;
      if (!page?.next_cursor) break;
      cursor = encodeURIComponent(page.next_cursor);
    }
    return { sent, failed, acknowledged, stored, makes_ids, slowest_stop };
  } finally {
    over = true;
    await stopAll(children, folder);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Creates that are sent while one of the two processes resets its connections. */
const CREATES = 4;
/** Milliseconds between them: longer than a proxy leaves out a process that failed (`fail_timeout`). */
const LEFT_OUT = 1_500;

/**
 * At the end of a drain, the system resets connections that a proxy without checks of its own has opened and not used yet.
 * Here one process does that with every connection: true if the proxy repeats each create, and each is stored once. Null if
 * the proxy is not installed.
 */
async function repeats(name: ProxyName): Promise<boolean | null> {
  const folder = mkdtempSync(join(tmpdir(), "relay-operate-"));
  const children: Bun.Subprocess[] = [];
  const ends = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => socket.terminate() },
  });
  try {
    const port = freePort();
    const env = { TRUST_PROXY: "1", DATABASE_URL: `file:${join(folder, "relay.db")}` };
    await startRelay(folder, children, { env: { ...env, PORT: String(port) } });
    const upstreams = [ends.port, port] as const;
    const setup = { port: freePort(), upstreams, folder: join(folder, name) };
    const url = await startProxy(name, setup, children);
    if (url === null) return null;
    const { token } = await post<{ token: string }>(port, "/v1/accounts", {});
    const { secret } = await post<{ secret: string }>(port, "/v1/keys", { label: "A" }, token);
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const create = async () => {
      const body = JSON.stringify({ title: "Once" });
      const init = { method: "POST", headers, body, signal: AbortSignal.timeout(ANSWER * 1000) };
      return (await fetch(`${url}/v1/tasks`, init)).status;
    };
    for (let i = 0; i < CREATES; i++) {
      await Bun.sleep(LEFT_OUT);
      if ((await create()) !== 201) return false;
    }
    const list = await fetch(`http://127.0.0.1:${port}/v1/tasks?limit=100`, { headers });
    return ((await list.json()) as { tasks: object[] }).tasks.length === CREATES;
  } finally {
    ends.stop(true);
    await stopAll(children, folder);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs it behind each proxy that is installed. Returns false if a request failed or a create was lost. */
export async function rollingRestart(print: (line: string) => void): Promise<boolean> {
  let good = true;
  const repeated = await repeats("nginx");
  if (repeated === false) {
    good = false;
    print("rolling restart, nginx: a create whose connection is reset fails, or is made twice");
  }
  for (const name of PROXIES) {
    const outcome = await run(name);
    if (!outcome) {
      print(`rolling restart, ${name}: not tried, since it is not installed`);
      continue;
    }
    const { sent, failed, acknowledged, stored, makes_ids, slowest_stop } = outcome;
    good &&= failed.length === 0 && stored === acknowledged && slowest_stop < STOP_WITHIN;
    good &&= makes_ids;
    if (!makes_ids) print(`rolling restart, ${name}: the proxy does not make the ids of requests`);
    print(
      `rolling restart, ${name}: ${failed.length} failed of ${sent} requests over ${RESTARTS} restarts; ${stored} of ${acknowledged} created tasks stored; slowest stop ${slowest_stop.toFixed(1)} s`,
    );
    for (const line of failed.slice(0, 5)) print(`  ${line}`);
  }
  return good;
}
