/** Rounds of a wait: a client with this capability repeats an unanswered ask_question by itself. */

import { expect, test } from "bun:test";
import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { startTestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import {
  advanceUntilEnded,
  CLIENT,
  callTool,
  newEra,
  oldEra,
  openSession,
  type Rpc,
} from "../support/mcp.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";
import { MARK } from "../support/wire.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });

/** What a client says that repeats calls by itself. */
const ROUNDS = { experimental: { "relay/rounds": {} } };

async function openClient(secret: string) {
  const options = {
    capabilities: ROUNDS,
    versionNegotiation: { mode: { pin: "2026-07-28" } },
  } as const;
  const client = new Client(CLIENT, options);
  const headers = { authorization: `Bearer ${secret}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${app.url}/mcp`), { requestInit: { headers } }),
  );
  return client;
}

test("a client without the capability, or with it in another form, gets no rounds [§12.4.4]", async () => {
  const others = [
    {},
    { experimental: {} },
    { experimental: { rounds: {} } },
    { "relay/rounds": {} },
    { extensions: { "relay/rounds": {} } },
  ];
  for (const capabilities of others) {
    const { agent } = await createPair(app.url);
    const rpc = newEra(app.url, agent.secret, CLIENT, capabilities);
    const asked = callTool(rpc, "ask_question", { prompt: "?", wait_seconds: 5 });
    await advanceUntilEnded(app, clock, 5);
    const { structuredContent, requestState } = await asked;
    expect([structuredContent.status, requestState]).toEqual(["pending", undefined]);
  }
});

test("a round continues only with a state signed for this key and tool, and with its own question", async () => {
  const { person, agent } = await createPair(app.url);
  const rpc = newEra(app.url, agent.secret, CLIENT, ROUNDS);
  const args = { prompt: "?", wait_seconds: 5 };
  const first = callTool(rpc, "ask_question", args);
  await advanceUntilEnded(app, clock, 5);
  const { requestState, resultType } = await first;
  expect(resultType).toBe("input_required");
  const [payload, mark] = requestState.split(".");
  const round = JSON.parse(Buffer.from(payload, "base64url").toString());
  const forged = Buffer.from(JSON.stringify({ ...round, round: -100 })).toString("base64url");
  const { agent: stranger } = await createPair(app.url);
  const refused = async (from: Rpc, name: string, state: unknown) => {
    const { body } = await from("tools/call", { name, arguments: args, requestState: state });
    expect([name, state, body.error?.code]).toEqual([name, state, -32602]);
    expect(body.error.data.fields).toHaveProperty("requestState");
  };
  for (const state of ["", "x", MARK, `${forged}.${mark}`, payload, `${payload}.`]) {
    await refused(rpc, "ask_question", state);
  }
  await refused(newEra(app.url, stranger.secret, CLIENT, ROUNDS), "ask_question", requestState);
  await refused(rpc, "get_question", requestState);
  await refused(rpc, "list_tasks", requestState);
  const { id } = await openSession(app.url, agent.secret);
  await refused(rpc, "ask_question", id);
  const changed = { ...args, prompt: "another" };
  expect(
    (await rpc("tools/call", { name: "ask_question", arguments: changed, requestState })).body,
  ).toMatchObject({
    error: { code: -32602, data: { fields: { requestState: expect.any(String) } } },
  });
  // None of these asked anything, and neither does the valid one.
  const { body } = await person.send("GET /v1/questions");
  expect(body.questions.length).toBe(1);
  await person.send(`POST /v1/questions/${body.questions[0].id}/answer`, { answer: "Yes" });
  const same = Object.fromEntries(Object.entries(args).reverse());
  const result = await callTool(rpc, "ask_question", same, { requestState });
  expect(result.structuredContent).toMatchObject({ prompt: "?", answer: "Yes" });
  // The old era has no rounds.
  const old = callTool(oldEra(app.url, agent.secret), "ask_question", args, { requestState: "x" });
  await advanceUntilEnded(app, clock, 5);
  expect((await old).structuredContent.status).toBe("pending");
});

test("rounds continue in any process of the same store", async () => {
  const { person, agent } = await createPair(app.url);
  const args = { prompt: "?", wait_seconds: 5 };
  const first = callTool(newEra(app.url, agent.secret, CLIENT, ROUNDS), "ask_question", args);
  await advanceUntilEnded(app, clock, 5);
  const { requestState } = await first;
  const { body } = await person.send("GET /v1/questions");
  await person.send(`POST /v1/questions/${body.questions[0].id}/answer`, { answer: "Yes" });
  const there = await startTestApp({ clock, database_url });
  const rpc = newEra(there.url, agent.secret, CLIENT, ROUNDS);
  const result = await callTool(rpc, "ask_question", args, { requestState });
  expect(result.structuredContent.answer).toBe("Yes");
});

test("one ask_question waits over several rounds without a turn of the model [§12.4.4]", async () => {
  const { person, agent } = await createPair(app.url);
  const client = await openClient(agent.secret);
  const asked = client.callTool({
    name: "ask_question",
    arguments: { prompt: "?", wait_seconds: 50 },
  }) as Promise<CallToolResult>;
  for (let round = 0; round < 3; round++) await advanceUntilEnded(app, clock, 50);
  await until(() => app.waits.count() === 1);
  const { body } = await person.send("GET /v1/questions");
  expect(body.questions.length).toBe(1);
  await person.send(`POST /v1/questions/${body.questions[0].id}/answer`, { answer: "No" });
  expect((await asked).structuredContent).toMatchObject({ answer: "No" });
  await client.close();
});

test("after 8 rounds the call ends pending and says the next step in words", async () => {
  const { agent } = await createPair(app.url);
  const client = await openClient(agent.secret);
  const asked = client.callTool({
    name: "ask_question",
    arguments: { prompt: "?", wait_seconds: 1 },
  }) as Promise<CallToolResult>;
  for (let round = 0; round < 8; round++) await advanceUntilEnded(app, clock, 1);
  const { structuredContent, content } = await asked;
  const { id, status } = structuredContent as any;
  expect(status).toBe("pending");
  expect((content[1] as any).text).toBe(
    `No answer yet. To keep waiting, call get_question with {"question_id":"${id}","wait_seconds":50}.`,
  );
  await client.close();
});
