/** `POST /mcp` in both eras: what is served, and which error each refused request gets. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";
import {
  CLIENT,
  callTool,
  envelope,
  NEW_ERA,
  newEra,
  oldEra,
  openSession,
  post,
} from "../support/mcp.ts";
import { connect, sendRaw } from "../support/raw.ts";
import { createTestStore } from "../support/store.ts";
import { expectProblem, MARK } from "../support/wire.ts";

const { url: database_url } = await createTestStore();
const app = await startTestApp({ database_url });
const { person, agent } = await createPair(app.url);
const old = oldEra(app.url, agent.secret);
const modern = newEra(app.url, agent.secret);

const LIST = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/list" });

test("every version from 2024-11-05 on is negotiated, and an unknown version gets the newest old one [§12.1.1] [§12.1.2]", async () => {
  for (const version of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]) {
    const params = { protocolVersion: version, capabilities: {}, clientInfo: CLIENT };
    const { status, body } = await post(
      app.url,
      agent.secret,
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
    );
    expect([status, body.result.protocolVersion]).toEqual([200, version]);
    const listed = await old("tools/list", {}, { headers: { "mcp-protocol-version": version } });
    expect(listed.body.result.tools.length).toBeGreaterThan(8);
  }
  const params = { protocolVersion: "1999-01-01", capabilities: {}, clientInfo: CLIENT };
  expect((await old("initialize", params)).body.result.protocolVersion).toBe("2025-11-25");
  const discovered = await modern("server/discover");
  expect(discovered.body.result.supportedVersions).toEqual([NEW_ERA]);
  // Without the header, like the oldest clients.
  expect((await post(app.url, agent.secret, LIST)).body.result.tools.length).toBeGreaterThan(8);
});

test("both eras list and call the same tools, answered as JSON when nothing is streamed", async () => {
  const session = await openSession(app.url, agent.secret);
  const [one, two] = [await session.rpc("tools/list"), await modern("tools/list")];
  expect(two.body.result.tools).toEqual(one.body.result.tools);
  expect(two.body.result).toMatchObject({ ttlMs: 300_000, cacheScope: "public" });
  for (const rpc of [old, session.rpc, modern]) {
    const made = await rpc("tools/call", { name: "create_task", arguments: { title: "a" } });
    expect(made.headers.get("content-type")).toStartWith("application/json");
    expect(made.headers.get("cache-control")).toBe("no-store");
    const { structuredContent, content } = made.body.result;
    expect(structuredContent).toMatchObject({ title: "a", source: "agent" });
    expect(JSON.parse(content[0].text)).toEqual(structuredContent);
  }
});

test("the instructions name the tools that an agent should use unprompted, in both eras", async () => {
  const { answer } = await openSession(app.url, agent.secret);
  const { instructions } = answer.body.result;
  for (const tool of ["list_tasks", "create_task", "update_task", "ask_question"]) {
    expect(instructions).toContain(tool);
  }
  expect(instructions.length).toBeLessThan(1_200);
  expect((await modern("server/discover")).body.result.instructions).toBe(instructions);
});

test("resources are the key's open tasks and pending questions, and prompts take the next task [§12.3.4]", async () => {
  const { agent } = await createPair(app.url);
  for (const rpc of [oldEra(app.url, agent.secret), newEra(app.url, agent.secret)]) {
    const { resources } = (await rpc("resources/list")).body.result;
    expect(resources.map(({ uri }: any) => uri)).toEqual(["relay://tasks", "relay://questions"]);
    const task = (await callTool(rpc, "create_task", { title: "open" })).structuredContent;
    const done = { title: "done", status: "done" };
    await callTool(rpc, "create_task", done);
    const { structuredContent } = await callTool(rpc, "ask_question", { prompt: "?" });
    const { hint: _, reach: __, ...asked } = structuredContent;
    const read = async (uri: string) => {
      const { contents } = (await rpc("resources/read", { uri })).body.result;
      expect(contents).toMatchObject([{ uri, mimeType: "application/json" }]);
      return JSON.parse(contents[0].text);
    };
    const { tasks } = await read("relay://tasks");
    expect(tasks[0]).toEqual(task);
    expect(tasks.every(({ title }: any) => title === "open")).toBe(true);
    expect((await read("relay://questions")).questions[0]).toEqual(asked);
    const { resourceTemplates } = (await rpc("resources/templates/list")).body.result;
    expect(resourceTemplates.length).toBe(2);
    expect(await read(`relay://tasks/${task.id}`)).toEqual(task);
    expect(await read(`relay://questions/${asked.id}`)).toEqual(asked);
    for (const uri of ["relay://x", "relay://tasks/", "relay://tasks/tsk_0", "", "http://x"]) {
      const { error } = (await rpc("resources/read", { uri })).body;
      expect([uri, error.code, error.data.code]).toEqual([uri, -32602, "not_found"]);
    }
    const { prompts } = (await rpc("prompts/list")).body.result;
    const { messages } = (await rpc("prompts/get", { name: prompts[0].name })).body.result;
    expect(messages[0].content.text).toContain("list_tasks");
    const none = (await rpc("prompts/get", { name: MARK })).body.error;
    expect([none.code, Object.keys(none.data.fields)]).toEqual([-32602, ["name"]]);
    for (const list of ["tools/list", "resources/list", "prompts/list"]) {
      expect((await rpc(list, { cursor: "x" })).body.error.data.fields).toHaveProperty("cursor");
    }
  }
});

test("/mcp answers 401 without a credential and 403 to an account token, before reading the body [§4.1.3] [§4.1.1]", async () => {
  for (const [secret, code] of [
    [null, "unauthorized"],
    [`mck_${"A".repeat(43)}`, "unauthorized"],
    [person.token, "forbidden"],
  ] as const) {
    for (const body of [LIST, "{", "[]"]) {
      expectProblem(await post(app.url, secret, body), code);
    }
  }
});

test("/mcp answers 405 to other methods, and other spellings of the path are not found", async () => {
  for (const method of ["GET", "DELETE", "PUT", "PATCH"]) {
    const headers = { authorization: `Bearer ${agent.secret}`, accept: "text/event-stream" };
    const answer = await sendRaw(app.url, method, "/mcp", headers);
    expectProblem(answer, "method_not_allowed");
    expect(answer.headers.get("allow")).toBe("POST");
  }
  expectProblem(await sendRaw(app.url, "POST", "/mcp/"), "unknown_path");
});

test("/mcp requires a Host of this server and an Origin of its pages or of this machine [§12.1.3]", async () => {
  const own = new URL(app.url).host;
  const env = { PUBLIC_URL: "https://Relay.example/x/", ALLOWED_HOSTS: "box.lan, Büro.example" };
  const public_app = await startTestApp({ env });
  const pair = await createPair(public_app.local_url);
  const send = (url: string, secret: string, headers: Record<string, string>) =>
    sendRaw(
      url,
      "POST",
      "/mcp",
      { authorization: `Bearer ${secret}`, "content-type": "application/json", ...headers },
      LIST,
    );
  const local = (headers: Record<string, string>) => send(app.url, agent.secret, headers);
  const at_public = (headers: Record<string, string>) =>
    send(public_app.local_url, pair.agent.secret, headers);

  const loopback = ["localhost:1", "LOCALHOST", "localhost.", "127.0.0.1", "relay.localhost:3000"];
  const lan = ["192.168.1.20:3000", "[fd00::2]:3000", "2130706433", "studio:3000"];
  for (const host of [own, ...loopback, "[::1]:3000", "[0:0:0:0:0:0:0:1]", ...lan]) {
    expect([host, (await local({ host })).status]).toEqual([host, 200]);
    expect([host, (await at_public({ host })).status]).toEqual([host, 200]);
  }
  for (const host of [
    "relay.example",
    "Relay.Example:443",
    "box.lan:3000",
    "xn--bro-hoa.example",
  ]) {
    expect([host, (await at_public({ host })).status]).toEqual([host, 200]);
    const refused = await local({ host });
    expectProblem(refused, "forbidden");
    expect(JSON.parse(refused.text).detail).toContain("ALLOWED_HOSTS");
  }
  for (const host of [
    ...["evil.example", "evil.example:3000", "evil.example.", "EVIL.example", "relay.example.evil"],
    ...["localhost.evil", "127.0.0.1.nip.io", "not-this-machine.local", "x.box.lan"],
    ...["evil.example@localhost", "localhost/x", "localhost#evil", "127.evil", ""],
  ]) {
    expectProblem(await at_public({ host }), "forbidden");
  }
  const host = "relay.example";
  for (const origin of ["https://relay.example", "http://localhost:6274", "http://[::1]"]) {
    expect([origin, (await at_public({ host, origin })).status]).toEqual([origin, 200]);
  }
  // A page of the address that the request itself names, as opened on a phone.
  for (const name of ["192.168.1.20:3000", "[fd00::2]:3000", "studio:3000"]) {
    const own_page = { host: name, origin: `http://${name}` };
    expect([name, (await local(own_page)).status]).toEqual([name, 200]);
    const other_page = { host: name, origin: "http://192.168.1.66:3000" };
    expectProblem(await local(other_page), "forbidden");
  }
  // The same holds for a page whose name an attacker pointed to this machine.
  expectProblem(await local({ host: "evil.example", origin: "http://evil.example" }), "forbidden");
  const foreign = [
    "https://evil.example",
    "https://relay.example:8443",
    "http://192.168.1.20:3000",
  ];
  for (const origin of [
    ...[...foreign, "null", "", "x", "http://localhost.evil"],
    ...["http://evil.example@localhost", "http://localhost/", "chrome-extension://localhost"],
  ]) {
    expectProblem(await at_public({ host, origin }), "forbidden");
  }
});

test("a body that is not JSON is a parse error after the credential; a larger body is refused before it", async () => {
  for (const body of ["", "{", "nope", '{"jsonrpc":"2.0"', "[".repeat(100_000)]) {
    const answer = await post(app.url, agent.secret, body);
    expect([answer.status, answer.body.error?.code]).toEqual([400, -32700]);
    expect([answer.body.id, answer.body.error.data.code]).toEqual([null, "invalid_json"]);
  }
  const bytes = new Uint8Array([0x7b, 0xff, 0x7d]);
  expect((await post(app.url, agent.secret, bytes)).body.error.code).toBe(-32700);
  const large = `{"x":"${"x".repeat(10 * 1024 * 1024)}"}`;
  expectProblem(await post(app.url, agent.secret, large), "body_too_large");
  expectProblem(await post(app.url, null, large), "body_too_large");
  const headers = { "content-type": "text/plain" };
  expectProblem(await post(app.url, agent.secret, LIST, { headers }), "unsupported_media_type");
});

test("an incomplete body has no effect, and the server continues", async () => {
  const connection = await connect(app.url);
  const head = [
    "POST /mcp HTTP/1.1",
    "host: 127.0.0.1",
    `authorization: Bearer ${agent.secret}`,
    "content-type: application/json",
    "content-length: 500",
  ];
  connection.write(`${head.join("\r\n")}\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"tools/ca`);
  connection.end();
  expect((await old("ping")).status).toBe(200);
});

test("/mcp refuses anything but a single JSON-RPC request or notification, batches included [§12.5.2]", async () => {
  const request = JSON.parse(LIST);
  const bodies: unknown[] = [
    [],
    [request],
    [request, request],
    null,
    1,
    "x",
    {},
    { ...request, jsonrpc: "1.0" },
    { ...request, id: null },
    { ...request, id: 1.5 },
    { ...request, id: {} },
    { ...request, method: 1 },
    { jsonrpc: "2.0", id: 1, result: {} },
    { jsonrpc: "2.0", id: 1, error: { code: 1, message: MARK } },
  ];
  for (const body of bodies) {
    const text = JSON.stringify(body);
    const answer = await post(app.url, agent.secret, text);
    expect([text, answer.status, answer.body.error?.code]).toEqual([text, 400, -32600]);
    expect(answer.body.error.data).toMatchObject({ code: "invalid_fields", fields: {} });
    expect(answer.text).not.toContain(MARK);
  }
  for (const params of [[1], "x", 1]) {
    const answer = await post(app.url, agent.secret, JSON.stringify({ ...request, params }));
    expect([params, answer.status, answer.body.error.code]).toEqual([params, 400, -32602]);
    expect(Object.keys(answer.body.error.data.fields)).toEqual(["params"]);
  }
});

test("an invalid initialize is a client error", async () => {
  const clientInfo = { name: "c", version: "1" };
  const whole = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  expect((await old("initialize", whole)).body.result.protocolVersion).toBe("2025-06-18");
  for (const change of [
    { protocolVersion: undefined },
    { protocolVersion: 5 },
    { clientInfo: { name: "c" } },
    { capabilities: [] },
    { capabilities: { roots: 5 } },
  ]) {
    const { status, body } = await old("initialize", { ...whole, ...change });
    expect([change, status, body.error?.code]).toEqual([change, 200, -32602]);
    expect(body.error.data).toMatchObject({ code: "invalid_fields", status: 422 });
    expect(Object.keys(body.error.data.fields)).toEqual(["params"]);
  }
});

test("unknown methods are -32601, with 404 only in the new era, as a 404 would end an old session", async () => {
  for (const method of ["nope", "tools/nope", "", MARK, "constructor", "logging/setLevel"]) {
    const one = await old(method);
    expect([method, one.status, one.body.error.code]).toEqual([method, 200, -32601]);
    const two = await modern(method);
    expect([method, two.status, two.body.error.code]).toEqual([method, 404, -32601]);
    for (const { text, body } of [one, two]) {
      expect(text).not.toContain(MARK);
      expect(body.error.data.code).toBe("unknown_path");
    }
  }
  expect((await modern("ping")).status).toBe(404);
  expect((await modern("initialize")).status).toBe(404);
});

test("bad protocol versions, and headers that disagree with the body, are 400", async () => {
  for (const version of ["1.0", "2024-11-05x", "-1"]) {
    const headers = { "mcp-protocol-version": version };
    const { status, body } = await old("ping", {}, { headers });
    expect([version, status, body.error.code]).toEqual([version, 400, -32022]);
    expect(body.error.data.supported).toContain("2024-11-05");
  }
  // A version that sorts after the new one counts as newer.
  for (const version of [MARK, "latest", "9999-01-01"]) {
    const headers = { "mcp-protocol-version": version };
    const { status, body, text } = await old("ping", {}, { headers });
    expect([version, status, body.error.code]).toEqual([version, 400, -32022]);
    expect(text).not.toContain(MARK);
  }
  // The new version without what each of its requests must carry.
  const bare = await old("ping", {}, { headers: { "mcp-protocol-version": NEW_ERA } });
  expect([bare.status, bare.body.error.code]).toEqual([400, -32602]);
  const future = { "io.modelcontextprotocol/protocolVersion": "2099-01-01" };
  const headers = { "mcp-protocol-version": "2099-01-01" };
  const unknown = await modern("tools/list", { _meta: future }, { headers });
  expect([unknown.status, unknown.body.error.code]).toEqual([400, -32022]);
  expect(unknown.body.error.data).toMatchObject({ supported: [NEW_ERA], code: "invalid_fields" });
  const disagreeing = [
    { "mcp-method": "tools/call" },
    { "mcp-method": "" },
    { "mcp-protocol-version": "2025-11-25" },
    { "mcp-protocol-version": "" },
  ];
  for (const headers of disagreeing as Record<string, string>[]) {
    const { status, body } = await modern("tools/list", {}, { headers });
    expect([headers, status, body.error.code]).toEqual([headers, 400, -32020]);
    const [named] = Object.keys(body.error.data.fields);
    expect(named!.toLowerCase()).toBe(Object.keys(headers)[0]!);
  }
  const call = { name: MARK };
  const other = await modern("tools/call", call, { headers: { "mcp-name": "list_tasks" } });
  expect([other.status, other.body.error.code]).toEqual([400, -32020]);
  expect(other.body.error.data.fields).toEqual({ "Mcp-Name": "must agree with the body" });
  expect(other.text).not.toContain(MARK);
  const broken = { ...envelope(), "io.modelcontextprotocol/clientCapabilities": 1 };
  const malformed = await modern("tools/list", { _meta: broken });
  expect([malformed.status, malformed.body.error.code]).toEqual([400, -32602]);
});

test("a session is valid for its key alone; an invalid one is 404, so that the client starts again [§12.2.2]", async () => {
  const { id, rpc } = await openSession(app.url, agent.secret);
  expect((await rpc("ping")).status).toBe(200);
  const { agent: foreign } = await createPair(app.url);
  const [payload, mark] = id.split(".") as [string, string];
  const other = Buffer.from(JSON.stringify(["evil", "1", "x"])).toString("base64url");
  const bad = ["x", "", ".", "a.b", `${other}.${mark}`, `${payload}.${mark.slice(1)}x`, `${id}.x`];
  for (const session of [...bad, `${payload}.${mark.slice(0, -1)}`, payload, MARK]) {
    if (session === "") continue;
    const headers = { "mcp-session-id": session };
    const { status, body, text } = await old("tools/list", {}, { headers });
    expect([session, status, body.error.code]).toEqual([session, 404, -32001]);
    expect(body.error.data.code).toBe("not_found");
    expect(text).not.toContain(MARK);
    // A new session can be started with it.
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: CLIENT };
    expect((await old("initialize", params, { headers })).status).toBe(200);
  }
  const theirs = oldEra(app.url, foreign.secret);
  const answer = await theirs("ping", {}, { headers: { "mcp-session-id": id } });
  expect([answer.status, answer.body.error.code]).toEqual([404, -32001]);
  // A value sealed for another purpose is not a session.
  const asked = await callTool(newEra(app.url, foreign.secret), "ask_question", {
    prompt: "?",
    wait_seconds: 1,
  });
  const state = { "mcp-session-id": asked.requestState };
  expect((await theirs("ping", {}, { headers: state })).status).toBe(404);
});

test("a session is known in every process and after a restart [§12.2.1]", async () => {
  const { id } = await openSession(app.url, agent.secret);
  const second = await startTestApp({ database_url });
  const there = oldEra(second.url, agent.secret);
  expect((await there("ping", {}, { headers: { "mcp-session-id": id } })).status).toBe(200);
});

test("every MCP notification is answered 202 [§12.1.4]", async () => {
  const { rpc } = await openSession(app.url, agent.secret);
  for (const method of ["notifications/initialized", "notifications/cancelled", "nope"]) {
    const note = JSON.stringify({ jsonrpc: "2.0", method, params: { requestId: 1 } });
    const answer = await post(app.url, agent.secret, note);
    expect([answer.status, answer.text]).toEqual([202, ""]);
    const headers = { "mcp-protocol-version": NEW_ERA, "mcp-method": method };
    expect((await post(app.url, agent.secret, note, { headers })).status).toBe(202);
  }
  expect((await rpc("ping")).status).toBe(200);
});

test("an MCP request of a deleted key is refused at once [§4.1.5]", async () => {
  const { person, agent } = await createPair(app.url);
  const { rpc } = await openSession(app.url, agent.secret);
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  expectProblem(await rpc("tools/list"), "unauthorized");
  expectProblem(await newEra(app.url, agent.secret)("tools/list"), "unauthorized");
});
