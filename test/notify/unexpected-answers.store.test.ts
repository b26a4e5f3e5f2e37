/** Answers of something in front of a receiver, such as a login page (§19.5.4, §19.4.3). */

import { expect, test } from "bun:test";
import { isWebPage } from "../../src/notify/core/web-page.ts";
import { ask, WEBHOOK } from "../support/client.ts";
import { startNtfyWorld } from "../support/ntfy-world.ts";
import { startReceiver } from "../support/receiver.ts";

const { app, ntfy, begin, settled, advance } = await startNtfyWorld();
const receiver = startReceiver();
const LOGIN = "\n<!-- sign in -->\n<!DOCTYPE html><html><form><input type=password></form></html>";
const html = (body: string) =>
  new Response(body, { headers: { "content-type": "text/html; charset=utf-8" } });

test("a login page in front of an ntfy server is a failure, and the question is sent once it is gone [§19.5.4]", async () => {
  const { person, agent, topic, id, read } = await begin();
  const failed = { status: "failed", reason: "unexpected_answer" };
  const deliveries = async (question_id: string) =>
    (await person.send(`GET /v1/questions/${question_id}/deliveries`)).body.deliveries;
  ntfy.behave({ status: 200, body: LOGIN, type: "text/html" });
  expect((await person.send(`POST /v1/channels/${id}/test`)).body).toMatchObject(failed);
  const question = await ask(agent.send);
  await settled();
  expect(await deliveries(question.id)).toMatchObject([{ status: "queued" }]);
  await advance(12);
  expect(await read()).toMatchObject({
    state: "failing",
    last_sent_at: null,
    last_error: { code: "unexpected_answer" },
  });
  ntfy.behave("ok");
  await advance(60);
  expect(ntfy.take()).toMatchObject([{ topic, sequence_id: question.id }]);
  expect(await deliveries(question.id)).toMatchObject([{ status: "sent" }]);
  expect((await read()).state).toBe("ok");
});

for (const [what, body] of [
  ["an empty object", "{}"],
  ["another event", JSON.stringify({ id: "x", event: "open" })],
  ["a message without an id", JSON.stringify({ event: "message" })],
  ["a word", "ok"],
  ["nothing", ""],
] as const) {
  test(`an answer that ntfy would not give is a failure and not repeated: ${what} [§19.5.4]`, async () => {
    const { person, agent, read } = await begin();
    ntfy.behave({ status: 200, body, type: "application/json" });
    const before = ntfy.received();
    const question = await ask(agent.send);
    await advance(30);
    expect(ntfy.received()).toBe(before + 1);
    const { body: told } = await person.send(`GET /v1/questions/${question.id}/deliveries`);
    expect(told.deliveries).toMatchObject([{ status: "failed", reason: "unexpected_answer" }]);
    expect(await read()).toMatchObject({
      state: "failing",
      last_error: { code: "unexpected_answer" },
    });
    ntfy.behave("ok");
  });
}

test("a webhook behind a login page fails its test, and one that answers with a word as HTML passes [§19.4.3]", async () => {
  const { person, agent } = await begin();
  const path = "/behind";
  const made = await person.send("POST /v1/channels", { ...WEBHOOK, url: receiver.url(path) });
  const { id } = made.body.channel;
  receiver.behave(() => html(LOGIN));
  await app.webhooks.settled();
  const test = async () => (await person.send(`POST /v1/channels/${id}/test`)).body;
  expect(await test()).toMatchObject({ status: "failed", reason: "unexpected_answer" });
  const read = async () =>
    (await person.send("GET /v1/channels")).body.channels.find((one: any) => one.id === id);
  expect(await read()).toMatchObject({
    state: "failing",
    last_sent_at: null,
    last_error: { code: "unexpected_answer" },
  });
  await ask(agent.send);
  await app.webhooks.settled();
  receiver.take();
  // What frameworks answer with by default.
  receiver.behave(() => html("ok"));
  expect(await test()).toMatchObject({ status: "sent", reason: null });
  await app.webhooks.settled();
  expect(receiver.take().map(({ type }) => type)).toContain("question.created");
  expect((await read()).state).toBe("ok");
});

test("a response counts as a web page if it is a document, or a compressed body labelled as one", () => {
  const of = (body: string, headers: Record<string, string> = {}) =>
    isWebPage(headers, Buffer.from(body));
  for (const page of [
    "<!doctype HTML>",
    "<html>",
    "\uFEFF <?xml version='1.0'?>\n<HTML lang=en>",
    LOGIN,
  ]) {
    expect(of(page)).toBe(true);
  }
  for (const other of [
    "",
    "ok",
    "{}",
    "<p>ok</p>",
    "<htmlx>",
    `{"a":"<html>"}`,
    "<!--".repeat(600),
  ]) {
    expect(of(other)).toBe(false);
    expect(of(other, { "content-type": "text/html" })).toBe(false);
  }
  expect(of("\x1f\x8b", { "content-encoding": "gzip", "content-type": "text/html" })).toBe(true);
  expect(of("\x1f\x8b", { "content-encoding": "gzip", "content-type": "text/plain" })).toBe(false);
});
