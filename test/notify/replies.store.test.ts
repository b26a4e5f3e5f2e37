/** Answers by replies of ntfy: from the button to the agent, and everything that is no answer (§19.8). */

import { expect, test } from "bun:test";
import { ADMIN, adminClient, metricsOf } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { callHook, commandOf } from "../support/approve.ts";
import { client } from "../support/client.ts";
import { measureSlowdown } from "../support/cpu-share.ts";
import { sampleOf } from "../support/exposition.ts";
import { startNtfy, tap } from "../support/ntfy.ts";
import { addReplies, buttonOf, createRepliesPerson, labelsOf } from "../support/replies.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const { url: database_url } = await createTestStore();
const app = await startTestApp({ database_url, env: ADMIN });
/** Another process on the same store. */
const other = await startTestApp({ database_url });
const ntfy = await startNtfy();
const begin = (body: object = {}) => createRepliesPerson(app.local_url, ntfy, body);
const counts = () => {
  const [a, b] = [app.reply_reader.answers(), other.reply_reader.answers()];
  return (is: string) => (a[is] ?? 0) + (b[is] ?? 0);
};

test("a tap on a button answers the question, and its end is sent to the topic too [§19.8.1] [§19.8.6]", async () => {
  const { agent, channel, url, topic, ask, ended } = await begin();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/relay-[0-9a-f]{32}$/);
  expect(channel).toMatchObject({ replies: true, reached_at: null, state: "ok" });
  const { id, sent } = await ask();
  expect(sent.topic).toBe(topic);
  const { topic: replies, message: code } = buttonOf(sent, "Yes");
  expect(replies).toMatch(/^relay-reply-[0-9a-f]{32}$/);
  expect(code).toMatch(/^[\w-]{44}$/);
  expect(JSON.stringify(sent)).not.toMatch(/Bearer|mcq_|localhost|\/v1\//);
  expect(await tap(sent, "Yes")).toBe(200);
  const answered = await ended(id);
  expect(answered.answer).toBe("Yes");
  expect(answered.answered_by).toEqual({ id: channel.id, type: "ntfy", label: "Phone" });
  const { body: seen } = await agent.send(`GET /v1/questions/${id}`);
  expect(seen.answer).toBe("Yes");
  expect(seen.answered_by).toBeUndefined();
  await until(() => ntfy.published.some(({ message }) => message === "Answered: Yes"));
  expect(ntfy.faults).toEqual([]);
});

test("a code with one character changed, of another choice, question, channel or account is nothing [§19.8.3]", async () => {
  const one = await begin();
  const two = await addReplies(one, ntfy, { label: "Tablet" });
  const stranger = await begin();
  const { id, sent } = await one.ask();
  const { topic, message } = buttonOf(sent, "Yes");
  await one.heard(topic);
  const flipped = [...message].map((character, i) => {
    const changed = character === "A" ? "B" : "A";
    return message.slice(0, i) + changed + message.slice(i + 1);
  });
  const bytes = Buffer.from(message, "base64url");
  // The other choice under the mark of this one.
  bytes[16] = 1;
  const forged = [
    ...flipped,
    bytes.toString("base64url"),
    `${message}=`,
    ` ${message}x`,
    "",
    "Yes",
  ];
  for (const text of forged) ntfy.write(topic, text);
  // Genuine codes by the wrong way: another channel of the person, and another account's.
  const { sent: at_two } = await two.ask();
  const { sent: at_stranger } = await stranger.ask();
  ntfy.write(buttonOf(at_two, "Yes").topic, message);
  ntfy.write(buttonOf(at_stranger, "Yes").topic, message);
  ntfy.write(topic, buttonOf(at_two, "Yes").message);
  ntfy.write(topic, buttonOf(at_stranger, "Yes").message);
  const before = counts();
  await until(() => counts()("unknown") >= before("unknown") && counts()("unknown") >= 40);
  expect((await one.question(id)).status).toBe("pending");
  await tap(sent, "No");
  expect((await one.ended(id)).answer).toBe("No");
});

test("a code sent again does nothing, and one after the question's end changes nothing [§19.8.5]", async () => {
  const { person, agent, ask, ended, question } = await begin();
  const first = await ask();
  for (let i = 0; i < 3; i++) await tap(first.sent, "Yes");
  const answered = await ended(first.id);
  const same = counts()("same");
  await tap(first.sent, "Yes");
  await until(() => counts()("same") > same);
  const late = counts()("ended");
  await tap(first.sent, "No");
  await until(() => counts()("ended") > late);
  expect(await question(first.id)).toEqual(answered);
  const { body: inbox } = await agent.send("GET /v1/inbox");
  expect(inbox.items.filter((item: any) => item.question?.id === first.id)).toHaveLength(1);
  const second = await ask();
  await agent.send(`DELETE /v1/questions/${second.id}`);
  const cancelled = counts()("ended");
  await tap(second.sent, "Yes");
  await until(() => counts()("ended") > cancelled);
  expect((await question(second.id)).status).toBe("cancelled");
  const third = await ask();
  await person.send(`POST /v1/questions/${third.id}/answer`, { answer: "No" });
  const page = counts()("ended");
  await tap(third.sent, "Yes");
  await until(() => counts()("ended") > page);
  expect((await question(third.id)).answer).toBe("No");
  expect((await question(third.id)).answered_by).toBeUndefined();
});

test("an answer in the page and a tap at once: one counts, over two processes [§19.8.5]", async () => {
  const { person, agent, ask, ended } = await begin();
  const elsewhere = client(other.local_url, person.token);
  for (let round = 0; round < 10; round++) {
    const { id, sent } = await ask();
    const by_page = (round % 2 === 0 ? person.send : elsewhere)(`POST /v1/questions/${id}/answer`, {
      answer: "No",
    });
    const [{ status }] = await Promise.all([by_page, tap(sent, "Yes")]);
    const question = await ended(id);
    expect(question.answer).toBe(status === 200 ? "No" : "Yes");
    const { body } = await agent.send("GET /v1/inbox");
    expect(body.items.filter((item: any) => item.question?.id === id)).toHaveLength(1);
    await agent.send("POST /v1/inbox/ack", { up_to: body.items.at(-1).id }).catch(() => {});
  }
});

test("a deleted channel is not heard any more, and another one of the account still is [§19.8.1]", async () => {
  const one = await begin();
  const two = await addReplies(one, ntfy, { label: "Tablet" });
  const { id, sent } = await one.ask();
  const { topic, message } = buttonOf(sent, "Yes");
  const at_two = await until(() =>
    ntfy.published.find((p) => p.topic === two.topic && p.sequence_id === id),
  );
  expect((await one.person.send(`DELETE /v1/channels/${one.channel.id}`)).status).toBe(204);
  ntfy.write(topic, message);
  ntfy.write(buttonOf(at_two, "Yes").topic, message);
  await tap(at_two, "No");
  expect((await two.ended(id)).answer).toBe("No");
});

test("who reads an open topic can deny a request for permission, not permit it; with a token both [§19.8.3]", async () => {
  const open = await begin();
  void callHook(app.local_url, open.agent.secret, commandOf("ls"));
  const shown = await until(() =>
    ntfy.published.find(
      ({ topic, title }) => topic === open.topic && title?.startsWith("Question"),
    ),
  );
  expect(labelsOf(shown)).toEqual(["Deny"]);
  const guarded = await begin({ token: "tk_secret" });
  void callHook(app.local_url, guarded.agent.secret, commandOf("ls"));
  const both = await until(() =>
    ntfy.published.find(
      ({ topic, title }) => topic === guarded.topic && title?.startsWith("Question"),
    ),
  );
  expect(labelsOf(both)).toEqual(["Allow", "Deny"]);
  expect(JSON.stringify(both)).not.toContain("tk_secret");
  await tap(both, "Allow");
  expect((await guarded.ended(both.sequence_id!)).answer).toBe("Allow");
  void callHook(app.local_url, guarded.agent.secret, commandOf("ls".padEnd(3_000, " x")));
  const part = await until(() =>
    ntfy.published.find(
      ({ topic, title, sequence_id }) =>
        topic === guarded.topic &&
        title?.startsWith("Question") &&
        sequence_id !== both.sequence_id,
    ),
  );
  expect(labelsOf(part)).toEqual(["Deny"]);
});

test("a test with a button proves that answers arrive [§19.8.7]", async () => {
  const { person, channel, read, topic } = await begin();
  const tested = await person.send(`POST /v1/channels/${channel.id}/test`);
  expect(tested.body).toMatchObject({ status: "sent", reason: null });
  const sent = ntfy.published.find((one) => one.topic === topic)!;
  expect(labelsOf(sent)).toEqual(["It works"]);
  await tap(sent, "It works");
  const reached = await until(async () => (await read()).reached_at);
  expect(reached).toBeGreaterThanOrEqual(tested.body.queued_at);
  expect(ntfy.faults).toEqual([]);
});

test("a topic that somebody else floods with junk delays no answer of anybody [§19.8.8]", async () => {
  const one = await begin();
  const { sent } = await one.ask();
  const { topic } = buttonOf(sent, "Yes");
  await one.heard(topic);
  for (let i = 0; i < 500; i++) ntfy.write(topic, "x".repeat(3_000));
  const two = await begin();
  const { id, sent: asked } = await two.ask();
  const allowed = await measureSlowdown();
  const from = performance.now();
  await tap(asked, "Yes");
  await two.ended(id);
  const seconds = (performance.now() - from) / 1000;
  expect(seconds).toBeLessThan(await allowed(2));
});

test("replies are for a topic that Relay makes, on the server that the client names [§19.8.2]", async () => {
  const { person } = await begin();
  const refused = async (body: object) =>
    (await person.send("POST /v1/channels", { type: "ntfy", label: "Phone", ...body })).body.fields;
  expect(await refused({ url: `${ntfy.url}/mine`, replies: true })).toEqual({
    replies: "is for a topic that Relay makes: leave the topic out of url",
  });
  expect(await refused({ url: `${ntfy.url}/a/b` })).toEqual({
    url: "must be https://<server> or https://<server>/<topic>",
  });
  expect(await refused({ token: "tk_1" })).toEqual({ url: "is required" });
  const typed = await person.send("POST /v1/channels", {
    ...{ type: "ntfy", label: "Typed", url: `${ntfy.url}/mine` },
  });
  expect(typed.body.channel.replies).toBe(false);
  expect(typed.body.url).toBeUndefined();
  const webhook = { type: "webhook", label: "w", url: ntfy.url, replies: true };
  expect((await person.send("POST /v1/channels", webhook)).body.fields).toEqual({
    replies: "is for ntfy only",
  });
});

test("the metrics and the admin page show what listens, and what became of answers", async () => {
  const one = await startTestApp({ env: ADMIN });
  const { ask, ended } = await createRepliesPerson(one.local_url, ntfy);
  const { id, sent } = await ask();
  await tap(sent, "Yes");
  await ended(id);
  ntfy.write(buttonOf(sent, "Yes").topic, "junk");
  await until(() => one.reply_reader.answers().unknown === 1);
  const { all, text } = await metricsOf(one.url);
  const of = (name: string) => sampleOf(all, `relay_listener_${name}`, { channel: "ntfy" });
  expect([of("connections"), of("working"), of("channels")]).toEqual([1, 1, 1]);
  expect(sampleOf(all, "relay_replies_total", { outcome: "answered" })).toBe(1);
  expect(text).not.toContain("relay-reply-");
  const figures = await adminClient(one.url).pushes.query();
  expect(figures.listening).toEqual([{ channel: "ntfy", connections: 1, working: 1, served: 1 }]);
  expect(figures.answers).toEqual({ answered: 1, unknown: 1 });
  const told = one.lines.join("\n");
  expect(told).not.toContain("relay-reply-");
  expect(told).not.toContain(buttonOf(sent, "Yes").message);
});
