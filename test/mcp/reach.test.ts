/** What a tool says about a pending question: how far it got, and how long answers take (§12.3.6). */

import { expect, test } from "bun:test";
import { describeReach, type Reach, reachOf } from "../../src/model/delivery.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { callTool, newEra, oldEra } from "../support/mcp.ts";
import { openStream } from "../support/stream.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

const NOBODY = "Nobody can be reached now: no device, no channel, no open page.";

async function begin(era = newEra) {
  const { person, agent } = await createPair(app.url);
  const rpc = era(app.url, agent.secret);
  const call = async (name: string, args: object) => {
    const { structuredContent, content } = await callTool(rpc, name, args);
    return { ...structuredContent, text: content.at(-1).text as string, texts: content.length };
  };
  return { person, agent, call };
}

for (const [name, era] of Object.entries({ old: oldEra, new: newEra })) {
  test(`a pending question says how far it got, in words and as a field (${name} era) [§12.3.6]`, async () => {
    const { person, call } = await begin(era);
    const asked = await call("ask_question", { prompt: "?" });
    const reach = { state: "none", at: null, reachable: false, typical_answer_seconds: null };
    expect([asked.reach, asked.text, asked.texts]).toEqual([reach, NOBODY, 3]);

    const stream = await openStream(app.url, person.token);
    await clock.advance(0.1);
    await app.openPages.settled();
    const read = () => call("get_question", { question_id: asked.id });
    expect(await read()).toMatchObject({ reach: { reachable: true }, text: "Not sent yet." });
    const receipts = `POST /v1/questions/${asked.id}/receipts` as const;
    await person.send(receipts, { event: "shown" });
    const minute = Math.floor(clock.now() / 60) * 60;
    await clock.skip(60);
    await app.openPages.settled();
    const ago = clock.now() - minute < 90 ? "1 min" : "2 min";
    expect(await read()).toMatchObject({
      reach: { state: "shown", at: minute, reachable: true },
      text: `Seen ${ago} ago.`,
    });
    await person.send(receipts, { event: "opened" });
    expect((await read()).text).toMatch(/^Opened (just now|1 min ago)\.$/);
    await person.send(`POST /v1/questions/${asked.id}/answer`, { answer: "Yes" });
    const answered = await read();
    expect(answered).not.toHaveProperty("reach");
    expect(answered.text).toContain("Act on this answer once");
    stream.close();
  });
}

test("a wait that ends without an answer says how far the question got meanwhile [§12.3.6]", async () => {
  const { person, agent, call } = await begin();
  const waiting = call("ask_question", { prompt: "?", wait_seconds: 30 });
  let pending: { id: string }[] = [];
  while (pending.length === 0) {
    pending = (await agent.send("GET /v1/questions")).body.questions;
  }
  await person.send(`POST /v1/questions/${pending[0]!.id}/receipts`, { event: "shown" });
  await clock.skip(30);
  expect(await waiting).toMatchObject({ status: "pending", reach: { state: "shown" } });
});

test("after 5 answers, a key's tools say how long its questions usually take, by the last 50 [§2.12]", async () => {
  const { person, agent, call } = await begin();
  const other = await begin();
  const answer = async (seconds: number, of = agent, by = person) => {
    const { id } = await ask(of.send);
    await clock.skip(seconds);
    await by.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  };
  const typical = async () =>
    (await call("ask_question", { prompt: "?", expires_in: 60 })).reach.typical_answer_seconds;
  for (const seconds of [10, 1_000, 20, 30]) await answer(seconds);
  await answer(5, other.agent, other.person);
  expect(await typical()).toBeNull();
  await answer(40);
  expect(await typical()).toBe(30);
  for (let i = 0; i < 49; i++) await answer(100);
  expect(await typical()).toBe(100);
  for (let i = 0; i < 26; i++) await answer(7);
  expect(await typical()).toBe(7);
});

test("the sentence names the furthest state and rounds to the largest unit", () => {
  const now = 1_800_000_000;
  const say = (reach: Partial<Reach>) =>
    describeReach(
      { state: "none", at: null, reachable: true, typical_answer_seconds: null, ...reach },
      now,
    );
  expect(say({})).toBe("Not sent yet.");
  expect(say({ reachable: false })).toBe(NOBODY);
  expect(say({ typical_answer_seconds: 120 })).toBe(
    "Not sent yet; your questions usually take 2 min.",
  );
  const shown = { state: "shown", at: now - 60, typical_answer_seconds: 120 } as const;
  expect(say(shown)).toBe("Seen 1 min ago; your questions usually take 2 min.");
  expect(say({ state: "sent", at: now - 7_300, reachable: false })).toBe(
    "Sent 2 h ago, not seen yet.",
  );
  // The clock of the process that wrote it may be ahead.
  expect(say({ state: "opened", at: now + 5, typical_answer_seconds: 0 })).toBe(
    "Opened just now; your questions usually take 1 s.",
  );
});

test("the reach is the furthest state of all deliveries, with the median time of the answers", () => {
  const facts = { sent_at: 90, shown_at: null, opened_at: null, reachable: true, answers: [] };
  expect(reachOf(facts, true)).toMatchObject({ state: "sent", at: 90 });
  expect(reachOf({ ...facts, opened_at: 125.5 }, true)).toMatchObject({
    state: "opened",
    at: 125.5,
  });
  expect(reachOf({ ...facts, shown_at: 125.5 }, false)).toMatchObject({ state: "shown", at: 120 });
  const typical = (answers: number[]) =>
    reachOf({ ...facts, answers }, true).typical_answer_seconds;
  expect([typical([1, 2, 3, 4]), typical([5, 1, 4, 2, 3.4]), typical([9, 1, 1, 1, 1, 9])]).toEqual([
    null,
    3,
    1,
  ]);
});
