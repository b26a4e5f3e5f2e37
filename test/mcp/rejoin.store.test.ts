/** A question whose client left is not asked twice: an identical ask joins it (§12.4.5). */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { p, sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { ClientGone } from "../../src/errors.ts";
import { newQuestion } from "../../src/model/question.ts";
import { createEarlierAsks } from "../../src/services/earlier-asks.ts";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair, createTask } from "../support/client.ts";
import { createTestClock, whileMoving } from "../support/clock.ts";
import { CLIENT, callTool, newEra, oldEra, openSession, post, type Rpc } from "../support/mcp.ts";
import { rejectionOf } from "../support/rejection.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
const there = await startTestApp({ clock, database_url });
const APPS = [app, there];
const waiting = () => APPS.reduce((sum, { waits }) => sum + waits.count(), 0);
const asleep = (count: number) => until(() => waiting() === count);

const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
const marks = statement(
  sql`select 1 from questions where key_id = ${p("key_id")} and left_at is not null and status = 'pending'`,
  { returns: "rows" },
);

type Pair = Awaited<ReturnType<typeof createPair>>;

const ASK = { prompt: "Deploy?", wait_seconds: 50 };

const pendingOf = async ({ person }: Pick<Pair, "person">): Promise<any[]> =>
  (await person.send("GET /v1/questions")).body.questions;

const isLeft = async (key_id: string) => (await store.read(marks({ key_id }))).length > 0;
/** Resolves once an ask has joined the key's abandoned question: a wait alone may begin before. */
const joined = (key_id: string) => until(async () => !(await isLeft(key_id)));

/** Id of the only pending question. */
const idOf = async (pair: Pick<Pair, "person">): Promise<string> => (await pendingOf(pair))[0].id;

/** Begins a waiting ask over a connection of its own. */
async function begin(pair: Pair, rpc: Rpc, args: object = ASK) {
  const before = (await pendingOf(pair)).length;
  const gone = new AbortController();
  const params = { name: "ask_question", arguments: args };
  const call = rpc("tools/call", params, { signal: gone.signal }).catch(() => null);
  await until(async () => (await pendingOf(pair)).length > before);
  await asleep(1);
  return {
    /** The client leaves, and the store records that it has left a question. */
    async leave({ known = false } = {}) {
      gone.abort();
      await call;
      await asleep(0);
      if (known) return;
      const { id: key_id } = pair.agent.key;
      await until(() => isLeft(key_id));
    },
  };
}

/** Asks without waiting long, and returns the question. */
async function ask(rpc: Rpc, args: object = { ...ASK, wait_seconds: 1 }): Promise<any> {
  return (await whileMoving(clock, callTool(rpc, "ask_question", args))).structuredContent;
}

const ERAS: readonly [string, (url: string, secret: string) => Rpc][] = [
  ["old", oldEra],
  ["new", newEra],
];

for (const [era, open] of ERAS) {
  test(`an identical ask joins a question whose client left, in any process, and gets its answer (${era} era) [§12.4.5]`, async () => {
    const pair = await createPair(app.url);
    const { person, agent } = pair;
    const first = await begin(pair, open(app.url, agent.secret));
    await first.leave();
    const [question] = await pendingOf(pair);
    const again = callTool(open(there.url, agent.secret), "ask_question", ASK);
    await joined(agent.key.id);
    await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
    const { structuredContent } = await whileMoving(clock, again);
    expect(structuredContent).toMatchObject({ id: question.id, answer: "Yes" });
    expect((await person.send("GET /v1/questions?status=answered")).body.questions.length).toBe(1);
  });
}

test("a call that its session cancels counts as left and can be joined again and again [§12.4.5]", async () => {
  const pair = await createPair(app.url);
  const { agent } = pair;
  const { id: session, rpc } = await openSession(app.url, agent.secret);
  const params = { name: "ask_question", arguments: ASK };
  const headers = { "mcp-session-id": session };
  for (let i = 1; i <= 3; i++) {
    const call = rpc("tools/call", params, { id: i });
    await asleep(1);
    await until(async () => (await pendingOf(pair)).length === 1);
    const cancel = { method: "notifications/cancelled", params: { requestId: i } };
    // The next ask follows at once: it must find the question that is just being left.
    await post(app.url, agent.secret, JSON.stringify({ jsonrpc: "2.0", ...cancel }), { headers });
    if (i === 3) await call;
  }
  expect((await pendingOf(pair)).length).toBe(1);
});

test("each of several parallel sessions joins only the questions that it left itself [§12.4.5]", async () => {
  const pair = await createPair(app.url);
  const { agent, person } = pair;
  const { id: session, rpc: a } = await openSession(app.url, agent.secret);
  const { rpc: b } = await openSession(there.url, agent.secret);
  await clock.advance(1);
  await (await begin(pair, a)).leave();
  const left = await idOf(pair);
  const others = [b, oldEra(app.url, agent.secret), newEra(there.url, agent.secret)];
  for (const rpc of others) expect((await ask(rpc)).id).not.toBe(left);
  const elsewhere: Rpc = (method, params, options) =>
    oldEra(there.url, agent.secret)(method, params, {
      ...options,
      headers: { "mcp-session-id": session },
    });
  const again = callTool(elsewhere, "ask_question", ASK);
  await joined(agent.key.id);
  await person.send(`POST /v1/questions/${left}/answer`, { answer: "Yes" });
  const { structuredContent } = await whileMoving(clock, again);
  expect(structuredContent).toMatchObject({ id: left, answer: "Yes" });
});

test("a session does not join a question that was left without a session [§12.4.5]", async () => {
  const pair = await createPair(app.url);
  const { agent } = pair;
  await (await begin(pair, newEra(app.url, agent.secret))).leave();
  const left = await idOf(pair);
  await clock.advance(1);
  expect((await ask((await openSession(app.url, agent.secret)).rpc)).id).not.toBe(left);
  expect((await ask(newEra(there.url, agent.secret))).id).toBe(left);
});

test("a session that began after a question was left continues for the session that left it [§12.4.5]", async () => {
  const pair = await createPair(app.url);
  const { agent } = pair;
  const a = (await openSession(app.url, agent.secret)).rpc;
  await (await begin(pair, a)).leave();
  const left = await idOf(pair);
  await clock.advance(1);
  const next = (await openSession(there.url, agent.secret)).rpc;
  await clock.advance(1);
  const call = callTool(next, "ask_question", ASK);
  await joined(agent.key.id);
  // From now on the question belongs to that session.
  expect((await ask(a)).id).not.toBe(left);
  expect((await pendingOf(pair)).map(({ id }) => id)).toContain(left);
  await pair.person.send(`POST /v1/questions/${left}/answer`, { answer: "No" });
  expect((await whileMoving(clock, call)).structuredContent).toMatchObject({ id: left });
});

test("a question that is just being left is found even if reads do not show it yet, as on a libSQL server [§12.4.5]", async () => {
  const pair = await createPair(app.url);
  const { id: key_id } = pair.agent.key;
  const call = await begin(pair, newEra(app.url, pair.agent.secret));
  const id = await idOf(pair);
  const late = { ...store, read: async () => [] };
  const asks = createEarlierAsks({ store: late, clock });
  const asked = {
    ...newQuestion({ prompt: ASK.prompt }, { id: "", key_id, now: clock.now() }),
    ...{ asked_in: null, began_at: null, hidden: true, asking_until: null },
  };
  const join = async () =>
    asks.join({ ...asked, since: await asks.joinsSince(key_id), now: clock.now() });
  expect(await join()).toBeUndefined();
  const client = new AbortController();
  const creation = Promise.withResolvers<void>();
  const leaving = asks.whileAsking(key_id, client.signal, async () => {
    await creation.promise;
    return asks.untilLeft({ id, key_id }, () => Promise.reject(new ClientGone()));
  });
  // Its client leaves before the call has begun to wait, and asks again immediately.
  client.abort();
  const again = join();
  creation.resolve();
  expect(await rejectionOf(leaving)).toBeInstanceOf(ClientGone);
  expect(await again).toBe(id);
  await call.leave({ known: true });
});

test("of two concurrent identical asks, one joins and the other asks [§12.4.5]", async () => {
  const pair = await createPair(app.url);
  const { person, agent } = pair;
  const first = await begin(pair, newEra(app.url, agent.secret));
  await first.leave();
  const calls = APPS.flatMap(({ url }) => [
    callTool(newEra(url, agent.secret), "ask_question", ASK),
    callTool(oldEra(url, agent.secret), "ask_question", ASK),
  ]);
  await asleep(4);
  await until(async () => (await pendingOf(pair)).length === 4);
  for (const { id } of await pendingOf(pair)) {
    await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  }
  const ids = (await whileMoving(clock, Promise.all(calls))).map(
    ({ structuredContent }) => structuredContent.id,
  );
  expect(new Set(ids).size).toBe(4);
});

test("only an ask with the same content and key joins, and only within 2 minutes [§12.4.5] [§10.4 left_ask]", async () => {
  const pair = await createPair(app.url);
  const { person, agent } = pair;
  const task = await createTask(agent.send);
  const other = await createAgent(app.url, person, "other");
  const choice = { ...ASK, kind: "choice", options: ["a", "b"] };
  await (await begin(pair, newEra(app.url, agent.secret), choice)).leave();
  const [left] = await pendingOf(pair);
  const rpc = newEra(app.url, agent.secret);
  const others: [Rpc, object][] = [
    [newEra(app.url, other.secret), choice],
    [rpc, { ...choice, prompt: "Deploy!" }],
    [rpc, { ...choice, options: ["b", "a"] }],
    [rpc, { ...ASK, kind: "text" }],
    [rpc, { ...choice, task_id: task.id }],
    [rpc, { ...choice, expires_in: 60 }],
    [rpc, { ...choice, url: "https://example.com/" }],
    [rpc, { ...choice, allow_other: true }],
    [rpc, { ...choice, fallback: "a" }],
    [rpc, { ...choice, context: "c" }],
    [rpc, { ...choice, request_id: "named" }],
  ];
  for (const [from, args] of others) {
    const asked = await callTool(from, "ask_question", { ...args, wait_seconds: 0 });
    expect([args, asked.structuredContent.id === left.id]).toEqual([args, false]);
  }
  // REST joins by request_id alone.
  const { wait_seconds: _, ...body } = choice;
  expect((await agent.send("POST /v1/questions", body)).body.id).not.toBe(left.id);
  await clock.advance(120);
  const late = await callTool(rpc, "ask_question", { ...choice, wait_seconds: 0 });
  expect(late.structuredContent.id).not.toBe(left.id);
});

test("a question whose id was handed out is not joined, whether by an ask, a list or a resource [§12.4.5]", async () => {
  const list = (rpc: Rpc) => callTool(rpc, "list_questions");
  const show: [string, (rpc: Rpc, pair: Pair) => Promise<unknown>][] = [
    ["tool", list],
    ["resource", (rpc) => rpc("resources/read", { uri: "relay://questions" })],
    ["REST", (_, { agent }) => agent.send("GET /v1/questions")],
    ["one by REST", async (_, pair) => pair.agent.send(`GET /v1/questions/${await idOf(pair)}`)],
    [
      "one by its tool",
      async (rpc, pair) => callTool(rpc, "get_question", { question_id: await idOf(pair) }),
    ],
    [
      "one by its resource",
      async (rpc, pair) => rpc("resources/read", { uri: `relay://questions/${await idOf(pair)}` }),
    ],
  ];
  for (const [name, seen] of show) {
    for (const when of ["while it waits", "after it was left"]) {
      const pair = await createPair(app.url);
      const rpc = newEra(app.url, pair.agent.secret);
      const first = await begin(pair, rpc);
      if (when === "while it waits") await seen(rpc, pair);
      await first.leave({ known: when === "while it waits" });
      if (when !== "while it waits") await seen(rpc, pair);
      const [question] = await pendingOf(pair);
      const again = await ask(rpc);
      expect([name, when, again.id === question.id]).toEqual([name, when, false]);
    }
  }
  // A question returned as pending, with or without a wait, is known to the agent.
  const pair = await createPair(app.url);
  const rpc = newEra(app.url, pair.agent.secret);
  const known = [
    await ask(rpc),
    (await callTool(rpc, "ask_question", { prompt: "Deploy?" })).structuredContent,
  ];
  const again = await ask(rpc);
  expect(known.map(({ id }) => id)).not.toContain(again.id);
});

test("a HEAD, and a web page of another origin, leave a question for an identical ask to join [§12.4.5]", async () => {
  const foreign = { Origin: "https://other.example" };
  for (const init of [{ method: "HEAD" }, { headers: foreign }]) {
    const pair = await createPair(app.url);
    const rpc = newEra(app.url, pair.agent.secret);
    await (await begin(pair, rpc)).leave();
    const id = await idOf(pair);
    for (const path of ["/v1/questions", `/v1/questions/${id}`]) {
      const headers = { ...init.headers, Authorization: `Bearer ${pair.agent.secret}` };
      expect((await fetch(app.url + path, { ...init, headers })).status).toBe(200);
    }
    expect((await ask(rpc)).id).toBe(id);
  }
});

test("a question that has ended, or whose answer another call got, is not joined [§12.4.5]", async () => {
  for (const end of ["answer", "expire", "join"]) {
    const pair = await createPair(app.url);
    const { person, agent } = pair;
    const rpc = newEra(app.url, agent.secret);
    const args = { ...ASK, expires_in: 60 };
    await (await begin(pair, rpc, args)).leave();
    const [question] = await pendingOf(pair);
    if (end === "answer") {
      await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
    }
    if (end === "expire") await clock.advance(60);
    if (end === "join") expect((await ask(rpc, { ...args, wait_seconds: 1 })).id).toBe(question.id);
    expect([end, (await ask(rpc, { ...args, wait_seconds: 1 })).id === question.id]).toEqual([
      end,
      false,
    ]);
  }
});

test("an ask without a free wait joins nothing, and the next ask with one does [§12.4.5] [§6.5]", async () => {
  const pair = await createPair(app.url);
  const { agent, person } = pair;
  const rpc = newEra(app.url, agent.secret);
  await (await begin(pair, rpc)).leave();
  const [question] = await pendingOf(pair);
  const held = (await agent.send("POST /v1/questions", { prompt: "held" })).body.id;
  const places = Array.from({ length: 32 }, () => agent.send(`GET /v1/questions/${held}?wait=50`));
  await asleep(32);
  expect((await callTool(rpc, "ask_question", ASK)).content[0].text).toStartWith("too_many_waits");
  await person.send(`POST /v1/questions/${held}/answer`, { answer: "Yes" });
  await Promise.all(places);
  expect((await ask(rpc)).id).toBe(question.id);
});

test("a client that leaves during a later round of its ask has left the question [§12.4.5] [§12.4.4]", async () => {
  const pair = await createPair(app.url);
  const rounds = { experimental: { "relay/rounds": {} } };
  const rpc = newEra(app.url, pair.agent.secret, CLIENT, rounds);
  const args = { prompt: "Deploy?", wait_seconds: 5 };
  const first = callTool(rpc, "ask_question", args);
  await asleep(1);
  await clock.advance(5);
  const { requestState } = await first;
  const gone = new AbortController();
  const params = { name: "ask_question", arguments: args, requestState };
  const second = rpc("tools/call", params, { signal: gone.signal }).catch(() => null);
  await asleep(1);
  gone.abort();
  await second;
  const { id: key_id } = pair.agent.key;
  await until(async () => (await store.read(marks({ key_id }))).length > 0);
  const [question] = await pendingOf(pair);
  const again = await ask(newEra(there.url, pair.agent.secret), { ...args, wait_seconds: 1 });
  expect(again.id).toBe(question.id);
});
