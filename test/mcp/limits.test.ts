/** Rate limits and CORS on `/mcp` are those of every other surface. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import {
  advanceUntilEnded,
  CLIENT,
  envelope,
  NEW_ERA,
  newEra,
  oldEra,
  openSession,
  post,
  requestLogReader,
} from "../support/mcp.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const ORIGIN = "https://app.example";
const clock = createTestClock();
const env = { RATE_LIMITS: "on", TRUST_PROXY: "1", CORS_ORIGINS: ORIGIN };
const app = await startTestApp({ clock, env });
const LIST = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
const NOTE = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });

/** Fills the buckets that earlier tests used. */
const rest = () => clock.advance(60);

test("every MCP request of a key costs one call, and is refused with 429 beyond 120 [§10.6.2]", async () => {
  const { agent } = await createPair(app.url);
  const [old, modern] = [oldEra(app.url, agent.secret), newEra(app.url, agent.secret)];
  const asked = await ask(agent.send);
  const { id } = await openSession(app.url, agent.secret);
  let left = 118;
  const costs = async (answer: Promise<{ status: number; headers: Headers }>, status: number) => {
    const { headers, ...sent } = await answer;
    left--;
    const told = [sent.status, headers.get("ratelimit-policy"), headers.get("ratelimit")];
    const full_in = Math.ceil((120 - left) / 10);
    expect(told).toEqual([status, '"key";q=120;w=12', `"key";r=${left};t=${full_in}`]);
  };
  for (const rpc of [old, modern]) {
    await costs(rpc("tools/list"), 200);
    await costs(rpc("tools/call", { name: "list_tasks" }), 200);
    await costs(rpc("tools/call", { name: "get_task", arguments: { task_id: "x" } }), 200);
    await costs(rpc("tools/call", { name: "nope" }), 200);
    await costs(rpc("resources/read", { uri: "relay://tasks" }), 200);
    await costs(rpc("nope"), rpc === old ? 200 : 404);
  }
  await costs(old("tools/list", {}, { headers: { "mcp-session-id": "x" } }), 404);
  await costs(old("tools/list", {}, { headers: { "mcp-session-id": id } }), 200);
  await costs(post(app.url, agent.secret, NOTE), 202);
  await costs(post(app.url, agent.secret, "{"), 400);
  await costs(post(app.url, agent.secret, "[]"), 400);
  await costs(agent.send("GET /v1/tasks"), 200);
  await costs(old("tools/list"), 200);
  // A streamed response states what was left when it began.
  const given = { question_id: asked.id, wait_seconds: 10 };
  const streamed = old("tools/call", {
    name: "get_question",
    arguments: given,
    _meta: { progressToken: 1 },
  });
  await advanceUntilEnded(app, clock, 10);
  const { headers, notes } = await streamed;
  expect([headers.get("content-type"), notes.length]).toEqual(["text/event-stream", 3]);
  expect(headers.get("ratelimit")).toBe(`"key";r=${left - 1};t=3`);

  await rest();
  for (let i = 0; i < 120; i++) expect((await modern("ping")).status).toBe(404);
  for (const answer of [
    await old("tools/list"),
    await modern("tools/call", { name: "list_tasks" }),
    await post(app.url, agent.secret, NOTE),
    await post(app.url, agent.secret, "{"),
    await old("tools/list", {}, { headers: { "mcp-session-id": "x" } }),
  ]) {
    expectProblem(answer, "rate_limited");
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(answer.headers.get("ratelimit")).toBe('"key";r=0;t=12');
  }
  // Across the surfaces.
  expect((await agent.send("GET /v1/tasks")).status).toBe(429);
  await clock.advance(0.1);
  expect((await old("tools/list")).status).toBe(200);
  expect((await old("tools/list")).status).toBe(429);
});

test("an MCP request above the limit is logged under its name, and a notification is not logged [§15.1.1] [§15.1.2]", async () => {
  const pair = await createPair(app.url);
  const { agent } = pair;
  const entries = requestLogReader(clock, pair);
  const modern = newEra(app.url, agent.secret);
  const { rpc } = await openSession(app.url, agent.secret);
  // Notifications use up the limit and leave no entry.
  for (let i = 0; i < 119; i++) await post(app.url, agent.secret, NOTE);
  await rpc("tools/call", { name: "create_task", arguments: { title: "t" } });
  await modern("tools/list");
  await modern("tools/call", { name: "nope" });
  await modern("nope");
  await post(app.url, agent.secret, "{");
  await post(app.url, agent.secret, NOTE);
  await rest();
  const told = (await entries()).map(({ surface, action, code, client }) => [
    surface,
    action,
    code,
    client?.name,
  ]);
  expect(told).toEqual([
    ["mcp", "initialize", null, CLIENT.name],
    ["mcp", "create_task", "rate_limited", CLIENT.name],
    ["mcp", "tools/list", "rate_limited", CLIENT.name],
    ["mcp", "tools/call", "rate_limited", CLIENT.name],
    ["mcp", "unknown method", "rate_limited", CLIENT.name],
    ["mcp", "POST /mcp", "rate_limited", undefined],
  ]);
  expect((await agent.send("GET /v1/tasks")).body.tasks).toEqual([]);
});

test("an account token on /mcp is charged before its 403; requests without a credential are charged to their address [§10.6.2]", async () => {
  await rest();
  const { person, agent } = await createPair(app.url);
  const first = await post(app.url, person.token, LIST);
  expectProblem(first, "forbidden");
  expect(first.headers.get("ratelimit")).toBe('"account";r=238;t=1');
  for (let i = 0; i < 238; i++) await person.send("GET /v1/account");
  expectProblem(await post(app.url, person.token, LIST), "rate_limited");

  const refusals = [
    [null, {}, "unauthorized"],
    ["mck_nobody", {}, "unauthorized"],
    [null, { origin: "https://evil.example" }, "forbidden"],
    [null, { "content-type": "text/plain" }, "unsupported_media_type"],
  ] as const;
  for (const [i, [secret, more, code]] of refusals.entries()) {
    const headers = { ...more, "x-forwarded-for": `198.51.100.${i}` };
    const answer = await post(app.url, secret, LIST, { headers });
    expectProblem(answer, code);
    const limit = code === "unauthorized" && secret === null ? "mcp_challenges" : "address";
    expect(answer.headers.get("ratelimit")).toBe(`"${limit}";r=59;t=1`);
    // Above the limit for new requests, these count like others.
    const most = limit === "address" ? 59 : 119;
    for (let j = 0; j < most; j++) await post(app.url, secret, LIST, { headers });
    expectProblem(await post(app.url, secret, LIST, { headers }), "rate_limited");
    // A caller with a credential is not affected.
    expect((await post(app.url, agent.secret, LIST, { headers: {} })).status).toBe(200);
  }
});

test("a page of an allowed origin may call /mcp and read every response; other pages are refused", async () => {
  const { agent } = await createPair(app.url);
  const asking = { origin: ORIGIN, "access-control-request-method": "POST" };
  const preflight = await exchange(app.url, "OPTIONS", "/mcp", { headers: asking });
  expect([preflight.status, preflight.headers.get("access-control-allow-methods")]).toEqual([
    204,
    "POST",
  ]);
  const allowed = preflight.headers.get("access-control-allow-headers")!.split(", ");
  for (const name of [
    "authorization",
    "content-type",
    "mcp-protocol-version",
    "mcp-session-id",
    "mcp-method",
    "mcp-name",
    "x-agent-host",
    "last-event-id",
  ]) {
    expect(allowed).toContain(name);
  }
  const headers = { origin: ORIGIN };
  const modern = { "mcp-protocol-version": NEW_ERA, "mcp-method": "tools/list" };
  const body = JSON.stringify({ ...JSON.parse(LIST), params: { _meta: envelope() } });
  const begin = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: CLIENT };
  const old = oldEra(app.url, agent.secret);
  for (const [status, answer] of [
    [200, await old("initialize", begin, { headers })],
    [200, await post(app.url, agent.secret, body, { headers: { ...headers, ...modern } })],
    [202, await post(app.url, agent.secret, NOTE, { headers })],
    [401, await post(app.url, null, LIST, { headers })],
    [400, await post(app.url, agent.secret, "{", { headers })],
    [413, await post(app.url, agent.secret, "x".repeat(300_000), { headers })],
    [405, await exchange(app.url, "GET", "/mcp", { headers })],
  ] as const) {
    expect([status, answer.status]).toEqual([status, status]);
    expect(answer.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(answer.headers.get("access-control-expose-headers")).toContain("mcp-session-id");
  }
  const foreign = { origin: "https://evil.example" };
  const refused = await post(app.url, agent.secret, LIST, { headers: foreign });
  expectProblem(refused, "forbidden");
  expect(refused.headers.get("access-control-allow-origin")).toBeNull();
  const asked = await exchange(app.url, "OPTIONS", "/mcp", { headers: { ...asking, ...foreign } });
  expectProblem(asked, "method_not_allowed");
});
