/** Responses that nobody reads: counted, limited for each credential, and dropped with their connection. */

import { expect, test } from "bun:test";
import type { Caller } from "../../src/model/caller.ts";
import { createUnsentAnswers } from "../../src/overload/unsent-answers.ts";
import { ADMIN, metricsOf } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair, createTask } from "../support/client.ts";
import { sampleOf } from "../support/exposition.ts";
import { connect, head, type RawConnection } from "../support/raw.ts";
import { until } from "../support/until.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const app = await startTestApp({ env: ADMIN });
const MIB = 1024 * 1024;

const unsent = () => app.unsent.bytes();

/** The bytes that wait after a round trip. */
async function unsentSoon(): Promise<number> {
  await exchange(app.url, "GET", "/health/live");
  return unsent();
}

/** An agent whose list of tasks has almost 1 MiB. */
async function createLarge() {
  const pair = await createPair(app.url);
  const description = "\u0001".repeat(10_000);
  await Promise.all(
    Array.from({ length: 17 }, () => createTask(pair.agent.send, { title: "t", description })),
  );
  return pair;
}

/** Requests answered so far, without those that ask for this number. */
const answered = async () => {
  const { all } = await metricsOf(app.url);
  const series = all.get("http_requests_total")?.series ?? [];
  return series
    .filter(({ labels }) => labels.route !== "/metrics")
    .reduce((sum, { value }) => sum + value, 0);
};

/** The bytes that wait, once they are the same for some round trips: what the socket accepts at once counts briefly too. */
async function steadyUnsent(): Promise<number> {
  let last = unsent();
  for (let same = 0; same < 8; ) {
    const now = await unsentSoon();
    same = now === last ? same + 1 : 0;
    last = now;
  }
  return last;
}

/** True once more waits for some round trips. */
async function waits(held: number): Promise<boolean> {
  for (let i = 0; i < 8; i++) if ((await unsentSoon()) <= held) return false;
  return true;
}

/** Connections that repeat a request, read nothing, and so fill their socket. */
async function stall(count: number, request: string): Promise<RawConnection[]> {
  const connections: RawConnection[] = [];
  while (connections.length < count) {
    const connection = await connect(app.url);
    connections.push(connection);
    connection.pause();
    const held = await steadyUnsent();
    // The kernel takes some 4 MB, so it is about the fifth response that waits.
    for (let sent = 0; sent < 12 && !(await waits(held)); sent++) {
      const before = await answered();
      connection.write(request);
      // No pauses: a connection that waits for 20 seconds is closed.
      while ((await answered()) <= before);
    }
  }
  return connections;
}

test("a credential with 8 MiB unread is 429, others are served, and closing frees the bytes [§11.3.1]", async () => {
  const { person, agent } = await createLarge();
  const other = await createAgent(app.url, person);
  const list = "/v1/tasks?limit=1";
  const request = head("GET", "/v1/tasks", { authorization: `Bearer ${agent.secret}` });
  const connections = await stall(8, request);
  // On a busy machine, the first ones may have closed after their 20 seconds.
  while (unsent() < 8 * MIB) connections.push(...(await stall(1, request)));
  const { all } = await metricsOf(app.url);
  expect(sampleOf(all, "relay_unsent_answer_bytes")).toBe(unsent());
  // Every surface refuses it, and no other credential.
  const credential = agent.secret;
  const refused = await exchange(app.url, "GET", list, { credential });
  expectProblem(refused, "rate_limited");
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(refused.body.detail).toMatch(/^Too many answers wait to be read/);
  const body = JSON.stringify({ title: "t" });
  expect((await exchange(app.url, "POST", "/trpc/tasks.create", { credential, body })).status).toBe(
    429,
  );
  expect(
    (
      await exchange(app.url, "POST", "/mcp", {
        credential,
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      })
    ).status,
  ).toBe(429);
  expect((await other.send("GET /v1/tasks")).status).toBe(200);
  expect((await person.send("GET /v1/tasks")).status).toBe(200);
  // The amount is bounded, whatever else these connections asked for.
  expect(unsent()).toBeLessThan(9 * MIB);

  // One connection reads on and gets whole responses; the others close.
  const reader = connections.pop()!;
  for (const connection of connections) connection.end();
  reader.resume();
  await until(() => unsent() === 0);
  expect((await agent.send("GET /v1/tasks")).status).toBe(200);
  reader.end();
});

test("responses of tRPC and MCP count like those of REST", async () => {
  const { agent } = await createLarge();
  const call = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "list_tasks", arguments: {} },
  });
  const type = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const authorization = { authorization: `Bearer ${agent.secret}` };
  const requests = [
    head("GET", "/trpc/tasks.list?input=%7B%7D", authorization),
    head("POST", "/mcp", { ...type, ...authorization }, call) + call,
  ];
  for (const request of requests) {
    const [connection] = await stall(1, request);
    expect(unsent()).toBeGreaterThan(MIB - 70_000);
    connection!.end();
    await until(() => unsent() === 0);
  }
});

test("a large response arrives complete, also on a connection that is kept open", async () => {
  const { agent } = await createLarge();
  const { body: first } = await agent.send("GET /v1/tasks");
  for (let i = 0; i < 3; i++) expect((await agent.send("GET /v1/tasks")).body).toEqual(first);
  expect(Buffer.byteLength(JSON.stringify(first))).toBeGreaterThan(MIB - 70_000);
  const looked = await exchange(app.url, "HEAD", "/v1/tasks", { credential: agent.secret });
  expect([looked.status, looked.text]).toEqual([200, ""]);
  expect(unsent()).toBe(0);
});

type Limits = NonNullable<Parameters<typeof createUnsentAnswers>[0]["limits"]>;

/** Bounds that no test reaches, so that each test sets the one it is about. */
const FAR: Limits = {
  unsent_bytes_per_credential: 1_000 * MIB,
  unsent_bytes_per_account: 1_000 * MIB,
  unsent_bytes: 1_000 * MIB,
  unsent_idle: 60,
  unsent_idle_given_up: 1,
};

/** The caller for a path such as `/account/key`. */
function callerOf(path: string): Caller {
  const [, account_id = ""] = path.split("/");
  return { kind: "key", account_id, key_id: path, credential: path };
}

/** A server that sends only large responses, with bounds that a test reaches at once. */
function startSmall(limits: Partial<Limits>) {
  const answer = new Uint8Array(6 * MIB);
  /** The idle times set so far, once they are held back. */
  let held: (() => void)[] | undefined;
  const small = createUnsentAnswers({
    closeIdle: (request, seconds) => {
      const set = () => server.timeout(request, seconds);
      if (held) held.push(set);
      else set();
    },
    limits: { ...FAR, ...limits },
  });
  const server = Bun.serve({
    port: 0,
    idleTimeout: 60,
    fetch(request) {
      const caller = callerOf(new URL(request.url).pathname);
      return new Response(small.body(request, caller, answer));
    },
  });
  return {
    small,
    admit: (path: string) => () => small.admit(callerOf(path)),
    /** Requests one response, and reads nothing of it. */
    async stallOne(path: string): Promise<RawConnection> {
      const before = small.bytes();
      const connection = await connect(server.url.origin);
      connection.pause();
      connection.write(head("GET", path));
      await until(() => small.bytes() === before + answer.byteLength);
      return connection;
    },
    /** Sets no idle time of a connection until {@link letIdle}. */
    holdIdle(): void {
      held = [];
    },
    letIdle(): void {
      for (const set of held ?? []) set();
    },
    stop: () => server.stop(true),
  };
}

const REFUSED = "Too many answers wait to be read";

test("a connection that reads nothing for 20 seconds is closed, and no longer counts", async () => {
  const { small, admit, stallOne, holdIdle, letIdle, stop } = startSmall({
    unsent_bytes_per_credential: MIB,
    unsent_idle: 1,
  });
  holdIdle();
  const stalled = await stallOne("/a/1");
  expect(admit("/a/1")).toThrow(REFUSED);
  expect(admit("/b/1")).not.toThrow();
  letIdle();
  await until(() => small.bytes() === 0);
  expect(admit("/a/1")).not.toThrow();
  stalled.resume();
  await until(() => stalled.ended());
  await stop();
});

test("an account is 429 with all its keys once they together leave too much unread", async () => {
  const { small, admit, stallOne, stop } = startSmall({ unsent_bytes_per_account: 12 * MIB });
  const first = await stallOne("/a/1");
  expect(admit("/a/3")).not.toThrow();
  const second = await stallOne("/a/2");
  for (const path of ["/a/1", "/a/2", "/a/3"]) expect(admit(path)).toThrow(REFUSED);
  expect(admit("/b/1")).not.toThrow();
  for (const connection of [first, second]) connection.end();
  await until(() => small.bytes() === 0);
  expect(admit("/a/3")).not.toThrow();
  await stop();
});

test("above the bound of the process, the account with the most unread loses its oldest response", async () => {
  const { small, admit, stallOne, holdIdle, letIdle, stop } = startSmall({
    unsent_bytes: 20 * MIB,
  });
  const light = await stallOne("/b/1");
  const oldest = await stallOne("/a/1");
  const newer = await stallOne("/a/2");
  // It exceeds the bound, but others hold more.
  holdIdle();
  const last = await stallOne("/c/1");
  // Callers with unread responses are refused until the connection has closed, and nobody else.
  for (const path of ["/a/1", "/a/2", "/b/1", "/c/1"]) expect(admit(path)).toThrow(REFUSED);
  for (const path of ["/a/3", "/b/2", "/d/1"]) expect(admit(path)).not.toThrow();

  letIdle();
  await until(() => small.bytes() === 18 * MIB);
  expect(admit("/a/1")).not.toThrow();
  expect(admit("/a/2")).not.toThrow();
  oldest.resume();
  await until(() => oldest.ended());
  // The other responses are sent completely.
  for (const connection of [light, newer, last]) {
    connection.resume();
    expect((await connection.answer())?.status).toBe(200);
  }
  await until(() => small.bytes() === 0);
  await stop();
});

test("dropped responses still count for their account until their connection closes", async () => {
  const { small, admit, stallOne, stop } = startSmall({
    unsent_bytes: 8 * MIB,
    unsent_bytes_per_account: 12 * MIB,
    unsent_idle_given_up: 60,
  });
  const connections = [await stallOne("/a/1"), await stallOne("/a/2")];
  expect(admit("/a/3")).toThrow(REFUSED);
  for (const connection of connections) connection.end();
  await until(() => small.bytes() === 0);
  expect(admit("/a/3")).not.toThrow();
  await stop();
});
