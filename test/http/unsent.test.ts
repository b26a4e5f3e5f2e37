/** Answers that nobody reads: counted, bounded for their credential, and given up with their connection. */

import { expect, test } from "bun:test";
import { createUnsent } from "../../src/http/unsent.ts";
import { ADMIN, metricsOf } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair, createTask } from "../support/client.ts";
import { sampleOf } from "../support/exposition.ts";
import { connect, head, type RawConnection } from "../support/raw.ts";
import { until } from "../support/until.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const app = await startTestApp({ env: ADMIN });
const MIB = 1024 * 1024;

const unsent = async () => sampleOf((await metricsOf(app.url)).all, "relay_unsent_answer_bytes")!;

/** An agent whose list of tasks has almost 1 MiB. */
async function createLarge() {
  const pair = await createPair(app.url);
  const description = "\u0001".repeat(10_000);
  await Promise.all(
    Array.from({ length: 17 }, () => createTask(pair.agent.send, { title: "t", description })),
  );
  return pair;
}

/** Requests that were answered so far, without those that ask. */
const answered = async () => {
  const { all } = await metricsOf(app.url);
  const series = all.get("http_requests_total")?.series ?? [];
  return series
    .filter(({ labels }) => labels.route !== "/metrics")
    .reduce((sum, { value }) => sum + value, 0);
};

/** Connections that send the same request again and again, read nothing, and so fill their socket. */
async function stall(count: number, request: string): Promise<RawConnection[]> {
  const connections: RawConnection[] = [];
  while (connections.length < count) {
    const connection = await connect(app.url);
    connections.push(connection);
    connection.pause();
    const held = await unsent();
    // Some 4 MB are the kernel's, so it is the fifth answer or so that waits.
    for (let sent = 0; sent < 12 && (await unsent()) === held; sent++) {
      const before = await answered();
      connection.write(request);
      await until(async () => (await answered()) > before);
      // What the socket takes at once counts for a moment too.
      await Bun.sleep(2);
    }
  }
  return connections;
}

test("a credential that leaves 8 MiB unread is 429, others are served, and what ends frees its bytes", async () => {
  const { person, agent } = await createLarge();
  const other = await createAgent(app.url, person);
  const list = "/v1/tasks?limit=1";
  const connections = await stall(
    10,
    head("GET", "/v1/tasks", { authorization: `Bearer ${agent.secret}` }),
  );
  await until(async () => (await unsent()) >= 8 * MIB);
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
  // It is bounded, whatever else these connections asked for.
  expect(await unsent()).toBeLessThan(9 * MIB);

  // One reads on, and gets whole answers; the others go.
  const [reader, ...leavers] = connections as [RawConnection, ...RawConnection[]];
  for (const connection of leavers) connection.end();
  reader.resume();
  await until(async () => (await unsent()) === 0);
  expect((await agent.send("GET /v1/tasks")).status).toBe(200);
  reader.end();
});

test("answers of tRPC and MCP count like those of REST", async () => {
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
    expect(await unsent()).toBeGreaterThan(MIB - 70_000);
    connection!.end();
    await until(async () => (await unsent()) === 0);
  }
});

test("a large answer arrives whole, also on a connection that is kept", async () => {
  const { agent } = await createLarge();
  const { body: first } = await agent.send("GET /v1/tasks");
  for (let i = 0; i < 3; i++) expect((await agent.send("GET /v1/tasks")).body).toEqual(first);
  expect(Buffer.byteLength(JSON.stringify(first))).toBeGreaterThan(MIB - 70_000);
  const looked = await exchange(app.url, "HEAD", "/v1/tasks", { credential: agent.secret });
  expect([looked.status, looked.text]).toEqual([200, ""]);
  expect(await unsent()).toBe(0);
});

/** A server of large answers alone, with bounds that a test reaches at once. */
function startSmall(limits: NonNullable<Parameters<typeof createUnsent>[0]["limits"]>) {
  const answer = new Uint8Array(6 * MIB);
  const small = createUnsent({
    closeIdle: (request, seconds) => server.timeout(request, seconds),
    limits,
  });
  const server = Bun.serve({
    port: 0,
    idleTimeout: 60,
    fetch: (request) => new Response(small.body(request, new URL(request.url).pathname, answer)),
  });
  return { small, url: server.url.origin, stop: () => server.stop(true) };
}

test("a connection that takes nothing for its time is closed, and holds nothing any more", async () => {
  const limits = { unsent_bytes_per_credential: MIB, unsent_bytes: 100 * MIB, unsent_idle: 1 };
  const { small, url, stop } = startSmall(limits);
  const stalled = await connect(url);
  stalled.pause();
  stalled.write(head("GET", "/a"));
  await until(() => small.bytes() === 6 * MIB);
  expect(() => small.admit("/a")).toThrow("Too many answers wait to be read");
  expect(() => small.admit("/b")).not.toThrow();
  await until(() => small.bytes() === 0);
  expect(() => small.admit("/a")).not.toThrow();
  stalled.resume();
  await until(() => stalled.ended());
  await stop();
});

test("once the process holds its bytes, who left some unread is refused, and large answers are", async () => {
  const limits = {
    unsent_bytes_per_credential: 100 * MIB,
    unsent_bytes: 12 * MIB,
    unsent_idle: 60,
  };
  const { small, url, stop } = startSmall(limits);
  const stalled = await Promise.all(
    ["/a", "/b"].map(async (path) => {
      const connection = await connect(url);
      connection.pause();
      connection.write(head("GET", path));
      return connection;
    }),
  );
  await until(() => small.bytes() === 12 * MIB);
  for (const owner of ["/a", "/b"]) expect(() => small.admit(owner)).toThrow("Too many answers");
  expect(() => small.admit("/c")).not.toThrow();
  expect(() => small.admitLarge("/c")).toThrow("Too many answers");
  for (const connection of stalled) connection.end();
  await until(() => small.bytes() === 0);
  expect(() => small.admitLarge("/c")).not.toThrow();
  await stop();
});
