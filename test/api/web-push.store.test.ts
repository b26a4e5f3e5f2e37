/** Browsers as channels: the key, subscriptions, and what they belong to (§19.2, §19.6). */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { settingsOf } from "../../src/notify/web-push/channel.ts";
import { startTestApp } from "../support/app.ts";
import {
  ask,
  client,
  createAgent,
  createPerson,
  NEW_CHANNEL,
  newToken,
  pair,
  WEBHOOK,
} from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startPushService } from "../support/push-service.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const service = await startPushService({ now: clock.now });
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url, env: service.env, jitter: () => 0.999 });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
const rows = (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({}));
const settled = () => app.sender.settled();

const subscribe = async (send: ReturnType<typeof client>, subscription = service.subscribe()) => {
  const body = { type: "web_push", label: "Firefox", subscription };
  const made = await send("POST /v1/channels", body);
  return { ...made, subscription, id: made.body.channel?.id as string };
};
const channelsOf = async (send: ReturnType<typeof client>) =>
  (await send("GET /v1/channels")).body.channels as { id: string; state: string; type: string }[];

test("the Web Push key is a point of P-256, the same in every process [§19.2.6]", async () => {
  const person = await createPerson(app.url);
  const { status, body } = await person.send("GET /v1/web-push/key");
  expect(status).toBe(200);
  expect(Buffer.from(body.public_key, "base64url").length).toBe(65);
  const peer = await startTestApp({ clock, database_url, env: service.env });
  const other = client(peer.url, person.token);
  expect((await other("GET /v1/web-push/key")).body).toEqual(body);
  // It is also the same in processes that start at once on a new store.
  const { url } = await createTestStore();
  const both = await Promise.all(
    [0, 1].map(() => startTestApp({ clock, database_url: url, env: service.env })),
  );
  const first = await createPerson(both[0]!.url);
  const keys = await Promise.all(
    both.map(({ url }) => client(url, first.token)("GET /v1/web-push/key")),
  );
  expect(keys[0]!.body.public_key).toBe(keys[1]!.body.public_key);
  expect(keys[0]!.body.public_key).not.toBe(body.public_key);
});

test("Web Push is on where browsers can subscribe, and names the operator where it can [§19.6.1]", () => {
  const of = (env: Record<string, string>) => {
    const { off, ...on } = settingsOf(readConfig(env));
    return off ?? ("subject" in on ? on.subject : "");
  };
  const subject = { VAPID_SUBJECT: "mailto:me@example.com" };
  const nowhere = "PUBLIC_URL is neither https nor loopback";
  expect(of({})).toBe("https://localhost");
  expect(of(subject)).toBe("mailto:me@example.com");
  expect(of({ HOST: "::1", ...subject })).toBe("mailto:me@example.com");
  expect(of({ HOST: "0.0.0.0" })).toBe("https://localhost");
  expect(of({ HOST: "::", ...subject })).toBe("mailto:me@example.com");
  expect(of({ HOST: "192.168.1.2", ...subject })).toBe(nowhere);
  expect(of({ HOST: "0.0.0.0", PUBLIC_URL: "http://relay.lan:3000", ...subject })).toBe(nowhere);
  expect(of({ PUBLIC_URL: "http://192.168.1.2:3000", ...subject })).toBe(nowhere);
  expect(of({ PUBLIC_URL: "http://localhost:3000" })).toBe("https://localhost");
  for (const host of ["relay.local", "relay", "192.168.1.2", "[fd00::1]", "relay.home.arpa"]) {
    expect(of({ PUBLIC_URL: `https://${host}` })).toBe("https://localhost");
  }
  expect(of({ PUBLIC_URL: "https://relay.example/base" })).toBe("https://relay.example");
  expect(of({ PUBLIC_URL: "https://relay.example", ...subject })).toBe("mailto:me@example.com");
  for (const env of [
    { VAPID_SUBJECT: "me@example.com" },
    { VAPID_SUBJECT: "http://example.com" },
    { VAPID_SUBJECT: "mailto:me" },
    { WEB_PUSH_HOSTS: "https://push.example" },
    { WEB_PUSH_HOSTS: "push.example/path" },
    { WEB_PUSH_HOSTS: "push.example,,other.example" },
    { WEB_PUSH_HOSTS: "*.example" },
    { WEB_PUSH_HOSTS: "Push.example" },
  ]) {
    const [name] = Object.keys(env);
    expect(() => readConfig(env)).toThrow(new RegExp(`^${name}: must be`));
  }
  expect(readConfig({ WEB_PUSH_HOSTS: "push.example, 127.0.0.1:8080" }).WEB_PUSH_HOSTS).toEqual([
    "push.example",
    "127.0.0.1:8080",
  ]);
});

test("while Web Push is off, the start says why and no subscription is accepted [§19.6.1] [§19.2.6]", async () => {
  const off = await startTestApp({ clock, env: { PUBLIC_URL: "http://relay.lan:3000" } });
  const lines = off.lines.filter((line) => line.includes("web_push"));
  expect(lines.join()).toContain("PUBLIC_URL is neither https nor loopback");
  const person = await createPerson(off.local_url);
  expect((await person.send("GET /v1/web-push/key")).status).toBe(404);
  const { status, body } = await subscribe(person.send);
  expect([status, body.fields]).toEqual([422, { type: "is off on this server" }]);
});

test("Apple is sent nothing by an operator without a name, and the creation says what to set [§19.6.1]", async () => {
  const plain = await startTestApp({ clock });
  const of = async (url: string, endpoint: string) => {
    const { keys } = (await subscribe((await createPerson(url)).send)).subscription;
    const body = { type: "web_push", label: "Safari", subscription: { endpoint, keys } };
    const { status, body: answer } = await (await createPerson(url)).send(
      "POST /v1/channels",
      body,
    );
    return [status, answer.fields?.subscription ?? null];
  };
  const apple = "https://web.push.apple.com/QK1";
  const [status, reason] = await of(plain.url, apple);
  expect(status).toBe(422);
  expect(reason).toContain("VAPID_SUBJECT=mailto:you@your.domain");
  expect(await of(plain.url, "https://fcm.googleapis.com/fcm/send/1")).toEqual([201, null]);
  expect(await of(app.url, apple)).toEqual([201, null]);
});

test("a subscription is accepted as the browser gives it, and shows only its origin [§19.2.2] [§19.6.2]", async () => {
  const person = await createPerson(app.url);
  const { status, body, subscription } = await subscribe(person.send);
  expect(status).toBe(201);
  expect(body).toEqual({
    channel: {
      id: expect.stringMatching(/^chn_[0-9a-f]{32}$/),
      type: "web_push",
      label: "Firefox",
      ...NEW_CHANNEL,
      created_at: clock.now(),
      origin: service.origin,
      hint: subscription.endpoint.slice(-4),
      replies: false,
      reached_at: null,
    },
  });
  const told = JSON.stringify([await channelsOf(person.send), app.lines]);
  expect(told).not.toContain(subscription.endpoint.slice(-12));
  expect(told).not.toContain(subscription.keys.auth);
});

test("a subscription that leads elsewhere or cannot be encrypted for is refused [§19.6.2]", async () => {
  const person = await createPerson(app.url);
  const good = service.subscribe();
  const { endpoint, keys } = good;
  const off_curve = Buffer.from(keys.p256dh, "base64url");
  off_curve[64]! ^= 1;
  for (const [subscription, reason] of [
    [{ endpoint, keys: { ...keys, auth: "AAAA" } }, "16 bytes"],
    [{ endpoint, keys: { ...keys, p256dh: keys.auth } }, "65 bytes"],
    [{ endpoint, keys: { ...keys, p256dh: off_curve.toString("base64url") } }, "P-256"],
    [{ endpoint: "https://push.example/abc", keys }, "push service"],
    [{ endpoint: "http://169.254.169.254/latest", keys }, "push service"],
    [{ endpoint: endpoint.replace(/:\d+/, ":1"), keys }, "push service"],
    [{ endpoint: `${endpoint}${"x".repeat(1_000)}`, keys }, "too long"],
    [{ endpoint: "nowhere", keys }, "URL"],
    [{ endpoint }, "keys is required"],
    [{ keys }, "endpoint is required"],
    ["text", "object"],
  ] as const) {
    const body = { type: "web_push", label: "x", subscription };
    const refused = await person.send("POST /v1/channels", body);
    expect([refused.status, Object.keys(refused.body.fields)]).toEqual([422, ["subscription"]]);
    expect(refused.body.fields.subscription).toContain(reason);
  }
  const others = [
    [{ type: "web_push", label: "x", subscription: good, url: WEBHOOK.url }, "url"],
    [{ type: "web_push", label: "x", subscription: good, token: "tk" }, "token"],
    [{ type: "web_push", label: "x" }, "subscription"],
    [{ ...WEBHOOK, subscription: good }, "subscription"],
    [{ type: "webhook", label: "x" }, "url"],
    [{ type: "ntfy", label: "x" }, "url"],
  ] as const;
  for (const [body, field] of others) {
    const refused = await person.send("POST /v1/channels", body);
    expect([refused.status, Object.keys(refused.body.fields)]).toEqual([422, [field]]);
  }
  expect(await channelsOf(person.send)).toEqual([]);
});

test("an endpoint has one channel on the server: sending it again moves it, with nothing queued [§19.6.2]", async () => {
  const first = await createPerson(app.url);
  const agent = await createAgent(app.url, first);
  const made = await subscribe(first.send);
  service.behave({ status: 503 });
  const question = await ask(agent.send);
  await settled();
  expect(await rows(`select 1 from deliveries where recipient_id = '${made.id}'`)).toHaveLength(1);
  const second = await createPerson(app.url);
  const moved = await subscribe(second.send, made.subscription);
  expect(moved.status).toBe(201);
  expect(await rows(`select 1 from deliveries where recipient_id = '${made.id}'`)).toEqual([]);
  expect(await rows(`select 1 from delivery_targets where recipient_id = '${made.id}'`)).toEqual(
    [],
  );
  expect(await channelsOf(first.send)).toEqual([]);
  expect((await channelsOf(second.send)).map(({ id }) => id)).toEqual([moved.id]);
  const { body } = await first.send(`GET /v1/questions/${question.id}/deliveries`);
  expect(body.deliveries).toMatchObject([{ status: "failed", reason: "target_removed" }]);
  service.behave("ok");
  // The same sign-in again: one channel, with another id.
  const again = await subscribe(second.send, made.subscription);
  expect((await channelsOf(second.send)).map(({ id }) => id)).toEqual([again.id]);
  // Of two concurrent requests, one gets it.
  const both = await Promise.all([
    subscribe(first.send, made.subscription),
    subscribe(second.send, made.subscription),
  ]);
  expect(both.map(({ status }) => status)).toEqual([201, 201]);
  const left = [...(await channelsOf(first.send)), ...(await channelsOf(second.send))];
  expect(left).toHaveLength(1);
  expect(await rows("select endpoint_digest from channels where type = 'web_push'")).not.toContain(
    made.subscription.endpoint,
  );
});

test("a subscription refused by the limit of channels moves nothing, and a replacement is accepted [§19.6.2]", async () => {
  const first = await createPerson(app.url);
  const made = await subscribe(first.send);
  const second = await createPerson(app.url);
  for (let i = 0; i < 19; i++) await second.send("POST /v1/channels", WEBHOOK);
  const own = await subscribe(second.send);
  expect(own.status).toBe(201);
  expect((await subscribe(second.send, made.subscription)).status).toBe(409);
  expect((await channelsOf(first.send)).map(({ id }) => id)).toEqual([made.id]);
  expect((await subscribe(second.send, own.subscription)).status).toBe(201);
  expect(await channelsOf(second.send)).toHaveLength(20);
});

test("a channel that is gone makes room for the next one of its sign-in [§19.6.2] [§19.6.5]", async () => {
  const person = await createPerson(app.url);
  const agent = await createAgent(app.url, person);
  const made = await subscribe(person.send);
  service.forget(made.subscription.endpoint);
  await ask(agent.send);
  await settled();
  expect(await channelsOf(person.send)).toMatchObject([
    { id: made.id, state: "gone", last_error: { code: "status_404" } },
  ]);
  const next = await subscribe(person.send);
  expect((await channelsOf(person.send)).map(({ id }) => id)).toEqual([next.id]);
});

test("a channel is deleted with its sign-in or with that sign-in's token [§19.6.2] [§5.13.3(1)]", async () => {
  const person = await createPerson(app.url);
  const agent = await createAgent(app.url, person);
  const phone = await pair(app.url, person, "Phone");
  const [desk, mobile] = [await subscribe(person.send), await subscribe(phone.send)];
  const hook = (await person.send("POST /v1/channels", WEBHOOK)).body.channel.id;
  service.behave({ status: 503 });
  await ask(agent.send);
  await settled();
  service.behave("ok");
  expect((await person.send(`DELETE /v1/sessions/${phone.session.id}`)).status).toBe(204);
  expect((await channelsOf(person.send)).map(({ id }) => id)).toEqual([hook, desk.id]);
  expect(await rows(`select 1 from delivery_targets where recipient_id = '${mobile.id}'`)).toEqual(
    [],
  );
  expect(await rows(`select 1 from deliveries where recipient_id = '${mobile.id}'`)).toEqual([]);
  const token = newToken();
  await person.send("POST /v1/account/token", { token });
  const renewed = client(app.url, token);
  expect((await channelsOf(renewed)).map(({ id }) => id)).toEqual([hook]);
  expect(await rows(`select 1 from delivery_targets where recipient_id = '${desk.id}'`)).toEqual(
    [],
  );
  service.take();
  await ask(agent.send);
  await settled();
  expect(service.take()).toEqual([]);
});

test("deleting an account deletes everything of its channels [§19.6.4]", async () => {
  const person = await createPerson(app.url);
  const agent = await createAgent(app.url, person);
  const { id, subscription } = await subscribe(person.send);
  const question = await ask(agent.send);
  await settled();
  service.take();
  expect((await person.send("DELETE /v1/account")).status).toBe(204);
  await settled();
  const told = service.take().filter(({ endpoint }) => endpoint === subscription.endpoint);
  expect(told.map(({ message }) => message.notification)).toMatchObject([
    { tag: question.id, body: "Cancelled", silent: true, data: { event: "ended" } },
  ]);
  await until(async () => {
    await clock.advance(1);
    return (await rows(`select 1 from channels where id = '${id}'`)).length === 0;
  });
  expect(await rows(`select 1 from delivery_targets where recipient_id = '${id}'`)).toEqual([]);
  expect(service.faults).toEqual([]);
});
