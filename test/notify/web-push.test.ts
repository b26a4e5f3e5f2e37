/** What browsers get by Web Push, when, and how the answers of their push services are handled (§19.6). */

import { expect, test } from "bun:test";
import { SHORT_BYTES, TOKEN_AGE } from "../../src/notify/web-push/client.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPerson, createTask, type Person } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { screenOf, startPushService } from "../support/push-service.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const service = await startPushService({ now: clock.now });
const { url: database_url } = await createTestStore();
const env = { ...service.env, PUBLIC_URL: "https://relay.example/" };
const app = await startTestApp({ clock, database_url, jitter: () => 0.999, env });
const settled = () => app.sender.settled();

async function addBrowser({ send }: Pick<Person, "send">, body: object = {}, on = service) {
  const { public_key } = (await send("GET /v1/web-push/key")).body;
  const subscription = on.subscribe(public_key);
  const given = { type: "web_push", label: "Firefox", subscription, ...body };
  const made = await send("POST /v1/channels", given);
  expect(made.status).toBe(201);
  const { id } = made.body.channel;
  const read = async () =>
    (await send("GET /v1/channels")).body.channels.find((channel: any) => channel.id === id);
  return { id, endpoint: subscription.endpoint, path: `/v1/channels/${id}` as const, read };
}

async function begin(body: object = {}) {
  const person = await createPerson(app.local_url);
  const agent = await createAgent(app.local_url, person, "builder");
  const browser = await addBrowser(person, body);
  service.take();
  return { person, agent, ...browser };
}

/** Moves time in steps, each until nothing is being sent. */
async function advance(seconds: number, step = 1) {
  for (let left = seconds; left > 0; left -= step) {
    await settled();
    await clock.advance(Math.min(step, left));
    await settled();
    await app.jobs.settled();
  }
}

const deliveries = async ({ send }: Pick<Person, "send">, id: string) => {
  const { body } = await send(`GET /v1/questions/${id}/deliveries`);
  return body.deliveries.map(({ target, status, reason }: any) =>
    [target.type, target.label, status, reason].join(" ").trim(),
  );
};

test("a question arrives by Web Push encrypted and signed, with its text, buttons and badge [§19.6.3] [§19.6.4]", async () => {
  const { person, agent, endpoint } = await begin();
  await ask(agent.send, { prompt: "Earlier?" });
  const question = await ask(agent.send, { prompt: "Ship it?", expires_in: 600 });
  await settled();
  const [, pushed] = service.take();
  const { message, ttl, urgency, topic } = pushed!;
  expect(pushed!.endpoint).toBe(endpoint);
  expect({ ttl, urgency }).toEqual({ ttl: 600, urgency: "high" });
  expect(topic).toMatch(/^[\w-]{24}$/);
  expect(message).toMatchObject({
    web_push: 8030,
    app_badge: 2,
    notification: {
      title: "Question from builder",
      body: "Ship it?",
      navigate: `https://relay.example/#/questions/${question.id}`,
      tag: question.id,
      silent: false,
      actions: [{ title: "Yes" }, { title: "No" }],
      data: { event: "question", question_id: question.id, expires_at: question.expires_at },
    },
  });
  expect(await deliveries(person, question.id)).toEqual(["web_push Firefox sent"]);
  const task = await createTask(agent.send, { title: "Ship", priority: "urgent" });
  await settled();
  const [told] = service.take();
  expect(told).toMatchObject({
    ttl: 86_400,
    urgency: "high",
    message: { notification: { title: "Ship", body: "New task\nbuilder", tag: task.id } },
  });
  expect(told!.topic).not.toBe(topic);
  await createTask(agent.send, { title: "quiet", notify: false });
  await settled();
  expect(service.take()).toEqual([]);
  expect(service.faults).toEqual([]);
});

test("the end of a question replaces its Web Push notification [§19.6.4]", async () => {
  const { person, agent } = await begin();
  const first = await ask(agent.send, { prompt: "One?" });
  const second = await ask(agent.send, { prompt: "Two?" });
  const third = await ask(agent.send, { prompt: "Three?", expires_in: 60 });
  const task = await createTask(agent.send, { title: "Ship" });
  await settled();
  const alerts = service.take();
  expect(alerts).toHaveLength(4);
  await person.send(`POST /v1/questions/${first.id}/answer`, { answer: "Yes" });
  await agent.send(`DELETE /v1/questions/${second.id}`);
  await settled();
  await advance(70, 5);
  await agent.send(`DELETE /v1/tasks/${task.id}`);
  await settled();
  const ends = service.take();
  expect(screenOf([...alerts, ...ends])).toEqual({
    [first.id]: "Answered: Yes",
    [second.id]: "Cancelled",
    [third.id]: "Expired",
    [task.id]: "Deleted",
  });
  const topics = ({ topic }: { topic: string }) => topic;
  expect(ends.map(topics).sort()).toEqual(alerts.map(topics).sort());
  expect(ends.every(({ message }) => message.notification.silent)).toBe(true);
  // A question that may not have been shown must not show its end alone; a task is never known to be shown.
  expect(ends.map(({ ttl }) => ttl)).toEqual([0, 0, 0, 86_400]);
  expect(await deliveries(person, first.id)).toEqual(["web_push Firefox sent"]);
});

test("a browser that was offline shows neither an ended question nor its end [§19.6.4]", async () => {
  const { person, agent, endpoint } = await begin();
  service.disconnect(endpoint);
  const ended = await ask(agent.send, { prompt: "Ended?" });
  const open = await ask(agent.send, { prompt: "Open?" });
  await settled();
  await person.send(`POST /v1/questions/${ended.id}/answer`, { answer: "Yes" });
  await settled();
  service.connect(endpoint);
  expect(screenOf(service.take())).toEqual({ [open.id]: "Open?" });
});

test("a question that was never sent has no end, and two changes of a task are one notification [§19.6.4]", async () => {
  const { person, agent } = await begin();
  service.behave({ status: 503 });
  const question = await ask(agent.send);
  const task = await createTask(agent.send, { title: "Ship" });
  await settled();
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "in_progress" });
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
  await settled();
  service.behave("ok");
  await advance(30);
  const told = service.take();
  // It was tried, so it may have been shown.
  expect(screenOf(told)).toEqual({ [question.id]: "Answered: Yes", [task.id]: "Started\nbuilder" });
  expect(told).toHaveLength(2);
  const other = await begin({ sends: ["tasks"] });
  const unwanted = await ask(other.agent.send);
  await settled();
  await other.person.send(`POST /v1/questions/${unwanted.id}/answer`, { answer: "Yes" });
  await settled();
  await createTask(other.agent.send, { title: "wanted" });
  await settled();
  expect(service.take().map(({ message }) => message.notification.title)).toEqual(["wanted"]);
});

test("each Web Push attempt uses the current settings, and quiet hours make it silent [§19.1.2] [§19.1.3]", async () => {
  const { person, agent, path } = await begin({ sends: ["tasks"], min_priority: "high" });
  const skipped = await ask(agent.send);
  await createTask(agent.send, { title: "unimportant", priority: "medium" });
  await settled();
  expect(service.take()).toEqual([]);
  expect(await deliveries(person, skipped.id)).toEqual(["web_push Firefox suppressed not_wanted"]);
  const at = (seconds: number) =>
    new Date((clock.now() + seconds) * 1000).toISOString().slice(11, 16);
  const quiet_hours = { from: at(-600), to: at(600), time_zone: "UTC" };
  await person.send(`PATCH ${path}`, { sends: ["questions"], quiet_hours });
  const question = await ask(agent.send);
  await settled();
  expect(service.take()).toMatchObject([
    { urgency: "low", message: { notification: { silent: true, tag: question.id } } },
  ]);
  expect(await deliveries(person, question.id)).toEqual(["web_push Firefox sent quiet_hours"]);
});

test("an answer of the push service does what the table says [§19.6.5] [§19.1.5]", async () => {
  const { person, agent, endpoint, read } = await begin();
  const send = async (treatment: Parameters<typeof service.behave>[0], seconds = 0) => {
    service.behave(treatment);
    const question = await ask(agent.send);
    await settled();
    service.behave("ok");
    if (seconds > 0) await advance(seconds);
    const [delivery] = await deliveries(person, question.id);
    const arrived = service
      .take()
      .filter(({ message }) => message.notification.tag === question.id);
    return [delivery.replace("web_push Firefox ", ""), arrived.length];
  };
  for (const status of [200, 202, 204]) {
    expect(await send({ status })).toEqual(["sent", 0]);
  }
  for (const status of [400, 405, 301]) {
    expect(await send({ status })).toEqual([`failed status_${status}`, 0]);
    expect(await read()).toMatchObject({
      state: "failing",
      last_error: { code: `status_${status}` },
    });
    expect(await send("ok")).toEqual(["sent", 1]);
    expect(await read()).toMatchObject({ state: "ok" });
  }
  const before = app.lines.length;
  for (const status of [401, 403]) {
    expect(await send({ status })).toEqual([`failed status_${status}`, 0]);
    expect(app.lines.slice(before).join()).toContain("channel configuration at fault");
  }
  expect(await send({ status: 500 }, 6)).toEqual(["sent", 1]);
  expect(await send({ status: 503, retry_after: "20" }, 15)).toEqual(["queued", 0]);
  await advance(15);
  expect(service.take()).toHaveLength(1);
  const date = () => new Date((clock.now() + 40) * 1000).toUTCString();
  expect(await send({ status: 503, retry_after: date() }, 30)).toEqual(["queued", 0]);
  await advance(20);
  expect(service.take()).toHaveLength(1);
  expect(await send({ status: 429, retry_after: "50" }, 45)).toEqual(["queued", 0]);
  await advance(40);
  expect(service.take()).toHaveLength(1);
  expect(await send({ status: 429 }, 31)).toEqual(["sent", 1]);
  expect(await send("drop", 10)).toEqual(["sent", 1]);
  // A subscription that was made with another key.
  const other = service.subscribe("BAAA");
  const body = { type: "web_push", label: "Other", subscription: other };
  expect((await person.send("POST /v1/channels", body)).status).toBe(201);
  const asked = await ask(agent.send);
  await settled();
  expect(await deliveries(person, asked.id)).toContain("web_push Other failed status_403");
  service.take();
  expect(await send({ status: 410 })).toEqual(["failed status_410", 0]);
  expect(await read()).toMatchObject({ state: "gone", last_error: { code: "status_410" } });
  service.take();
  await ask(agent.send);
  await settled();
  expect(service.take().some((pushed) => pushed.endpoint === endpoint)).toBe(false);
});

test("a push without an answer within the time limit is retried, and its tag hides the repetition [§19.6.5]", async () => {
  const { person, agent } = await begin();
  service.behave("hang");
  const before = service.received();
  const question = await ask(agent.send);
  await until(() => service.received() > before);
  await clock.advance(5);
  await settled();
  expect(await deliveries(person, question.id)).toEqual(["web_push Firefox queued"]);
  service.behave("ok");
  await advance(10);
  expect(screenOf(service.take())).toEqual({ [question.id]: "Go on?" });
});

test("a push service that hangs is tried by one request at a time and delays no other [§19.6.5]", async () => {
  const good = await startPushService({ now: clock.now });
  const hosts = `${service.env.WEB_PUSH_HOSTS},${good.env.WEB_PUSH_HOSTS}`;
  const peer = await startTestApp({
    clock,
    env: { ...env, WEB_PUSH_HOSTS: hosts },
    jitter: () => 0.999,
  });
  const person = await createPerson(peer.local_url);
  const agent = await createAgent(peer.local_url, person, "builder");
  for (let i = 0; i < 3; i++) await addBrowser(person);
  await addBrowser(person, {}, good);
  service.behave("hang");
  const before = service.received();
  await ask(agent.send);
  await until(() => service.received() === before + 3 && good.delivered.length === 1);
  await clock.advance(5);
  await peer.sender.settled();
  const probes = service.received();
  await clock.advance(10);
  await until(() => service.received() === probes + 1);
  await ask(agent.send);
  await until(() => good.delivered.length === 2);
  expect(service.received()).toBe(probes + 1);
  service.behave("ok");
});

test("a Web Push message that is too large is shortened once [§19.6.5]", async () => {
  const { person, agent } = await begin();
  service.behave({ over: 2_000 });
  const long = await ask(agent.send, { prompt: "x".repeat(2_000), kind: "text" });
  await settled();
  const [pushed] = service.take();
  expect(pushed!.message.notification.body).toMatch(/^x{500,}…$/);
  expect(pushed!.bytes).toBeLessThanOrEqual(SHORT_BYTES + 103);
  expect(await deliveries(person, long.id)).toEqual(["web_push Firefox sent"]);
  service.behave({ over: 0 });
  const before = service.received();
  const none = await ask(agent.send, { prompt: "x".repeat(2_000), kind: "text" });
  await settled();
  expect(service.received()).toBe(before + 2);
  expect(await deliveries(person, none.id)).toEqual(["web_push Firefox failed status_413"]);
  service.behave("ok");
});

test("a Web Push test goes to the browser at once and reports the result [§19.2.5]", async () => {
  const { person, path, endpoint, id } = await begin();
  const sent = await person.send(`POST ${path}/test`);
  expect(sent.body).toMatchObject({ target: { type: "web_push", id }, status: "sent" });
  expect(service.take()).toMatchObject([
    { endpoint, ttl: 60, message: { notification: { tag: id, data: { v: 1, event: "test" } } } },
  ]);
  service.behave({ status: 500 });
  const failed = await person.send(`POST ${path}/test`);
  expect(failed.body).toMatchObject({ status: "failed", reason: "status_500" });
  // Failures of other messages a moment ago do not matter.
  service.behave("drop");
  const { agent } = await begin();
  await ask(agent.send);
  await settled();
  service.behave("ok");
  const again = await person.send(`POST ${path}/test`);
  expect(again.body).toMatchObject({ status: "sent", reason: null });
});

test("generic Web Push content names nothing [§19.6.3]", async () => {
  const peer = await startTestApp({ clock, env: { ...env, PUSH_CONTENT: "generic" } });
  const person = await createPerson(peer.local_url);
  const agent = await createAgent(peer.local_url, person, "builder");
  await addBrowser(person);
  service.take();
  const secret = "launch-codes";
  const question = await ask(agent.send, { prompt: secret });
  const task = await createTask(agent.send, { title: secret, description: secret });
  await peer.sender.settled();
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
  await peer.sender.settled();
  await agent.send(`DELETE /v1/tasks/${task.id}`);
  await peer.sender.settled();
  const told = service.take();
  expect(told).toHaveLength(4);
  expect(JSON.stringify(told)).not.toContain(secret);
  expect(told.every(({ message }) => message.notification.actions.length === 0)).toBe(true);
  expect(screenOf(told)).toEqual({ [question.id]: "Answered", [task.id]: "Deleted" });
});

test("a VAPID token is reused for hours, and made anew when old [§19.6.4]", async () => {
  const { agent } = await begin();
  const statement = async () => {
    await ask(agent.send);
    await settled();
    return service.take()[0]!.authorization;
  };
  const first = await statement();
  expect(await statement()).toBe(first);
  await clock.skip(TOKEN_AGE + 1);
  await settled();
  const next = await statement();
  expect(next).not.toBe(first);
  // Someone sets the machine's clock.
  clock.shiftWall(600);
  expect(await statement()).not.toBe(next);
  expect(service.faults).toEqual([]);
});

test("when a key is deleted, its Web Push notifications say so [§19.6.4]", async () => {
  const { person, agent } = await begin();
  const question = await ask(agent.send);
  const task = await createTask(agent.send, { title: "Ship" });
  await settled();
  service.take();
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  await settled();
  expect(screenOf(service.take())).toEqual({ [question.id]: "Cancelled", [task.id]: "Deleted" });
});
