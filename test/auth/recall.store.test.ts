/** Requests that read while their credential is looked up: round trips to a libSQL server, and no effect before it is known. */

import { expect, test } from "bun:test";
import { RATES } from "../../src/limits.ts";
import { startTestApp } from "../support/app.ts";
import { ask, client, createAgent, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { entriesOf } from "../support/entries.ts";
import { connectClient, refresh } from "../support/oauth.ts";
import { startPipelineProxy } from "../support/pipeline-proxy.ts";
import { createTestStore, STORE_KIND } from "../support/store.ts";
import { until } from "../support/until.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const server = test.if(STORE_KIND === "server");

async function setUp() {
  const { url } = await createTestStore();
  const proxy = startPipelineProxy(url);
  const app = await startTestApp({ database_url: STORE_KIND === "server" ? proxy.url : url });
  const peer = await startTestApp({ database_url: url });
  const { person, agent } = await createPair(app.url);
  const task = await createTask(agent.send);
  const question = await ask(agent.send);
  return { proxy, app, peer, person, agent, task, question };
}

server("a row and its credential take one round trip once the credential is known", async () => {
  const { proxy, agent, person, task, question } = await setUp();
  for (const path of [`/v1/tasks/${task.id}`, `/v1/questions/${question.id}`] as const) {
    for (const { send } of [agent, person]) {
      // The process may read by itself in between: then this is checked again.
      await until(async () => {
        proxy.requests.length = 0;
        expect((await send(`GET ${path}`)).status).toBe(200);
        return proxy.requests.length === 1 && proxy.requests[0]!.steps === 2;
      });
    }
  }
});

server("a credential that ended is 401, whatever was read together with it", async () => {
  const { app, peer, person, agent, task } = await setUp();
  const path = `/v1/tasks/${task.id}` as const;
  expect((await agent.send(`GET ${path}`)).status).toBe(200);
  expect((await person.send(`GET ${path}`)).status).toBe(200);
  // The task stays, so that it could be read.
  const token = `mca_${"n".repeat(43)}`;
  const replace = client(peer.url, person.token);
  expect((await replace("POST /v1/account/token", { token })).status).toBe(200);
  expectProblem(await exchange(app.url, "GET", path, { credential: person.token }), "unauthorized");
  expect((await client(app.url, token)(`GET ${path}`)).status).toBe(200);
  expect((await client(peer.url, token)(`DELETE /v1/keys/${agent.key.id}`)).status).toBe(204);
  for (const at of [path, "/v1/tasks/none"]) {
    const answer = await exchange(app.url, "GET", at, { credential: agent.secret });
    expectProblem(answer, "unauthorized");
  }
});

test("a credential that ended changes nothing, whatever its request reads first", async () => {
  const { app, peer, person } = await setUp();
  const others = client(peer.url, person.token);
  /** What requests of a key can change. */
  const stateOf = async (key_id: string) => {
    const paths = [
      `/v1/tasks?key_id=${key_id}`,
      `/v1/questions?key_id=${key_id}&status=pending&status=answered`,
      `/v1/keys/${key_id}/inbox`,
    ] as const;
    return Promise.all(paths.map(async (path) => (await others(`GET ${path}`)).body));
  };
  const call = (name: string, given: object) => ({
    ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
    params: { name, arguments: given },
  });
  /** Asked and answered before: the agent receives the answer when it asks again (§5.9.6). */
  const asked = { prompt: "Received?", request_id: "asked" };
  const headers = { "idempotency-key": "again", accept: "application/json, text/event-stream" };
  const requests: ((task_id: string) => readonly [`${string} /${string}`, object?])[] = [
    (id) => [`PATCH /v1/tasks/${id}`, { status: "done" }],
    (id) => [`GET /v1/tasks/${id}`],
    () => ["GET /v1/tasks"],
    () => ["POST /v1/tasks", { title: "Another" }],
    () => ["POST /v1/questions", { prompt: "Another?" }],
    () => ["POST /v1/questions", asked],
    () => ["GET /v1/inbox"],
    (id) => ["POST /mcp", call("update_task", { task_id: id, status: "done" })],
    (id) => ["POST /mcp", call("get_task", { task_id: id })],
    () => ["POST /mcp", call("ask_question", asked)],
    () => ["POST /mcp", call("read_inbox", {})],
  ];
  const attempt = async (request: (typeof requests)[number]) => {
    const { key, secret, send } = await createAgent(app.url, person);
    const key_id = key.id;
    const { id } = (await person.send("POST /v1/tasks", { title: "Unseen", key_id })).body;
    const question = (await send("POST /v1/questions", asked, { headers })).body;
    await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
    // This process remembers the secret, which ends in another one.
    expect((await send("GET /v1/agents")).status).toBe(200);
    expect((await others(`POST /v1/keys/${key_id}/secret`, {})).status).toBe(200);
    const before = await stateOf(key_id);
    const [line, body] = request(id);
    const answer = await client(app.url, secret)(line, body, { headers });
    expect([line, answer.status, answer.body.code]).toEqual([line, 401, "unauthorized"]);
    expect([line, ...(await stateOf(key_id))]).toEqual([line, ...before]);
  };
  await Promise.all(requests.map(attempt));
});

test("a request by a secret that ended is not logged or charged to its key, however it fails [§4.1.5] [§15.1.2]", async () => {
  const clock = createTestClock();
  const { url } = await createTestStore();
  const app = await startTestApp({ clock, database_url: url, env: { RATE_LIMITS: "on" } });
  const peer = await startTestApp({ clock, database_url: url });
  const { person, agent } = await createPair(app.url);
  const others = client(peer.url, person.token);
  const task = await createTask(agent.send);
  const requests = [
    [`PATCH /v1/tasks/${task.id}`, { status: "unknown" }],
    [`PATCH /v1/tasks/${task.id}`, { status: "done" }],
    ["POST /v1/questions", { prompt: 1 }],
    ["GET /v1/tasks?limit=0"],
    ["GET /v1/account"],
    ["POST /mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "get_task" } }],
  ] as const;
  let { secret } = agent;
  for (const [line, body] of requests) {
    const ended = client(app.url, secret);
    expect((await ended("GET /v1/agents")).status).toBe(200);
    secret = (await others(`POST /v1/keys/${agent.key.id}/secret`, {})).body.secret;
    const answer = await ended(line, body, { headers: { accept: "application/json" } });
    expect([line, answer.status]).toEqual([line, 401]);
  }
  const send = client(app.url, secret);
  const { headers } = await send("GET /v1/agents");
  const valid = 2 + requests.length;
  expect(headers.get("ratelimit")).toStartWith(`"key";r=${RATES.key.quota - valid};`);
  const entries = await entriesOf(clock, person, { send, key: agent.key });
  expect(entries.map(({ code }) => code)).toEqual(Array(valid).fill(null));

  const { tokens, send: expired } = await connectClient(app.url, person);
  expect((await expired("GET /v1/agents")).status).toBe(200);
  await clock.skip(tokens.expires_in);
  expect((await expired("GET /v1/agents")).status).toBe(401);
  const { body: renewed } = await refresh(app.url, tokens.refresh_token);
  const answer = await client(app.url, renewed.access_token)("GET /v1/agents");
  expect(answer.headers.get("ratelimit")).toStartWith(`"key";r=${RATES.key.quota - 1};`);
});

test("an answer by a sign-in that ended is refused, and the question stays open", async () => {
  const { app, peer, person, agent } = await setUp();
  const { id } = await ask(agent.send);
  expect((await person.send("GET /v1/account")).status).toBe(200);
  const token = `mca_${"m".repeat(43)}`;
  await client(peer.url, person.token)("POST /v1/account/token", { token });
  const path = `/v1/questions/${id}/answer`;
  const answer = await exchange(app.url, "POST", path, {
    ...{ credential: person.token, body: JSON.stringify({ answer: "Yes" }) },
  });
  expectProblem(answer, "unauthorized");
  expect((await agent.send(`GET /v1/questions/${id}`)).body.status).toBe("pending");
});

test("the host of each request is recorded, also after one that another request has replaced", async () => {
  const clock = createTestClock();
  const app = await startTestApp({ clock });
  const { person, agent } = await createPair(app.url);
  for (const host of ["one", "two", "one"]) {
    await clock.advance(2);
    await agent.send("GET /v1/tasks", undefined, { headers: { "x-agent-host": host } });
    const { body } = await person.send("GET /v1/keys");
    expect(body.keys[0].last_host).toBe(host);
  }
});
