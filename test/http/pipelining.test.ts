/** A second request that arrives on a connection before the first one is answered. */

import { expect, test } from "bun:test";
import { PER_TURN } from "../../src/http/server.ts";
import { startTestApp } from "../support/app.ts";
import { createPair, createTask } from "../support/client.ts";
import { connect, head } from "../support/raw.ts";

const app = await startTestApp();
const { agent } = await createPair(app.url);

const JSON_TYPE = { "content-type": "application/json" };
const authorization = `Bearer ${agent.secret}`;

const send = (method: string, path: string, body = "", headers: Record<string, string> = {}) =>
  head(method, path, { authorization, ...(body && JSON_TYPE), ...headers }, body) + body;

const post = (title: string, headers?: Record<string, string>) =>
  send("POST", "/v1/tasks", JSON.stringify({ title }), headers);

const chunked = (title: string) => {
  const body = JSON.stringify({ title });
  const headers = { authorization, ...JSON_TYPE, "transfer-encoding": "chunked" };
  return `${head("POST", "/v1/tasks", headers)}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
};

const GET = send("GET", "/v1/agents");

const call = (title: string) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "create_task", arguments: { title } },
  });

const MCP = { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18" };

/** Sends the packet; returns the statuses of all responses until the connection ends. */
async function exchange(packet: string): Promise<number[]> {
  const connection = await connect(app.url);
  // The last request closes the connection, so that a surviving connection ends too.
  connection.write(packet + send("GET", "/health", "", { connection: "close" }));
  const statuses: number[] = [];
  for (let answer = await connection.answer(); answer; answer = await connection.answer()) {
    statuses.push(answer.status);
  }
  return statuses;
}

async function titles(): Promise<string[]> {
  const { body } = await agent.send("GET /v1/tasks?limit=500");
  return body.tasks.map(({ title }: { title: string }) => title);
}

/** Each creates a task when it is sent alone. */
const CHANGES: readonly (readonly [name: string, change: (title: string) => string])[] = [
  ["a POST", post],
  ["a POST in chunks", chunked],
  ["a tRPC call", (title) => send("POST", "/trpc/tasks.create", JSON.stringify({ title }))],
  ["a tool call", (title) => send("POST", "/mcp", call(title), MCP)],
];

test.each(CHANGES)(
  "%s with another request in its packet closes the connection",
  async (_, change) => {
    const connection = await connect(app.url);
    connection.write(change("alone"));
    expect([200, 201]).toContain((await connection.answer())!.status);
    connection.end();

    expect(await exchange(change("first") + change("second"))).toEqual([]);
    // Anything that the others had written would be visible before this one.
    await createTask(agent.send);
    const made = await titles();
    expect(made).toContain("alone");
    expect(made).not.toContain("second");
  },
);

test("a POST with Connection: close is answered, and the requests after it are not", async () => {
  const last = post("the last", { connection: "close" });
  expect(await exchange(last + post("after the last"))).toEqual([201]);
  await createTask(agent.send);
  expect(await titles()).toContain("the last");
  expect(await titles()).not.toContain("after the last");
});

test("a request that is refused before its body is read leaves the connection to the next", async () => {
  const wrong = send("POST", "/v1/no/such/path", "{}");
  expect(await exchange(wrong)).toEqual([404, 200]);
});

test("pipelined requests are not logged as faults", () => {
  expect(app.lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
});

test("a packet of thousands of requests is not handled in one turn of the event loop", async () => {
  const connection = await connect(app.url);
  connection.write(GET.repeat(3_000));
  let answers = 0;
  while (await connection.answer()) answers++;
  // Bun ends the connection at the first request that has to wait.
  expect(answers).toBeLessThanOrEqual(PER_TURN);
  expect((await agent.send("GET /v1/agents")).status).toBe(200);
});
