/** What an MCP request records: its entry in the request log, `last_client` and `last_host`. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import {
  advanceUntilEnded,
  CLIENT,
  callTool,
  NEW_ERA,
  newEra,
  oldEra,
  openSession,
  post,
  requestLogReader,
} from "../support/mcp.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";
import { MARK } from "../support/wire.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });
const { person, agent } = await createPair(app.url);
const entries = requestLogReader(clock, { person, agent });
const old = oldEra(app.url, agent.secret);
const modern = newEra(app.url, agent.secret);

/** Action and code of each entry since the last call. */
const actions = async () => (await entries()).map(({ action, code }) => [action, code]);

test("each MCP request has one request log entry, with the action of the interface's table [§15.2] [§15.1.1]", async () => {
  const { rpc } = await openSession(app.url, agent.secret);
  expect(await actions()).toEqual([["initialize", null]]);
  for (const send of [rpc, modern]) {
    await send("tools/list");
    await send("resources/list");
    await send("prompts/get", { name: "next_task" });
    await send("tools/call", { name: "create_task", arguments: { title: "t" } });
    await send("tools/call", { name: "create_task", arguments: { title: "" } });
    await send("tools/call", { name: "get_task", arguments: { task_id: "tsk_0" } });
    await send("tools/call", { name: MARK });
    await send("tools/call", {});
    await send(MARK);
    await send("logging/setLevel", { level: "info" });
    expect(await actions()).toEqual([
      ["tools/list", null],
      ["resources/list", null],
      ["prompts/get", null],
      ["create_task", null],
      ["create_task", "invalid_fields"],
      ["get_task", "not_found"],
      ["tools/call", "invalid_fields"],
      ["tools/call", "invalid_fields"],
      ["unknown method", "unknown_path"],
      ["unknown method", "unknown_path"],
    ]);
  }
  await rpc("ping");
  await modern("ping");
  await modern("server/discover");
  await rpc("server/discover");
  expect(await actions()).toEqual([
    ["ping", null],
    // Both are counted in one entry.
    ["unknown method", "unknown_path"],
    ["unknown method", "unknown_path"],
    ["server/discover", null],
  ]);
});

test("a request refused before its method is read is logged as POST /mcp [§15.2]", async () => {
  for (const body of ["{", "[]", "null", '{"jsonrpc":"2.0","id":1,"result":{}}']) {
    await post(app.url, agent.secret, body);
  }
  await old("tools/list", {}, { headers: { "mcp-session-id": "forged" } });
  await old("tools/list", {}, { headers: { "mcp-protocol-version": "1.0" } });
  await modern("tools/list", {}, { headers: { "mcp-method": "ping" } });
  await modern("tools/list", { _meta: { "io.modelcontextprotocol/clientCapabilities": 1 } });
  await old("tools/list", {}, { headers: { origin: "https://evil.example" } });
  const recorded = await actions();
  expect(recorded).toEqual([
    ["POST /mcp", "invalid_json"],
    ["POST /mcp", "invalid_fields"],
    ["POST /mcp", "invalid_fields"],
    ["POST /mcp", "invalid_fields"],
    ["POST /mcp", "not_found"],
    ["POST /mcp", "invalid_fields"],
    ["POST /mcp", "invalid_fields"],
    ["POST /mcp", "invalid_fields"],
    ["POST /mcp", "forbidden"],
  ]);
});

test("other credentials, earlier refusals and notifications leave no request log entry [§15.1.2]", async () => {
  const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  await post(app.url, null, list);
  await post(app.url, person.token, list);
  await post(app.url, person.token, list, { headers: { origin: "https://evil.example" } });
  await post(app.url, agent.secret, list, { headers: { "content-type": "text/plain" } });
  await post(app.url, agent.secret, "x".repeat(300_000));
  const note = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
  await post(app.url, agent.secret, note);
  const headers = { "mcp-protocol-version": NEW_ERA, "mcp-method": "notifications/initialized" };
  await post(app.url, agent.secret, note, { headers });
  await fetch(`${app.url}/mcp`, { headers: { authorization: `Bearer ${agent.secret}` } });
  // The next request is the first to be logged.
  await old("ping");
  expect(await actions()).toEqual([["ping", null]]);
});

test("a call that only waited leaves no log entry; a call that got a result or asked leaves one [§15.1.2]", async () => {
  for (const rpc of [old, modern]) {
    const asked = (await callTool(rpc, "ask_question", { prompt: "p" })).structuredContent;
    const get = { question_id: asked.id, wait_seconds: 30 };
    const vain = callTool(rpc, "get_question", get);
    await until(() => app.waits.count() === 1);
    await clock.advance(30);
    expect((await vain).structuredContent.status).toBe("pending");
    const gone = new AbortController();
    const left = rpc(
      "tools/call",
      { name: "get_question", arguments: get },
      { signal: gone.signal },
    ).catch(() => {});
    await until(() => app.waits.count() === 1);
    gone.abort();
    await left;
    await until(() => app.waits.count() === 0);
    const answered = callTool(rpc, "get_question", get);
    await until(() => app.waits.count() === 1);
    await clock.advance(12);
    await person.send(`POST /v1/questions/${asked.id}/answer`, { answer: "Yes" });
    expect((await answered).structuredContent.answer).toBe("Yes");
    const recorded = await entries();
    expect(recorded.map(({ action, duration_ms }) => [action, duration_ms])).toEqual([
      ["ask_question", 0],
      ["get_question", 12_000],
    ]);
    // Read without a wait, a pending question is a request like any other.
    const other = (await callTool(rpc, "ask_question", { prompt: "p" })).structuredContent;
    await callTool(rpc, "get_question", { question_id: other.id });
    expect(await actions()).toEqual([
      ["ask_question", null],
      ["get_question", null],
    ]);
    await agent.send(`DELETE /v1/questions/${other.id}`);
    await entries();
  }
});

test("the first and last round of an ask_question are logged, and the waiting rounds between are not [§15.1.2]", async () => {
  const args = { prompt: "p", wait_seconds: 20 };
  const rounds = { experimental: { "relay/rounds": {} } };
  const repeating = newEra(app.url, agent.secret, CLIENT, rounds);
  const round = async (state?: string) => {
    const more = state === undefined ? {} : { requestState: state };
    const call = callTool(repeating, "ask_question", args, more);
    await advanceUntilEnded(app, clock, 20);
    return (await call).requestState as string;
  };
  const second = await round(await round());
  const { body } = await person.send("GET /v1/questions");
  await person.send(`POST /v1/questions/${body.questions[0].id}/answer`, { answer: "No" });
  const result = await callTool(modern, "ask_question", args, { requestState: second });
  expect(result.structuredContent.answer).toBe("No");
  expect(await actions()).toEqual([
    ["ask_question", null],
    ["ask_question", null],
  ]);
});

test("a log entry holds the key, client, host and time, and no content [§2.8] [§15.1.4]", async () => {
  const { rpc } = await openSession(app.url, agent.secret);
  await entries();
  const at = clock.now();
  const headers = { "x-agent-host": "build-9" };
  const bad = { title: `${MARK}\0`, [MARK]: 1, secret_plan: 1, key_id: "x" };
  for (const send of [rpc, modern]) {
    await send("tools/call", { name: "create_task", arguments: bad }, { headers });
  }
  const [one, two] = await entries();
  expect(one).toEqual({
    id: expect.stringMatching(/^act_/),
    at,
    surface: "mcp",
    action: "create_task",
    status: "error",
    code: "invalid_fields",
    message: "Invalid fields: title, unknown, key_id.",
    client: CLIENT,
    host: "build-9",
    duration_ms: 0,
  });
  expect(two).toEqual(one!);
  await old("ping");
  await newEra(app.url, agent.secret, null)("tools/list");
  expect((await entries()).map(({ client }) => client)).toEqual([null, null]);
});

test("last_client is the clientInfo of the last request, in both eras [§2.3.3]", async () => {
  const { person, agent } = await createPair(app.url);
  const stream = await openStream(app.url, person.token);
  const told = async (count: number) => {
    expect(await stream.names(count)).toEqual(Array(count).fill("key.updated"));
    return stream.events.at(-1)!.data.key;
  };
  const lastClient = async () => (await person.send("GET /v1/keys")).body.keys[0].last_client;
  expect(await lastClient()).toBeNull();

  const { rpc } = await openSession(app.url, agent.secret, { name: "one", version: "1" });
  expect(await lastClient()).toEqual({ name: "one", version: "1" });
  const key = await told(1);
  expect(key).toMatchObject({ id: agent.key.id, last_client: { name: "one", version: "1" } });

  // Within the second, the newest is kept for its end.
  const send = (name: string) => newEra(app.url, agent.secret, { name, version: "2" });
  await send("two")("tools/list");
  await send("three")("tools/list");
  await clock.advance(0.9);
  expect(await lastClient()).toEqual({ name: "one", version: "1" });
  await clock.advance(0.1);
  await until(async () => (await lastClient()).name === "three");
  expect((await told(2)).last_client.name).toBe("three");

  // A later request of the old session is known by its session id; one without says nothing.
  await clock.advance(2);
  await rpc("ping");
  expect(await lastClient()).toEqual({ name: "one", version: "1" });
  await clock.advance(2);
  await oldEra(app.url, agent.secret)("ping");
  await newEra(app.url, agent.secret, null)("tools/list");
  await agent.send("GET /v1/tasks");
  expect(await lastClient()).toEqual({ name: "one", version: "1" });
  await told(3);
  stream.close();
});

test("a client's name is shortened and cleaned, and an invalid name is left out [§12.2.4]", async () => {
  const { person } = await createPair(app.url);
  const check = async (sent: object, right: object | null) => {
    const { key, secret } = await createAgent(app.url, person);
    await openSession(app.url, secret, sent);
    const { body } = await person.send("GET /v1/keys");
    const found = body.keys.find(({ id }: { id: string }) => id === key.id);
    expect([sent, found.last_client]).toEqual([sent, right]);
  };
  await check(
    { name: ` a\u0000\nb\ud800 `, version: "😀".repeat(150) },
    { name: "ab\ufffd", version: "😀".repeat(100) },
  );
  await check({ name: "x".repeat(5_000), version: "" }, { name: "x".repeat(100), version: "" });
  await check({ name: " ", version: "1" }, null);
});

test("last_host is set by MCP requests too [§2.3.4]", async () => {
  const { person, agent } = await createPair(app.url);
  const headers = { "x-agent-host": "laptop" };
  await newEra(app.url, agent.secret)("tools/list", {}, { headers });
  expect((await person.send("GET /v1/keys")).body.keys[0].last_host).toBe("laptop");
});
