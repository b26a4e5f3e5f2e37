/** Questions that ring again: once before they expire, and when the person wants to be reminded (§5.7.10). */

import { expect, test } from "bun:test";
import { dueNudges } from "../../db/nudges.ts";
import { ask, createAgent, type Send } from "../support/client.ts";
import { createPushWorld } from "../support/push-world.ts";
import { openStream } from "../support/stream.ts";

const world = await createPushWorld();
const { app, clock, store, advance } = world;

const RING = "time-sensitive Question from builder / Go on?";
const MINUTE = 60;

const remind = (send: Send, id: string, minutes: number) =>
  send(`POST /v1/questions/${id}/reminder`, { minutes });

/** A person with phones `a` and `b`, and a question that lasts an hour and has rung on both. */
async function begin(body: object = {}) {
  const people = await world.people("a", "b");
  await people.told();
  const question = await ask(people.agent.send, { prompt: "Go on?", ...body });
  const rings = async () => (await people.told()).filter((line) => line.endsWith(RING));
  expect(await rings()).toEqual([`a: ${RING}`, `b: ${RING}`]);
  const seen = (phone: number) =>
    people.person.send(`POST /v1/questions/${question.id}/receipts`, {
      event: "shown",
      device_id: people.phones[phone]!.id,
    });
  return { ...people, question, rings, seen };
}

test("a question rings once more when a fifth of its time is left, over two processes once [§5.7.10(1)]", async () => {
  const { rings } = await begin();
  await advance(47 * MINUTE, 30);
  expect(await rings()).toEqual([]);
  const other = await world.start();
  await advance(55, 5);
  expect(await rings()).toEqual([]);
  await advance(15, 5);
  await other.jobs.settled();
  await other.sender.settled();
  await world.advance(0);
  expect(await rings()).toEqual([`a: ${RING}`, `b: ${RING}`]);
  await other.stop();
  await advance(11 * MINUTE, 30);
  expect(await rings()).toEqual([]);
});

test("a nudge goes to the devices that did not show the question, or to all if all did [§5.7.10(1)]", async () => {
  const one = await begin();
  await one.seen(0);
  const both = await begin();
  await both.seen(0);
  await both.seen(1);
  await advance(48 * MINUTE + 10, 30);
  expect(await one.rings()).toEqual([`b: ${RING}`]);
  expect(await both.rings()).toEqual([`a: ${RING}`, `b: ${RING}`]);
});

test("nothing rings again for a question that ended, is short, or is nearly over, or with the setting off [§5.7.10(2)]", async () => {
  const answered = await begin();
  await answered.person.send(`POST /v1/questions/${answered.question.id}/answer`, {
    answer: "Yes",
  });
  const short = await begin({ expires_in: 599 });
  const off = await begin();
  await off.person.send("PATCH /v1/account", { settings: { nudges: false } });
  const asleep = await begin({ expires_in: 600 });
  // As if the machine had slept until less than 2 minutes were left.
  await world.skip(485);
  await advance(20, 5);
  expect(await asleep.rings()).toEqual([]);
  await advance(48 * MINUTE, 60);
  for (const { rings } of [answered, short, off, asleep]) expect(await rings()).toEqual([]);
});

test("a nudge that was due while no process ran rings after the next start", async () => {
  const { rings, question } = await begin();
  // Another process had claimed nothing: the time is in the store.
  const [[due]] = (await world.rows(
    `select nudge_at from questions where id = '${question.id}'`,
  )) as [[number]];
  expect(due).toBe(Math.round(question.expires_at * 1000) - 720_000);
  await world.skip(50 * MINUTE);
  await advance(10, 5);
  expect(await rings()).toEqual([`a: ${RING}`, `b: ${RING}`]);
});

test("a reminder rings on all devices, in place of the nudge and of an earlier one [§5.7.10(3)]", async () => {
  const { person, agent, question, rings, seen } = await begin();
  await seen(0);
  const stream = await openStream(app.url, person.token);
  const first = await remind(person.send, question.id, 60);
  // An hour is too long for this question: 2 minutes before its end.
  expect(first).toMatchObject({ status: 200, body: { remind_at: question.expires_at - 120 } });
  const { status, body } = await remind(person.send, question.id, 10);
  expect([status, body.remind_at]).toEqual([200, expect.closeTo(clock.now() + 600, 2)]);
  expect((await agent.send(`GET /v1/questions/${question.id}`)).body).toEqual(body);
  expect(await stream.names(2)).toEqual(["question.updated", "question.updated"]);
  expect(stream.events.at(-1)!.data).toEqual({ question: body });

  await advance(9 * MINUTE, 30);
  expect(await rings()).toEqual([]);
  await advance(70, 5);
  expect(await rings()).toEqual([`a: ${RING}`, `b: ${RING}`]);
  await advance(48 * MINUTE, 60);
  expect(await rings()).toEqual([]);
  stream.close();
});

test("a reminder also rings with nudges off, and once if it is sent twice [§5.7.10(3)] [§5.7.10(4)]", async () => {
  const { person, question, rings } = await begin();
  await person.send("PATCH /v1/account", { settings: { nudges: false } });
  const events = async () =>
    world.rows(`select count(*) from events where subject = '${question.id}'`);
  const first = await remind(person.send, question.id, 10);
  const before = await events();
  await clock.advance(30);
  const again = await remind(person.send, question.id, 10);
  expect(again.body).toEqual(first.body);
  expect(await events()).toEqual(before);
  await advance(11 * MINUTE, 30);
  expect(await rings()).toEqual([`a: ${RING}`, `b: ${RING}`]);
  // Once it has rung, the same request asks for another one.
  const next = await remind(person.send, question.id, 10);
  expect(next.body.remind_at).toBeGreaterThan(first.body.remind_at);
});

test("of many equal reminders at once, one changes the question [§5.7.10(4)]", async () => {
  const { person, question } = await begin();
  const events = async () => {
    const [[count]] = (await world.rows(
      `select count(*) from events where subject = '${question.id}'`,
    )) as [[number]];
    return count;
  };
  const before = await events();
  const all = await Promise.all(
    Array.from({ length: 10 }, () => remind(person.send, question.id, 10)),
  );
  expect(new Set(all.map(({ body }) => body.remind_at)).size).toBe(1);
  expect(all.map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect(await events()).toBe(before + 1);
});

test("a question that is over or ends too soon takes no reminder, nor one of another account [§5.7.10(4)]", async () => {
  const { person, agent, question } = await begin({ expires_in: 200 });
  const stranger = await world.people();
  expect((await remind(stranger.person.send, question.id, 10)).status).toBe(404);
  expect((await remind(agent.send, question.id, 10)).status).toBe(403);
  await clock.advance(30);
  const soon = await remind(person.send, question.id, 10);
  expect([soon.status, soon.body.fields]).toEqual([
    422,
    { minutes: "the question expires too soon" },
  ]);
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
  const late = await remind(person.send, question.id, 10);
  expect([late.status, late.body.code]).toEqual([409, "question_not_pending"]);
});

test("an account with many due questions does not hold up another's nudge", async () => {
  const many = await world.people();
  const others = [many.agent, await createAgent(app.url, many.person)];
  for (const { send } of others) for (let i = 0; i < 20; i++) await ask(send);
  await clock.advance(1);
  const one = await world.people();
  const { id } = await ask(one.agent.send);
  const now = clock.now() + 50 * MINUTE;
  const first = await store.read(dueNudges({ now, limit: 6 }));
  expect(first.flat()).toContain(id);
});
