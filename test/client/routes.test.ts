/** The client's methods against a server: what they send, and what they resolve to. */

import { expect, test } from "bun:test";
import { type Client, createClient } from "../../src/client/client.ts";
import { startTestApp } from "../support/app.ts";
import { client, DEVICE, WEBHOOK } from "../support/client.ts";
import { connectClient } from "../support/oauth.ts";
import { rejectionOf } from "../support/rejection.ts";

const app = await startTestApp();
const connect = (credential?: string) =>
  createClient({
    url: `${app.url}/`,
    agent_host: "studio",
    ...(credential && { credential }),
  });

test("a method takes its route's ids, fields and options, and resolves to the response", async () => {
  const nobody = connect();
  expect(await nobody.health()).toMatchObject({ status: "ok", store: "ok" });
  expect(await nobody.openapi()).toMatchObject({ openapi: expect.stringMatching(/^3\.1/) });
  expect((await nobody.attest.challenge()).challenge).toHaveLength(43);

  const { account, token } = await nobody.accounts.create();
  const person = connect(token);
  expect(await person.accounts.get()).toEqual(account);
  const settings = { live_activities: false };
  expect((await person.accounts.update({ settings })).settings).toEqual({
    ...settings,
    nudges: true,
  });

  const device_id = `dev_${crypto.randomUUID()}`;
  const device = await person.devices.put(device_id, DEVICE);
  expect(await person.devices.list()).toEqual({ devices: [device] });

  const made = await person.channels.create(WEBHOOK);
  expect(made.secret).toStartWith("whsec_");
  const renamed = await person.channels.update(made.channel.id, { label: "CI" });
  expect(renamed.label).toBe("CI");
  expect(await person.channels.test(renamed.id)).toMatchObject({ status: "failed" });
  expect((await person.channels.list()).channels.map(({ label }) => label)).toEqual(["CI"]);
  await person.channels.delete(renamed.id);
  expect((await person.channels.key()).public_key).toHaveLength(87);

  const { key, secret } = await person.keys.create({ label: "agent" });
  const other = await person.keys.create({ label: "other" });
  const agent = connect(secret);
  expect((await person.keys.update(other.key.id, { label: "renamed" })).label).toBe("renamed");
  expect((await agent.agents.list()).agents.map(({ label }) => label)).toEqual([
    "renamed",
    "agent",
  ]);

  const { secret: signing } = await agent.keys.setWebhook(key.id, { url: WEBHOOK.url });
  expect(signing).toStartWith("whsec_");
  expect(await agent.keys.webhook(key.id)).toMatchObject({ hint: "hook" });
  expect(await person.keys.removeWebhook(key.id)).toBeUndefined();

  const task = await agent.tasks.create({ title: "Ship it", status: "in_progress" });
  expect(task.host).toBe("studio");
  const open = await agent.tasks.list({ status: ["todo", "in_progress"], limit: 1 });
  expect(open).toEqual({ tasks: [task], next_cursor: null });
  const changed = await agent.tasks.update(task.id, { progress: 50 });
  expect(await person.tasks.get(task.id)).toEqual(changed);
  expect(
    await person.liveActivities.put(task.id, { device_id, push_token: "aa01" }),
  ).toBeUndefined();
  expect(await person.liveActivities.delete(task.id, { device_id })).toBeUndefined();

  const question = await agent.questions.ask({ prompt: "Now?", task_id: task.id });
  expect(await agent.questions.get(question.id)).toEqual(question);
  const reminded = await person.questions.remind(question.id, { minutes: 10 });
  expect(reminded.remind_at).toBeGreaterThan(question.created_at);
  expect(await person.deliveries.list(question.id)).toMatchObject({ deliveries: [] });
  expect(await person.deliveries.receive(question.id, { event: "shown" })).toBeUndefined();
  expect((await agent.deliveries.list(question.id)).reach.state).toBe("shown");
  const answered = await person.questions.answer(question.id, { answer: "Yes", note: "Ship it" });
  expect(answered.note).toBe("Ship it");
  const list = await person.questions.list({ status: ["answered"], key_id: key.id });
  expect(list).toEqual({ questions: [answered], next_cursor: null });
  const withdrawn = await agent.questions.ask({ prompt: "Later?" });
  await agent.questions.cancel(withdrawn.id);

  const item = await person.messages.send({ key_id: key.id, text: "Well done" });
  const unread = await agent.inbox.read({ peek: true, limit: 10 });
  expect(unread.items.map(({ type }) => type)).toEqual(["question.answered", "message"]);
  expect(await agent.inbox.read({ peek: true, ack: item.id })).toEqual({ items: [], unread: 0 });
  expect((await person.inbox.ofKey(key.id, { limit: 1 })).items[0]).toMatchObject({ id: item.id });
  expect((await person.keys.activity(key.id, { limit: 5 })).items).toBeArray();

  expect((await person.keys.replaceSecret(other.key.id)).secret).toStartWith("mck_");
  const oauth = await connectClient(app.url, { send: client(app.url, token) }, { key_id: key.id });
  const { grants } = await person.keys.grants(key.id);
  await person.keys.revokeGrant(key.id, grants[0]!.id);
  expect((await person.oauth.request({ request: oauth.request })).client_name).toBe("Test client");
  expect((await person.oauth.deny({ request: oauth.request })).redirect_to).toContain("?error=");
  const given = await person.oauth.approve({ request: oauth.request, key_id: key.id });
  expect(given.redirect_to).toContain("?code=");
  const { secret: approval } = await nobody.oauth.askApproval({ request: oauth.request });
  expect(await nobody.oauth.awaitApproval({ secret: approval, wait: 0 })).toEqual({
    status: "waiting",
    redirect_to: null,
  });

  await agent.tasks.delete(task.id);
  await person.devices.delete(device_id);
  await person.keys.delete(key.id);
  expect((await person.keys.list()).keys.map(({ id }) => id)).toEqual([other.key.id]);
  const {
    sessions: [first],
  } = await person.sessions.list();
  const named = await person.sessions.update(first!.id, { label: "Firefox on Linux" });
  expect(named).toEqual({ ...first!, label: "Firefox on Linux", current: true });
  const { code } = await person.pairings.create();
  expect((await nobody.pairings.lookup({ code })).offered_by).toBe("Firefox on Linux");
  const claimed = { code, label: "Phone", token: `mca_${"p".repeat(43)}` };
  const { session } = await nobody.pairings.claim(claimed);
  expect((await person.sessions.list()).sessions).toEqual([{ ...session, current: false }, named]);
  expect((await person.sessions.confirm(session.id)).trial_ends_at).toBeNull();
  await person.sessions.delete(session.id);
  expect((await rejectionOf(person.sessions.delete(first!.id))).code).toBe("last_session");

  const replaced = connect((await person.accounts.replaceToken()).token);
  for await (const { name } of replaced.events()) {
    if (name === "ready") await replaced.accounts.delete();
  }
});

test("a path parameter cannot lead to another route", async () => {
  const { token } = await connect().accounts.create();
  const { tasks } = connect(token);
  expect(await tasks.get("../account").catch(({ code }) => code)).toBe("not_found");
});

/** Compiles only while the methods have the types of the procedures. */
const misuses = ({ tasks, keys, questions, agents }: Client) => [
  // @ts-expect-error: the id is missing.
  tasks.get(),
  // @ts-expect-error: no such field.
  tasks.create({ title: "Ship it", colour: "red" }),
  // @ts-expect-error: no such status.
  tasks.list({ status: ["open"] }),
  // @ts-expect-error: a field is missing.
  questions.answer("qst_1", { note: "Go on" }),
  // @ts-expect-error: the route accepts no `Idempotency-Key`.
  keys.create({ label: "agent" }, { idempotency_key: "1" }),
  // @ts-expect-error: no such field in the result.
  agents.list().then(({ keys }) => keys),
];
void misuses;
