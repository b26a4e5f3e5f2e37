/** An identical ask joins a call that still waits: its client may have given up without a word (§12.4.6). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";
import { createTestClock, whileMoving } from "../support/clock.ts";
import { oldEra, openSession } from "../support/mcp.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
const there = await startTestApp({ clock, database_url });
const APPS = [app, there];
const waiting = () => APPS.reduce((sum, { waits }) => sum + waits.count(), 0);
const asleep = (count: number) => until(() => waiting() === count);

type Pair = Awaited<ReturnType<typeof createPair>>;

const ASK = { prompt: "Deploy?", wait_seconds: 50 };

const pendingOf = async ({ person }: Pair): Promise<any[]> =>
  (await person.send("GET /v1/questions")).body.questions;

/** Begins an ask in a session, from any process, and returns its answer and what ends it. */
function askIn(url: string, pair: Pair, session: string | null, args: object = ASK, headers = {}) {
  const gone = new AbortController();
  const params = { name: "ask_question", arguments: args };
  const in_session = session === null ? {} : { "mcp-session-id": session };
  const options = { signal: gone.signal, headers: { ...in_session, ...headers } };
  const answer = oldEra(url, pair.agent.secret)("tools/call", params, options);
  return { answer: answer.then(({ body }) => body.result.structuredContent), gone };
}

const answerOnly = async (pair: Pair) => {
  const pending = await pendingOf(pair);
  expect(pending.length).toBe(1);
  const { id } = pending[0];
  await pair.person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  return id;
};

const silent = { accept: "application/json" };
for (const [kind, in_session, headers] of [
  ["of one session", true, {}],
  ["without a session or a stream", false, silent],
] as const) {
  test(`an identical ask ${kind} joins a call that still waits, in any process, and all get the answer [§12.4.6]`, async () => {
    const pair = await createPair(app.url);
    const session = in_session ? (await openSession(app.url, pair.agent.secret)).id : null;
    // The first two arrive at once.
    const calls = APPS.flatMap(({ url }) => [
      askIn(url, pair, session, ASK, headers),
      askIn(url, pair, session, ASK, headers),
    ]);
    await asleep(4);
    await clock.advance(20);
    calls.push(askIn(there.url, pair, session, ASK, headers));
    await asleep(5);
    // The wait of the first calls ends, and that of the last goes on.
    await clock.advance(30);
    await asleep(1);
    calls.push(askIn(app.url, pair, session, ASK, headers));
    await asleep(2);
    const id = await answerOnly(pair);
    const results = await whileMoving(clock, Promise.all(calls.map(({ answer }) => answer)));
    expect(results.map(({ id, status }) => [id, status])).toEqual([
      ...Array.from({ length: 4 }, () => [id, "pending"]),
      [id, "answered"],
      [id, "answered"],
    ]);
    // An ask after the answer is a new question, and so is one after a wait that ended.
    const next = askIn(app.url, pair, session, { ...ASK, wait_seconds: 1 }, headers);
    const known = await whileMoving(clock, next.answer);
    expect(known.id).not.toBe(id);
    const last = askIn(app.url, pair, session, { ...ASK, wait_seconds: 0 }, headers);
    expect((await last.answer).id).not.toBe(known.id);
  });
}

test("other sessions, and asks with another content or a request_id, do not join a call that waits [§12.4.6]", async () => {
  const pair = await createPair(app.url);
  const { id: session } = await openSession(app.url, pair.agent.secret);
  const first = askIn(app.url, pair, session);
  await asleep(1);
  await clock.advance(1);
  const later = await openSession(there.url, pair.agent.secret);
  const others = [
    askIn(there.url, pair, later.id),
    askIn(there.url, pair, null),
    askIn(app.url, pair, null),
    askIn(there.url, pair, session, { ...ASK, prompt: "Deploy!" }),
    askIn(there.url, pair, session, { ...ASK, request_id: "mine" }),
  ];
  await asleep(6);
  const pending = await pendingOf(pair);
  expect(pending.length).toBe(6);
  for (const { id } of pending)
    await pair.person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  await whileMoving(clock, Promise.all([first, ...others].map(({ answer }) => answer)));
});

test("the client of a call may vanish while another call waits for its question, and only that session joins it [§12.4.6]", async () => {
  const pair = await createPair(app.url);
  const { id: session } = await openSession(app.url, pair.agent.secret);
  const first = askIn(app.url, pair, session);
  await asleep(1);
  await clock.advance(5);
  const second = askIn(there.url, pair, session);
  await asleep(2);
  first.gone.abort();
  await first.answer.catch(() => {});
  await asleep(1);
  await clock.advance(1);
  const { id: later } = await openSession(app.url, pair.agent.secret);
  const other = askIn(app.url, pair, later, { ...ASK, wait_seconds: 0 });
  const { id: theirs } = await other.answer;
  await pair.agent.send(`DELETE /v1/questions/${theirs}`);
  // Without a wait, the agent gets the id at once: the question is then known to it.
  const known = await askIn(app.url, pair, session, { ...ASK, wait_seconds: 0 }).answer;
  const id = await answerOnly(pair);
  const { id: joined_id } = await whileMoving(clock, second.answer);
  expect([known.id, joined_id]).toEqual([id, id]);
  expect(theirs).not.toBe(id);
});
