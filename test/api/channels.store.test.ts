/** The routes of channels (§19.1, §19.2). */

import { expect, test } from "bun:test";
import { WEBHOOK_LIMITS } from "../../src/notification-limits.ts";
import { startTestApp } from "../support/app.ts";
import { createPerson, NEW_CHANNEL, WEBHOOK } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { gate, startReceiver } from "../support/receiver.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const receiver = startReceiver();
const app = await startTestApp({ clock, env: { RATE_LIMITS: "on" } });
// Each account comes from its own address, so that the limit on creations is not reached.
const person = await createPerson(app.url);
const other = await createPerson(app.url);

test("a channel is created, listed, changed and deleted [§19.2.1] [§19.2.2] [§19.2.3] [§19.2.4]", async () => {
  const url = receiver.url("/secret-path-Ab9~");
  const { status, body } = await person.send("POST /v1/channels", { ...WEBHOOK, url });
  expect(status).toBe(201);
  expect(body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(body.channel).toEqual({
    id: expect.stringMatching(/^chn_[0-9a-f]{32}$/),
    type: "webhook",
    label: "Build server",
    ...NEW_CHANNEL,
    created_at: clock.now(),
    origin: new URL(url).origin,
    hint: "Ab9~",
    replies: false,
    reached_at: null,
  });
  const path = `/v1/channels/${body.channel.id}` as const;
  const quiet_hours = { from: "22:00", to: "07:00", time_zone: "Europe/Berlin" };
  const patch = { label: "CI", sends: ["tasks"], min_priority: "high", quiet_hours };
  const changed = await person.send(`PATCH ${path}`, patch);
  expect(changed.body).toMatchObject(patch);
  expect((await person.send(`PATCH ${path}`, {})).body).toMatchObject(patch);
  const cleared = await person.send(`PATCH ${path}`, { quiet_hours: null });
  expect(cleared.body).toMatchObject({ ...patch, quiet_hours: null });
  const second = await person.send("POST /v1/channels", WEBHOOK);
  const ids = (await person.send("GET /v1/channels")).body.channels.map(({ id }: any) => id);
  expect(ids).toEqual([second.body.channel.id, body.channel.id]);
  expect((await other.send(`PATCH ${path}`, patch)).status).toBe(404);
  expect((await other.send("GET /v1/channels")).body).toEqual({ channels: [] });
  for (const id of ids) {
    expect((await person.send(`DELETE /v1/channels/${id}`)).status).toBe(204);
  }
  expect((await person.send(`DELETE ${path}`)).status).toBe(404);
  expect((await person.send("GET /v1/channels")).body).toEqual({ channels: [] });
});

test("the URL and secret of a channel are never shown again or logged [§19.1.4]", async () => {
  const url = receiver.url("/hidden-in-the-path");
  const { body } = await person.send("POST /v1/channels", { ...WEBHOOK, url });
  await app.webhooks.settled();
  const path = `/v1/channels/${body.channel.id}` as const;
  const answers = [
    await person.send("GET /v1/channels"),
    await person.send(`PATCH ${path}`, { label: "x" }),
    await person.send(`POST ${path}/test`),
  ];
  const told = JSON.stringify(answers.map((answer) => answer.body)) + app.lines.join();
  expect(told).toContain(body.channel.origin);
  for (const secret of ["hidden-in-the-path", body.secret.slice(6, 40)]) {
    expect(told).not.toContain(secret);
  }
  await person.send(`DELETE ${path}`);
});

test("an account has at most 20 channels [§19.2.2]", async () => {
  const made = [];
  for (let i = 0; i < 21; i++) made.push(await other.send("POST /v1/channels", WEBHOOK));
  expect(made.slice(0, 20).every(({ status }) => status === 201)).toBe(true);
  expect(made[20]!.body).toMatchObject({ status: 409, code: "too_many_channels" });
  await other.send(`DELETE /v1/channels/${made[3]!.body.channel.id}`);
  // Of two concurrent requests, one gets the last place.
  const both = [WEBHOOK, WEBHOOK].map((body) => other.send("POST /v1/channels", body));
  expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual([201, 409]);
});

test("an unusable URL is refused when the channel is created [§19.1.6]", async () => {
  for (const url of [
    "https://10.1.2.3/",
    "https://169.254.169.254/",
    "http://8.8.8.8/",
    "https://user:pass@example.com/",
    "https://no-such-host.invalid/",
    `http://127.0.0.1/${"x".repeat(2_000)}`,
  ]) {
    const { status, body } = await person.send("POST /v1/channels", { ...WEBHOOK, url });
    expect([url, status, Object.keys(body.fields ?? {})]).toEqual([url, 422, ["url"]]);
    expect(JSON.stringify(body)).not.toContain(url.slice(8));
  }
});

test("an invalid ntfy topic or token is refused [§19.5.1]", async () => {
  const host = "https://ntfy.example";
  const refused = async (body: object) => {
    const given = { type: "ntfy", label: "x", url: `${host}/t`, ...body };
    const { status, body: problem } = await person.send("POST /v1/channels", given);
    return [status, Object.keys(problem.fields ?? {})];
  };
  for (const path of ["", "/", "/a/b", "/a.b", `/${"x".repeat(65)}`, "/a?b=1"]) {
    expect([path, ...(await refused({ url: host + path }))]).toEqual([path, 422, ["url"]]);
  }
  for (const token of ["", "a b", "é", "x".repeat(201)]) {
    expect(await refused({ token })).toEqual([422, ["token"]]);
  }
  expect(await refused({ type: "webhook", token: "tk_x" })).toEqual([422, ["token"]]);
  expect(await refused({ type: "webhook", buttons: true })).toEqual([422, ["buttons"]]);
});

test("a channel test makes one attempt, and the channel shows its outcome [§19.2.5] [§19.1.5]", async () => {
  const { body } = await person.send("POST /v1/channels", { ...WEBHOOK, url: receiver.url("/t") });
  await app.webhooks.settled();
  receiver.take();
  const { id, label } = body.channel;
  const path = `/v1/channels/${id}` as const;
  const read = async () => (await person.send("GET /v1/channels")).body.channels[0];
  const sent = await person.send(`POST ${path}/test`);
  expect(sent.status).toBe(200);
  expect(sent.body).toEqual({
    id: expect.stringMatching(/^dlv_[0-9a-f]{32}$/),
    target: { type: "webhook", id, label },
    status: "sent",
    reason: null,
    queued_at: clock.now(),
    sent_at: clock.now(),
    shown_at: null,
    opened_at: null,
    // A webhook has no button.
    answer_by: null,
  });
  expect(receiver.take()).toMatchObject([
    { type: "channel.test", data: { channel_id: id, label } },
  ]);

  receiver.behave(() => 418);
  const failed = await person.send(`POST ${path}/test`, {});
  expect(failed.body).toMatchObject({ status: "failed", reason: "status_418", sent_at: null });
  expect(receiver.take().length).toBe(1);
  expect(await read()).toMatchObject({ state: "ok", last_error: { code: "status_418" } });
  receiver.behave(() => 410);
  await person.send(`POST ${path}/test`);
  expect((await read()).state).toBe("gone");
  receiver.behave(() => 200);
  await person.send(`POST ${path}/test`);
  expect((await read()).state).toBe("ok");

  await person.send(`POST ${path}/test`);
  await clock.skip(60);
  await person.send(`POST ${path}/test`);
  const seventh = await person.send(`POST ${path}/test`);
  expect(seventh.body).toMatchObject({ status: 429, code: "rate_limited" });
  expect(Number(seventh.headers.get("retry-after"))).toBe(3_540);
  await clock.skip(3_541);
  expect((await person.send(`POST ${path}/test`)).status).toBe(200);
  await person.send(`DELETE ${path}`);
  expect((await person.send(`POST ${path}/test`)).status).toBe(404);
});

test("a channel test without a response fails as timed_out [§19.2.5] [§19.1.5]", async () => {
  const impatient = await startTestApp({ clock, timers: clock });
  const { send } = await createPerson(impatient.url);
  const { body } = await send("POST /v1/channels", { ...WEBHOOK, url: receiver.url("/silent") });
  await impatient.webhooks.settled();
  const silent = gate();
  receiver.behave(async () => {
    await silent.opened;
    return 200;
  });
  const tested = send(`POST /v1/channels/${body.channel.id}/test`);
  await until(() => receiver.open() === 1);
  await clock.skip(WEBHOOK_LIMITS.test_wait);
  expect((await tested).body).toMatchObject({ status: "failed", reason: "timed_out" });
  silent.open();
});
