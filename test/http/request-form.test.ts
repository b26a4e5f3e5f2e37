/** Requests that are refused for their form alone: lengths, hosts, and web pages of other origins. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair, createPerson, createTask } from "../support/client.ts";
import { openSession } from "../support/mcp.ts";
import { connect, head, sendRaw } from "../support/raw.ts";
import { until } from "../support/until.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const ADMIN_TOKEN = "a".repeat(40);
const CORS = "https://pages.example";
const app = await startTestApp({
  env: { ADMIN_TOKEN, PUBLIC_URL: "https://relay.example/under", CORS_ORIGINS: CORS },
});
const url = app.local_url;
const { host } = new URL(url);
const { person, agent } = await createPair(url);

/** One request to each surface, each to its own kind of route. */
const REQUESTS = [
  ["POST", "/v1/tasks"],
  ["POST", "/v1/accounts"],
  ["DELETE", "/v1/account"],
  ["PUT", "/v1/tasks"],
  ["POST", "/v1/nothing"],
  ["POST", "/trpc/tasks.create"],
  ["POST", "/trpc/nothing"],
  ["POST", "/mcp"],
  ["POST", "/admin/trpc/overview"],
  ["POST", "/metrics"],
  ["POST", "/"],
  ["POST", "/health"],
  ["POST", "/nothing"],
] as const;

const credentialOf = (path: string) => (path.startsWith("/v1/account") ? person : agent);
const authorization = (path: string) => {
  const who = credentialOf(path);
  return { authorization: `Bearer ${"secret" in who ? who.secret : who.token}` };
};

test("two Content-Length headers are refused on every route, and later bodies are still read", async () => {
  for (const [method, path] of [...REQUESTS, ["GET", "/v1/tasks"], ["HEAD", "/health"]] as const) {
    const answer = await sendRaw(url, method, path, {
      ...authorization(path),
      "content-type": "application/json",
      "content-length": "2\r\ncontent-length: 2",
    });
    expect([method, path, answer.status]).toEqual([method, path, 400]);
    if (method === "HEAD") continue;
    expectProblem(answer, "invalid_json");
    expect(JSON.parse(answer.text).detail).toMatch(/^The Content-Length header/);
  }
  expect((await person.send("GET /v1/account")).status).toBe(200);
  for (let i = 0; i < 3; i++) await createTask(agent.send);
});

test("a body with a trailer is refused, and changes nothing", async () => {
  const title = "has a trailer";
  const body = JSON.stringify({ title });
  for (const path of ["/v1/tasks", "/trpc/tasks.create"]) {
    const headers = { ...authorization(path), "content-type": "application/json" };
    const connection = await connect(url);
    connection.write(
      `${head("POST", path, { ...headers, "transfer-encoding": "chunked" })}` +
        `${body.length.toString(16)}\r\n${body}\r\n0\r\nx-digest: none\r\n\r\n`,
    );
    expect([path, (await connection.answer())?.status]).toEqual([path, 400]);
    connection.end();
  }
  // Anything that they had written would be visible before this one.
  await createTask(agent.send);
  const { body: list } = await agent.send("GET /v1/tasks?limit=500");
  expect(list.tasks.map((task: { title: string }) => task.title)).not.toContain(title);
});

test("invalid forms of Content-Length are refused, with or without chunks", async () => {
  const forms = ["2, 2", "2, 3", "+2", "-2", "0x2", "2.0", "2e0", "", "9".repeat(30)];
  const framings = ["2\r\ncontent-length: 3", "2\r\ntransfer-encoding: chunked", ...forms];
  for (const form of framings) {
    const connection = await connect(url);
    connection.write(
      `POST /v1/accounts HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${form}\r\n\r\n{}`,
    );
    expect([form, (await connection.answer())?.status]).toEqual([form, 400]);
    connection.end();
  }
  const title = '{"title":"t"}';
  const spaces = await sendRaw(
    url,
    "POST",
    "/v1/tasks",
    {
      ...authorization("/v1/tasks"),
      "content-type": "application/json",
      "content-length": `  00${title.length}  `,
    },
    title,
  );
  expect(spaces.status).toBe(201);
});

test("two Host headers are refused on every route [§1.2.8]", async () => {
  for (const [method, path] of [...REQUESTS, ["GET", "/"], ["GET", "/v1/tasks"]] as const) {
    for (const hosts of [
      `${host}\r\nhost: ${host}`,
      `${host}\r\nhost: evil.example`,
      `${host}\r\nhost:`,
    ]) {
      const answer = await sendRaw(url, method, path, { ...authorization(path), host: hosts });
      expectProblem(answer, "invalid_json");
      expect(JSON.parse(answer.text).detail).toMatch(/^The Host header/);
    }
  }
  expect((await person.send("GET /v1/account")).status).toBe(200);
});

/** Values that a page of another origin may send as its `Origin`. */
const FOREIGN = [
  "https://evil.example",
  "null",
  "",
  "https://relay.example.evil.example",
  "https://relay.example:8443",
  "https://pages.example:8443",
  "http://pages.example",
  `http://${new URL(url).hostname}:1`,
  `ftp://${host}`,
  `http://${host}/`,
  `http://${host}, http://${host}`,
  `http://evil.example@${host}`,
  "file://",
];

test("a page of another origin cannot change anything, on any route [§1.2.7]", async () => {
  for (const [method, path] of REQUESTS) {
    for (const origin of FOREIGN) {
      // `/mcp` accepts any page of this machine, by its own rule.
      if (path === "/mcp" && /\/\/127/.test(origin)) continue;
      const answer = await sendRaw(url, method, path, { ...authorization(path), host, origin });
      expect([path, origin, answer.status]).toEqual([path, origin, 403]);
      expectProblem(answer, "forbidden");
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    }
  }
  expect((await person.send("GET /v1/account")).status).toBe(200);
  // The request does not reach the request log, except on `/mcp`, which logs it.
  const refused = await until(async () => {
    const { body } = await person.send(`GET /v1/keys/${agent.key.id}/activity?limit=100`);
    const entries = body.items.filter((item: any) => item.code === "forbidden");
    const requests = entries.reduce((sum: number, { count }: any) => sum + count, 0);
    return requests >= FOREIGN.length - 5 && entries;
  });
  const actions = new Set(refused.map((item: any) => item.action));
  expect(actions.size).toBe(1);
  expect([...actions]).not.toContain("POST /v1/tasks");
});

test("Relay's own pages, those of CORS_ORIGINS and clients without an Origin may make changes", async () => {
  const ours = [
    CORS,
    "https://relay.example",
    "http://relay.example",
    `http://${host}`,
    `https://${host}`,
  ];
  const body = '{"title":"t"}';
  for (const origin of [...ours, null]) {
    const headers = {
      ...authorization("/v1/tasks"),
      host,
      "content-type": "application/json",
      ...(origin !== null && { origin }),
    };
    const made = await sendRaw(url, "POST", "/v1/tasks", headers, body);
    expect([origin, made.status]).toEqual([origin, 201]);
    const called = await sendRaw(url, "POST", "/trpc/tasks.create", headers, body);
    expect([origin, called.status]).toEqual([origin, 200]);
  }
  // The names by which a proxy may be reached, with and without the scheme's default port.
  const named = [
    ["other.example", "https://other.example"],
    ["other.example:443", "https://other.example"],
    ["other.example:80", "http://other.example"],
    ["OTHER.example", "https://other.example"],
    ["[::1]:3000", "http://[::1]:3000"],
  ] as const;
  for (const [name, origin] of named) {
    const headers = {
      ...authorization("/v1/tasks"),
      host: name,
      origin,
      "content-type": "application/json",
    };
    const made = await sendRaw(url, "POST", "/v1/tasks", headers, body);
    expect([name, origin, made.status]).toEqual([name, origin, 201]);
  }
  const headers = {
    ...authorization("/v1/tasks"),
    host: "other.example:443",
    origin: "http://other.example",
  };
  expect((await sendRaw(url, "POST", "/v1/tasks", headers)).status).toBe(403);
});

test("a page of another origin may read, and its reads have no effect", async () => {
  const world = await createPerson(url);
  const reader = await createAgent(url, world, "reader");
  const task = await createTask(world.send, { title: "a", key_id: reader.key.id });
  const origin = { headers: { origin: "https://evil.example" } };
  for (const path of [
    "/v1/tasks",
    `/v1/tasks/${task.id}`,
    "/v1/inbox",
    "/v1/inbox?wait=1",
  ] as const) {
    expect((await reader.send(`GET ${path}`, undefined, origin)).status).toBe(200);
  }
  const input = encodeURIComponent(JSON.stringify({}));
  for (const name of ["tasks.list", "inbox.read"]) {
    expect((await reader.send(`GET /trpc/${name}?input=${input}`, undefined, origin)).status).toBe(
      200,
    );
  }
  expect((await world.send(`GET /v1/tasks/${task.id}`)).body.seen_at).toBeNull();
  const { body: key } = await world.send("GET /v1/keys");
  expect(key.keys[0].last_used_at).toBeNull();
  // It is logged like any other request.
  const actions = await until(async () => {
    const { body } = await world.send(`GET /v1/keys/${reader.key.id}/activity`);
    const requests = body.items.reduce((sum: number, { count }: any) => sum + count, 0);
    return requests >= 6 && body.items.map((item: any) => item.action);
  });
  expect(actions).toContain("GET /v1/inbox");
  expect(actions.join()).not.toContain("HEAD");
  expect((await reader.send("GET /v1/inbox")).body.items).toHaveLength(1);
  expect((await world.send(`GET /v1/tasks/${task.id}`)).body.seen_at).not.toBeNull();
});

test("/mcp keeps its stricter rule for origins", async () => {
  const { rpc } = await openSession(url, agent.secret);
  expect((await rpc("tools/list")).status).toBe(200);
  const name = { ...authorization("/mcp"), host: "other.example", origin: "https://other.example" };
  expectProblem(await sendRaw(url, "POST", "/mcp", name), "forbidden");
  expect((await exchange(url, "GET", "/health")).status).toBe(200);
});
