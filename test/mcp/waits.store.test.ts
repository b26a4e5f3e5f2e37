/** Waiting over MCP: how a call sleeps, reports progress, continues in rounds and ends. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import {
  advanceUntilEnded,
  callTool,
  newEra,
  oldEra,
  openSession,
  post,
  type Rpc,
} from "../support/mcp.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";
import { expectProblem, MARK } from "../support/wire.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
const asleep = (count: number) => until(() => app.waits.count() === count);

const ERAS: readonly [string, (url: string, secret: string) => Rpc][] = [
  ["old", oldEra],
  ["new", newEra],
];

for (const [era, open] of ERAS) {
  test(`a wait that ends pending says the next call, and that call gets the answer (${era} era) [§6.1] [§6.2]`, async () => {
    const { person, agent } = await createPair(app.url);
    const rpc = open(app.url, agent.secret);
    const { structuredContent: asked } = await callTool(rpc, "ask_question", { prompt: "?" });
    const given = { question_id: asked.id, wait_seconds: 50 };
    const first = callTool(rpc, "get_question", given);
    await advanceUntilEnded(app, clock, 50);
    const { structuredContent, content } = await first;
    expect(structuredContent.status).toBe("pending");
    const [, name, args] = /call (\w+) with (\{.*\})\.$/.exec(content[1].text)!;
    expect([name, JSON.parse(args!)]).toEqual(["get_question", given]);
    const second = callTool(rpc, name!, JSON.parse(args!));
    await asleep(1);
    await person.send(`POST /v1/questions/${asked.id}/answer`, { answer: "Yes" });
    const answered = await second;
    expect(answered.structuredContent.answer).toBe("Yes");
    expect(answered.content.slice(1).map(({ text }: any) => text)).toEqual([
      "Act on this answer once: read_inbox returns it again.",
    ]);
  });

  test(`a client that accepts a stream gets a sign of life every 3 seconds, as progress if it asked for that (${era} era) [§12.4.2] [§10.4 sign_of_life]`, async () => {
    const { person, agent } = await createPair(app.url);
    const rpc = open(app.url, agent.secret);
    const { structuredContent: asked } = await callTool(rpc, "ask_question", { prompt: "?" });
    const params = { name: "get_question", arguments: { question_id: asked.id, wait_seconds: 50 } };
    const wait = (more: object, headers = {}) =>
      rpc("tools/call", { ...params, ...more }, { headers });
    const token = { _meta: { progressToken: MARK } };
    const calls = [wait(token), wait({})];
    if (era === "old") calls.push(wait(token, { accept: "application/json" }));
    await asleep(calls.length);
    for (let i = 0; i < 3; i++) await clock.advance(3);
    await person.send(`POST /v1/questions/${asked.id}/answer`, { answer: "Yes" });
    const [told, commented, ...quiet] = await Promise.all(calls);
    for (const { headers } of [told!, commented!]) {
      expect(headers.get("content-type")).toBe("text/event-stream");
    }
    expect(commented!.text).toStartWith(`${": ping\n\n".repeat(3)}event: message\ndata: {`);
    expect(told!.notes.map(({ params }) => params)).toEqual(
      [3, 6, 9].map((progress) => ({
        progressToken: MARK,
        progress,
        total: 50,
        message: "Waiting",
      })),
    );
    for (const { headers } of quiet) {
      expect(headers.get("content-type")).toStartWith("application/json");
    }
    for (const { body } of [told!, commented!, ...quiet]) {
      expect(body.result.structuredContent.answer).toBe("Yes");
    }
  });

  test(`a wait that is over within 3 seconds is answered by JSON (${era} era) [§12.1.5]`, async () => {
    const { agent } = await createPair(app.url);
    const args = { prompt: "?", wait_seconds: 2 };
    const call = open(app.url, agent.secret)("tools/call", {
      name: "ask_question",
      arguments: args,
    });
    await asleep(1);
    await clock.advance(2);
    expect((await call).headers.get("content-type")).toStartWith("application/json");
  });

  test(`a client that leaves a stream of comments frees its place (${era} era) [§6.6]`, async () => {
    const { agent } = await createPair(app.url);
    const gone = new AbortController();
    const params = { name: "read_inbox", arguments: { wait_seconds: 50 } };
    const call = open(app.url, agent.secret)("tools/call", params, { signal: gone.signal });
    await asleep(1);
    await clock.advance(4);
    gone.abort();
    await call.catch(() => {});
    await until(() => app.waits.owners() === 0);
  });

  test(`calls that ended with an answer report no more progress (${era} era)`, async () => {
    const { person, agent } = await createPair(app.url);
    const rpc = open(app.url, agent.secret);
    const { structuredContent: asked } = await callTool(rpc, "ask_question", { prompt: "?" });
    const args = { question_id: asked.id, wait_seconds: 50 };
    const params = { name: "get_question", arguments: args, _meta: { progressToken: MARK } };
    const calls = Array.from({ length: 30 }, () => rpc("tools/call", params));
    await asleep(30);
    await clock.advance(10);
    // Those that ran have set their timers again.
    await app.jobs.settled();
    const waiting = clock.pending();
    await person.send(`POST /v1/questions/${asked.id}/answer`, { answer: "Yes" });
    await Promise.all(calls);
    // Each had two timers: its end and its progress. Other parts may have set a few meanwhile.
    await until(() => clock.pending() <= waiting - 50);
  });

  test(`32 calls wait at once, REST's included; the next is too_many_waits (${era} era) [§6.5] [§10.2 waits]`, async () => {
    const { person, agent } = await createPair(app.url);
    const rpc = open(app.url, agent.secret);
    const { structuredContent: asked } = await callTool(rpc, "ask_question", { prompt: "?" });
    const given = { question_id: asked.id, wait_seconds: 50 };
    const held = Array.from({ length: 31 }, () => callTool(rpc, "get_question", given));
    const rest = agent.send(`GET /v1/questions/${asked.id}?wait=50`);
    await asleep(32);
    const full = await callTool(rpc, "get_question", given);
    expect([full.isError, full.content[0].text]).toEqual([
      true,
      "too_many_waits: Too many requests are waiting.\nTry again in 1 s.",
    ]);
    const over = await callTool(rpc, "ask_question", { prompt: "?", wait_seconds: 1 });
    expect(over.isError).toBe(true);
    expect((await person.send("GET /v1/questions")).body.questions.length).toBe(1);
    await person.send(`POST /v1/questions/${asked.id}/answer`, { answer: "Yes" });
    for (const { structuredContent } of await Promise.all(held)) {
      expect(structuredContent.status).toBe("answered");
    }
    expect((await rest).body.status).toBe("answered");
    expect(app.waits.owners()).toBe(0);
  });

  test(`a deleted key ends its waiting calls with 401 (${era} era) [§4.1.5]`, async () => {
    const { person, agent } = await createPair(app.url);
    const rpc = open(app.url, agent.secret);
    const args = { prompt: "?", wait_seconds: 50 };
    const wait = rpc("tools/call", { name: "ask_question", arguments: args });
    await asleep(1);
    await person.send(`DELETE /v1/keys/${agent.key.id}`);
    expectProblem(await wait, "unauthorized");
  });

  test(`200 waiting calls whose clients leave leave nothing behind (${era} era) [§6.5]`, async () => {
    const { person } = await createPair(app.url);
    const gone = new AbortController();
    const calls: Promise<unknown>[] = [];
    const before = clock.pending();
    for (let i = 0; i < 10; i++) {
      const { secret } = await createAgent(app.url, person);
      const rpc = open(app.url, secret);
      for (let j = 0; j < 20; j++) {
        const args = { prompt: "?", wait_seconds: 50 };
        const more = j % 2 === 0 ? {} : { _meta: { progressToken: 1 } };
        const params = { name: "ask_question", arguments: args, ...more };
        calls.push(rpc("tools/call", params, { signal: gone.signal }).catch(() => {}));
      }
    }
    await asleep(200);
    await clock.advance(10);
    gone.abort();
    await Promise.all(calls);
    await asleep(0);
    await clock.advance(1);
    await until(() => clock.pending() <= before);
  });
}

test("wait_seconds is the time until a pending question is returned, in both eras [§12.4.1]", async () => {
  for (const [, open] of ERAS) {
    const { agent } = await createPair(app.url);
    const rpc = open(app.url, agent.secret);
    const asked = callTool(rpc, "ask_question", { prompt: "?", wait_seconds: 2 });
    await advanceUntilEnded(app, clock, 2);
    const { structuredContent, isError, resultType } = await asked;
    expect([structuredContent.status, isError]).toEqual(["pending", undefined]);
    expect(resultType ?? "complete").toBe("complete");
  }
});

test("the result of an ended question says what to make of it [§12.3.5]", async () => {
  const { person, agent } = await createPair(app.url);
  const rpc = newEra(app.url, agent.secret);
  const read = async (question_id: string) => {
    const { structuredContent, content } = await callTool(rpc, "get_question", { question_id });
    return [structuredContent.status, ...content.slice(1).map(({ text }: any) => text)];
  };
  const ask = async () =>
    (await callTool(rpc, "ask_question", { prompt: "?", expires_in: 60 })).structuredContent.id;
  const [answered, cancelled, expired] = [await ask(), await ask(), await ask()];
  await person.send(`POST /v1/questions/${answered}/answer`, { answer: "Yes" });
  await callTool(rpc, "cancel_question", { question_id: cancelled });
  await clock.advance(60);
  expect(await read(answered)).toEqual([
    "answered",
    "Act on this answer once: read_inbox returns it again.",
  ]);
  expect(await read(cancelled)).toEqual([
    "cancelled",
    "The question was withdrawn. Do not act on it.",
  ]);
  expect(await read(expired)).toEqual([
    "expired",
    "Nobody answered in time, which is not a yes. Take the safe course or ask again.",
  ]);
  // The answer is in the inbox, and the result says so.
  const { structuredContent, content } = await callTool(rpc, "read_inbox");
  expect(structuredContent.items.map(({ question_id }: any) => question_id)).toEqual([answered]);
  expect(content.at(-1).text).toBe(
    "Act on each answer once: a call that waited may have returned it before.",
  );
});

test("cancelling a request of a session ends only that request's wait", async () => {
  const { agent } = await createPair(app.url);
  const [one, two] = [
    await openSession(app.url, agent.secret),
    await openSession(app.url, agent.secret),
  ];
  const params = { name: "ask_question", arguments: { prompt: "?", wait_seconds: 50 } };
  const calls = [one, two].map(({ rpc }) => rpc("tools/call", params, { id: 7 }));
  await asleep(2);
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } };
  const headers = { "mcp-session-id": one.id };
  expect((await post(app.url, agent.secret, JSON.stringify(cancel), { headers })).status).toBe(202);
  await asleep(1);
  const cancelled = await calls[0]!;
  expect([cancelled.status, cancelled.text]).toEqual([202, ""]);
  await advanceUntilEnded(app, clock, 50);
  expect((await calls[1]!).body.result.structuredContent.status).toBe("pending");
});

test("at a stop, a waiting call ends with the question as it is, in both eras", async () => {
  const stopping = await startTestApp({ clock });
  const { agent } = await createPair(stopping.url);
  const args = { prompt: "?", wait_seconds: 50 };
  const calls = ERAS.map(([, open]) =>
    callTool(open(stopping.url, agent.secret), "ask_question", args),
  );
  await until(() => stopping.waits.count() === 2);
  await stopping.stop();
  for (const { structuredContent } of await Promise.all(calls)) {
    expect(structuredContent.status).toBe("pending");
  }
});

test("log lines contain no secret, title, prompt, answer or client name", async () => {
  const quiet = await startTestApp({ clock });
  const { person, agent } = await createPair(quiet.url);
  const { rpc: session, id } = await openSession(quiet.url, agent.secret, {
    name: MARK,
    version: MARK,
  });
  for (const rpc of [session, newEra(quiet.url, agent.secret, { name: MARK, version: MARK })]) {
    const { structuredContent: task } = await callTool(rpc, "create_task", { title: MARK });
    await callTool(rpc, "update_task", { task_id: task.id, status_note: MARK });
    await callTool(rpc, "create_task", { title: "", [MARK]: MARK });
    const asked = { prompt: MARK, kind: "text" };
    const { structuredContent: question } = await callTool(rpc, "ask_question", asked);
    await person.send(`POST /v1/questions/${question.id}/answer`, { answer: MARK });
    await callTool(rpc, "get_question", { question_id: question.id });
    await rpc("tools/call", { name: MARK });
    await rpc(MARK, { [MARK]: MARK });
    await rpc("resources/read", { uri: MARK });
    await post(quiet.url, agent.secret, `{"${MARK}`);
    await rpc("ping", {}, { headers: { "mcp-session-id": MARK } });
  }
  const log = quiet.lines.join("");
  expect(log).toContain("POST /mcp");
  for (const text of [MARK, agent.secret, person.token, id]) expect(log).not.toContain(text);
  for (const line of quiet.lines) expect(line).not.toContain('"level":"error"');
});
