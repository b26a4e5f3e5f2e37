/** Answers to the tests of channels: by an address of Relay, and by way of the service (§19.2.10). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPerson, WEBHOOK } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { type Published, startNtfy, tap } from "../support/ntfy.ts";
import { startPushService } from "../support/push-service.ts";
import { createRepliesPerson } from "../support/replies.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const push = await startPushService({ now: clock.now });
const ntfy = await startNtfy({ now: clock.now });
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url, env: push.env });
/** A process whose buttons name the first as Relay's address. */
const addressed = await startTestApp({
  clock,
  database_url,
  env: { ...push.env, PUBLIC_URL: app.local_url },
});

let topics = 0;
async function begin(body: object = {}) {
  const person = await createPerson(addressed.local_url);
  const topic = `topic-${++topics}`;
  const given = { type: "ntfy", label: "Phone", url: `${ntfy.url}/${topic}`, buttons: true };
  const made = await person.send("POST /v1/channels", { ...given, ...body });
  expect(made.status).toBe(201);
  const { id } = made.body.channel;
  const read = async () =>
    (await person.send("GET /v1/channels")).body.channels.find((one: any) => one.id === id);
  /** Sends a test, and returns its outcome and notification. */
  const send = async (): Promise<{ body: any; sent: Published }> => {
    const { status, body } = await person.send(`POST /v1/channels/${id}/test`);
    expect([status, body.status]).toEqual([200, "sent"]);
    return { body, sent: ntfy.published.findLast((one) => one.topic === topic)! };
  };
  return { person, id, read, send };
}

const actionOf = (sent: Published) =>
  (sent.actions as { url: string; body: string }[] | undefined)?.[0];
const codeOf = (sent: Published): string => JSON.parse(actionOf(sent)!.body).code;
const press = async (channel_id: string, code: string, headers: Record<string, string> = {}) => {
  const url = `${app.local_url}/v1/channels/${channel_id}/reached`;
  const init = { method: "POST", headers: { "content-type": "application/json", ...headers } };
  const response = await fetch(url, { ...init, body: JSON.stringify({ code }) });
  return { status: response.status, body: await response.json(), headers: response.headers };
};

test("a test is answered by the button of its notification alone, at another process too [§19.2.10] [§19.5.5]", async () => {
  const { read, send } = await begin();
  const { body, sent } = await send();
  expect(body.answer_by).toBeCloseTo(body.queued_at + 600, 3);
  expect((await read()).reached_at).toBeNull();
  expect(actionOf(sent)!.url).toStartWith(app.local_url);
  expect(sent.actions).toHaveLength(1);
  await clock.advance(1.4);
  expect(await tap(sent, "It works")).toBe(200);
  const { reached_at } = await read();
  expect(reached_at - body.queued_at).toBeCloseTo(1.4, 2);
  expect(ntfy.faults).toEqual([]);
});

test("a code that is repeated, or older than the last that was used, changes nothing [§19.2.10]", async () => {
  const { id, read, send } = await begin();
  const first = await send();
  await clock.advance(1);
  const second = await send();
  expect(codeOf(first.sent)).not.toBe(codeOf(second.sent));
  await clock.advance(1);
  expect(await press(id, codeOf(second.sent))).toMatchObject({ status: 200 });
  const { reached_at } = await read();
  await clock.advance(5);
  for (const { sent } of [first, second]) {
    expect(await press(id, codeOf(sent))).toMatchObject({ status: 200, body: { reached_at } });
  }
  expect((await read()).reached_at).toBe(reached_at);
});

test("a code that is forged, late or of another channel is not known [§19.2.10]", async () => {
  const [one, other] = await Promise.all([begin(), begin()]);
  const { sent } = await one.send();
  const { sent: foreign } = await other.send();
  const bytes = Buffer.from(codeOf(sent), "base64url");
  for (const at of [0, 9, 15, 16, 17, 32]) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    expect((await press(one.id, changed.toString("base64url"))).status).toBe(404);
  }
  expect((await press(one.id, codeOf(foreign))).status).toBe(404);
  expect((await press(`chn_${"0".repeat(32)}`, codeOf(sent))).status).toBe(404);
  expect((await press(one.id, "x")).status).toBe(404);
  await clock.advance(600.5);
  expect((await press(one.id, codeOf(sent))).status).toBe(404);
  expect([(await one.read()).reached_at, (await other.read()).reached_at]).toEqual([null, null]);
});

test("a code ends with its channel and the account [§19.2.10]", async () => {
  const { person, id, send } = await begin();
  const { sent } = await send();
  await person.send(`DELETE /v1/channels/${id}`);
  expect((await press(id, codeOf(sent))).status).toBe(404);
  const other = await begin();
  const { sent: left } = await other.send();
  await other.person.send("DELETE /v1/account");
  expect((await press(other.id, codeOf(left))).status).toBe(404);
});

test("an address answers 30 tests a minute, with whatever code [§19.2.10]", async () => {
  const limited = await startTestApp({ clock: createTestClock(), env: { RATE_LIMITS: "on" } });
  const url = `${limited.local_url}/v1/channels/chn_${"0".repeat(32)}/reached`;
  const init = { method: "POST", headers: { "content-type": "application/json" } };
  const statuses: number[] = [];
  for (let i = 0; i < 31; i++) {
    statuses.push((await fetch(url, { ...init, body: JSON.stringify({ code: "x" }) })).status);
  }
  expect(statuses).toEqual([...Array(30).fill(404), 429]);
});

test("a web page of any origin, such as ntfy's web app, may answer a test [§19.2.10]", async () => {
  const { id, read, send } = await begin();
  const { sent } = await send();
  const origin = "https://ntfy.example";
  const preflight = await fetch(`${app.local_url}/v1/channels/${id}/reached`, {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "POST" },
  });
  expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([
    204,
    "*",
  ]);
  const { status, headers } = await press(id, codeOf(sent), { origin });
  expect([status, headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
  expect((await read()).reached_at).not.toBeNull();
  const foreign = await fetch(`${app.local_url}/v1/channels/${id}/test`, {
    method: "POST",
    headers: { origin },
  });
  expect(foreign.status).toBe(403);
});

test("the clock of the process that takes an answer may be behind the one that sent the test [§19.2.10]", async () => {
  const late = createTestClock();
  const behind = await startTestApp({
    clock: late,
    database_url,
    storeTime: async () => late.now(),
  });
  const { id, read, send } = await begin();
  await late.advance(clock.now() - late.now() - 20);
  const { body, sent } = await send();
  expect(late.now()).toBeLessThan(body.queued_at);
  const init = { method: "POST", headers: { "content-type": "application/json" } };
  const url = `${behind.local_url}/v1/channels/${id}/reached`;
  const answered = await fetch(url, { ...init, body: JSON.stringify({ code: codeOf(sent) }) });
  expect(answered.status).toBe(200);
  expect((await read()).reached_at).toBeCloseTo(body.queued_at, 3);
});

test("a browser answers with the code in its message [§19.6.3] [§19.2.10]", async () => {
  const person = await createPerson(addressed.local_url);
  const body = { type: "web_push", label: "Firefox", subscription: push.subscribe() };
  const made = await person.send("POST /v1/channels", body);
  const { id } = made.body.channel;
  const tested = await person.send(`POST /v1/channels/${id}/test`);
  expect(tested.body.answer_by).not.toBeNull();
  const [pushed] = push.take();
  const { actions, data, tag } = pushed!.message.notification;
  expect(actions.map(({ action, title }) => [action, title])).toEqual([["reached", "It works"]]);
  expect(tag).toBe(id);
  const { reached_at }: any = (await press(id, data.code!)).body;
  const [channel] = (await person.send("GET /v1/channels")).body.channels;
  expect(channel.reached_at).toBe(reached_at);
  expect(push.faults).toEqual([]);
});

test("a test without a button says that it cannot be answered [§19.2.5]", async () => {
  const open = await begin({ buttons: false });
  const { body, sent } = await open.send();
  expect([body.answer_by, sent.actions]).toEqual([null, undefined]);
  // Without an address of Relay, and without replies, nothing could take the answer.
  const person = await createPerson(app.local_url);
  const given = { type: "ntfy", label: "Phone", url: `${ntfy.url}/no-address`, buttons: true };
  const made = await person.send("POST /v1/channels", given);
  const tested = await person.send(`POST /v1/channels/${made.body.channel.id}/test`);
  expect([tested.body.status, tested.body.answer_by]).toEqual(["sent", null]);
  const webhook = await person.send("POST /v1/channels", WEBHOOK);
  const failed = await person.send(`POST /v1/channels/${webhook.body.channel.id}/test`);
  expect(failed.body.answer_by).toBeNull();
});

test("a reply with the code of a test that is repeated or late does nothing [§19.2.10] [§19.8.3]", async () => {
  const real = await startNtfy();
  const relay = await startTestApp();
  const { person, channel, topic, read, ask, ended } = await createRepliesPerson(
    relay.local_url,
    real,
  );
  const of = async () => {
    await person.send(`POST /v1/channels/${channel.id}/test`);
    return real.published.findLast((one) => one.topic === topic)!;
  };
  const first = await of();
  const second = await of();
  await tap(second, "It works");
  const reached = await until(async () => (await read()).reached_at);
  await tap(first, "It works");
  await tap(second, "It works");
  // Replies are handled one after the other.
  const { id, sent } = await ask();
  await tap(sent, "Yes");
  await ended(id);
  expect((await read()).reached_at).toBe(reached);
});
