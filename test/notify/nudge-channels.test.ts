/** How channels that replace their alerts ring again, and when quiet hours keep them from it (§5.7.10). */

import { expect, test } from "bun:test";
import { composeQuestion } from "../../src/notify/core/compose.ts";
import { render } from "../../src/notify/web-push/payload.ts";
import { ask } from "../support/client.ts";
import { startNtfy } from "../support/ntfy.ts";
import { startNtfyWorld } from "../support/ntfy-world.ts";

const { clock, ntfy, begin, advance, settled, rows } = await startNtfyWorld();

const MINUTE = 60;

/** Quiet hours of an hour around now. */
function quietNow() {
  const at = (seconds: number) => new Date(seconds * 1000).toISOString().slice(11, 16);
  const now = clock.now();
  return { from: at(now - 30 * MINUTE), to: at(now + 30 * MINUTE), time_zone: "UTC" };
}

/** A person with a topic, and a question of 20 minutes that was published. */
async function asked(server = ntfy) {
  const world = await begin({}, server.url);
  const question = await ask(world.agent.send, { prompt: "Go on?", expires_in: 20 * MINUTE });
  await settled();
  const told = () =>
    server
      .take()
      .filter(({ topic }) => topic === world.topic)
      .map(({ message, priority }) => [message, priority]);
  const quiet = () =>
    world.person.send(`PATCH /v1/channels/${world.id}`, { quiet_hours: quietNow() });
  return { ...world, question, told, quiet };
}

test("ntfy deletes the shown notification before it rings again, since a replaced one makes no sound [§19.5.3]", async () => {
  const { topic, question, told } = await asked();
  expect(told()).toEqual([["Go on?", 5]]);
  await advance(15 * MINUTE, 30);
  expect(ntfy.deleted).toEqual([]);
  await advance(2 * MINUTE, 10);
  expect(ntfy.deleted).toEqual([`${topic}/${question.id}`]);
  expect(told()).toEqual([["Go on?", 5]]);
  // A server that cannot delete shows a second one.
  const old = await startNtfy({ replaces: false });
  const other = await asked(old);
  expect(other.told()).toEqual([["Go on?", 5]]);
  await advance(17 * MINUTE, 10);
  expect(other.told()).toEqual([["Go on?", 5]]);
  expect([...ntfy.faults, ...old.faults]).toEqual([]);
});

test("in quiet hours a nudge is dropped, and a reminder comes without a sound [§5.7.10(2)] [§5.7.10(3)]", async () => {
  const nudged = await asked();
  nudged.told();
  await advance(15 * MINUTE, 30);
  await nudged.quiet();
  await advance(2 * MINUTE, 10);
  expect(nudged.told()).toEqual([]);
  const { body } = await nudged.person.send(`GET /v1/questions/${nudged.question.id}/deliveries`);
  expect(body.deliveries).toMatchObject([{ status: "sent", reason: null }]);

  const reminded = await asked();
  reminded.told();
  await reminded.quiet();
  await reminded.person.send(`POST /v1/questions/${reminded.question.id}/reminder`, { minutes: 5 });
  await advance(6 * MINUTE, 10);
  expect(reminded.told()).toEqual([["Go on?", 2]]);
});

test("a question that had not arrived by the time of its nudge arrives in quiet hours without a sound", async () => {
  ntfy.behave(503);
  const { told, quiet } = await asked();
  await quiet();
  await advance(16 * MINUTE - 20, 20);
  ntfy.behave("ok");
  await advance(2 * MINUTE, 10);
  expect(told()).toEqual([["Go on?", 2]]);
});

test("an ended question replaces what has rung again", async () => {
  const { person, question, told } = await asked();
  await advance(17 * MINUTE, 10);
  told();
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
  await settled();
  expect(told()).toEqual([["Answered: Yes", 2]]);
});

test("a webhook gets no message when a question rings again", async () => {
  const { person, question } = await asked();
  await person.send("POST /v1/channels", {
    type: "webhook",
    label: "CI",
    url: "http://127.0.0.1:9/hook",
  });
  const messages = () =>
    rows(`select count(*) from webhook_messages where subject = '${question.id}'`);
  const before = await messages();
  await advance(17 * MINUTE, 10);
  expect(await messages()).toEqual(before);
});

test("a message of Web Push says that it rings again", () => {
  const now = 1_800_000_000;
  const question = {
    ...{ id: "qst_1", key_id: "key_1", task_id: null, prompt: "Go on?", kind: "confirm" as const },
    ...{ options: ["Yes", "No"], status: "pending" as const, answer: null, answered_at: null },
    ...{ created_at: now, expires_at: now + 3_600 },
  };
  const key = { label: "builder", last_host: null };
  const subscription = { endpoint: "https://push.example/1", p256dh: "a", auth: "b" };
  const destination = {
    address: JSON.stringify(subscription),
    delivery_id: crypto.randomUUID(),
    base_url: null,
    ticket: null,
    shown: null,
    badge: null,
    handle: null,
    codes: null,
  };
  const dataOf = (again: boolean) =>
    render(composeQuestion(question, key, { full: true, again }), destination)!.message.notification
      .data;
  expect(dataOf(true).again).toBe(true);
  expect("again" in dataOf(false)).toBe(false);
});
