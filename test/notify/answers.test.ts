/** How Relay handles each answer of the push service (§14.7). */

import { afterEach, expect, test } from "bun:test";
import type { Behaviour } from "../support/apple.ts";
import { ask, createTask } from "../support/client.ts";
import { createPushWorld, type Phone } from "../support/push-world.ts";
import { until } from "../support/until.ts";

const world = await createPushWorld();
const { apple, advance } = world;

afterEach(() => {
  apple.behave(() => undefined);
  expect(apple.faults.splice(0)).toEqual([]);
});

/** A person with one phone, after the pushes of the setup were sent. */
async function people() {
  const made = await world.people("a");
  await advance(61);
  await made.told();
  apple.forget();
  const phone = made.phones[0]!;
  return {
    ...made,
    phone,
    /** Kind, outcome, reason and attempts of the phone's newest records, newest first. */
    async records(count: number) {
      const { records: all } = await world.app.services.deliveryFigures.read(100);
      const mine = all.filter(({ recipient_id }) => recipient_id === phone.id).slice(0, count);
      return mine.map(({ kind, outcome, reason, attempts }) => [kind, outcome, reason, attempts]);
    },
    /** Kinds of the pushes queued for the phone. */
    queued: async () =>
      (
        await world.rows(
          `select kind from deliveries where recipient_id = '${phone.id}' order by seq`,
        )
      ).flat(),
  };
}

const tokensOf = async (device_id: string) => {
  const targets = (await world.rows(
    `select purpose, address from delivery_targets where recipient_id = '${device_id}'`,
  )) as [string, string][];
  const tokens = new Map(targets);
  return ["alert", "activity_start", "widget"].map((purpose) => tokens.get(purpose) ?? null);
};

const counted = () => world.app.sender.health()[0]!.counts;

/** The answers to the phone's next pushes, in order; every later push is accepted. */
const answers = ({ apns_token }: Phone, ...list: Behaviour[]) => {
  apple.behave(({ token }) => (token === apns_token ? list.shift() : undefined));
};

/** Seconds from the first request for the token to each one. */
const waits = (token: string) => {
  const times = apple.received.filter((one) => one.token === token).map(({ time }) => time);
  return times.map((time) => Math.round(time - times[0]!));
};

test("a 200 deletes the queued row and leaves an outcome record without content", async () => {
  const { agent, phone, records, queued } = await people();
  const { id } = await ask(agent.send, { prompt: "Secret prompt?" });
  await world.settle();
  expect(await queued()).toEqual([]);
  expect(await records(1)).toEqual([["question", "sent", null, 1]]);
  const { records: kept } = await world.app.services.deliveryFigures.read(1);
  expect(kept[0]).toMatchObject({ recipient_id: phone.id, lane: "sandbox" });
  const [row] = await world.rows("select * from delivery_records order by seq desc limit 1");
  expect(row!.join(" ")).toContain(id);
  for (const secret of ["Secret", phone.apns_token]) expect(row!.join(" ")).not.toContain(secret);
});

test("410 and BadDeviceToken remove the token that was used and no other [§5.3.2(5)]", async () => {
  for (const [status, reason] of [
    [410, "Unregistered"],
    [410, "ExpiredToken"],
    [400, "BadDeviceToken"],
  ] as const) {
    const { agent, phone, records, queued } = await people();
    const answer = { status, reason, ...(status === 410 && { timestamp: world.clock.now() }) };
    const refuse = (token: string) =>
      apple.behave((one) => (one.token === token ? answer : undefined));
    const all = [phone.apns_token, phone.push_to_start_token, phone.widget_push_token];

    refuse(phone.apns_token);
    await ask(agent.send);
    await world.settle();
    expect(await tokensOf(phone.id)).toEqual([null, all[1]!, all[2]!]);
    expect(await records(1)).toEqual([["question", "invalid_token", reason, 1]]);

    refuse(phone.push_to_start_token);
    await createTask(agent.send, { title: "t", status: "in_progress" });
    await world.settle();
    expect(await tokensOf(phone.id)).toEqual([null, null, all[2]!]);

    refuse(phone.widget_push_token);
    await createTask(agent.send);
    await advance(60);
    expect(await tokensOf(phone.id)).toEqual([null, null, null]);
    expect(await queued()).toEqual([]);
  }
});

test("a device registered anew while its 410 is on the way keeps its token and gets the push", async () => {
  const { agent, person, phone, records } = await people();
  const { id, ...tokens } = phone;
  const device = { platform: "ios", model: "m", os_version: "1", app_version: "1" };
  const put = (fields: object) =>
    person.send(`PUT /v1/devices/${id}`, { ...device, apns_environment: "sandbox", ...fields });
  const gone = (timestamp: number) => ({ status: 410, reason: "Unregistered", timestamp });

  // With another token.
  const old = apple.hold();
  apple.behave(({ token }) => (token === phone.apns_token ? gone(world.clock.now()) : undefined));
  await ask(agent.send, { prompt: "one" });
  // This push uses the old token.
  await until(() => apple.openStreams() > 0);
  const renewed = `${phone.apns_token}ff`;
  await put({ ...tokens, apns_token: renewed });
  old.release();
  await world.settle();
  expect((await tokensOf(id))![0]).toBe(renewed);
  expect(apple.delivered.map(({ token }) => token)).toEqual([renewed]);
  expect(await records(1)).toEqual([["question", "sent", null, 2]]);

  // With the same token, after the service found it invalid.
  apple.forget();
  const before = world.clock.now();
  await advance(10);
  answers({ ...phone, apns_token: renewed }, gone(before));
  const same = apple.hold();
  await ask(agent.send, { prompt: "two" });
  await put({ ...tokens, apns_token: renewed });
  same.release();
  await advance(5);
  expect((await tokensOf(id))![0]).toBe(renewed);
  expect(apple.received.map(({ token }) => token)).toEqual([renewed, renewed]);
  expect(apple.delivered.length).toBe(1);
});

test("a 410 for a live activity deletes its registration, unless the token has changed", async () => {
  const { agent, person, phone, queued } = await people();
  const shown = () => world.rows("select push_token from live_activities");
  const { id } = await createTask(agent.send, { title: "t", status: "in_progress" });
  const put = (push_token: string) =>
    person.send(`PUT /v1/tasks/${id}/live-activity`, { device_id: phone.id, push_token });
  await put("aa01");
  await advance(1);
  apple.behave(({ token }) =>
    token === "aa01"
      ? { status: 410, reason: "Unregistered", timestamp: world.clock.now() }
      : undefined,
  );
  const first = apple.hold();
  await agent.send(`PATCH /v1/tasks/${id}`, { progress: 1 });
  await until(() => apple.openStreams() > 0);
  await put("aa02");
  first.release();
  await advance(6);
  expect(await shown()).toEqual([["aa02"]]);
  const last = apple.delivered.filter(({ token }) => token === "aa02").at(-1)!;
  expect(last.payload.aps["content-state"].progress).toBe(1);

  apple.behave(({ token }) =>
    token === "aa02" ? { status: 400, reason: "BadDeviceToken" } : undefined,
  );
  await agent.send(`PATCH /v1/tasks/${id}`, { progress: 2 });
  await advance(6);
  expect(await shown()).toEqual([]);
  expect(await queued()).toEqual([]);
});

test("a configuration error is logged and counted; the token stays and nothing is repeated", async () => {
  const { agent, phone, records } = await people();
  const faults = [
    [400, "DeviceTokenNotForTopic"],
    [400, "BadTopic"],
    [400, "TopicDisallowed"],
    [400, "MissingTopic"],
    [400, "InvalidPushType"],
    [403, "Forbidden"],
  ] as const;
  for (const [status, reason] of faults) {
    answers(phone, { status, reason });
    await ask(agent.send, { prompt: "secret" });
    // A channel has one line a minute.
    await advance(61);
    expect(await records(1)).toEqual([["question", "refused", reason, 1]]);
    expect(counted()[reason]).toBe(1);
    const logged = world.app.lines.filter((line) => line.includes(reason));
    expect(logged.length).toBe(1);
    expect(logged[0]).toContain("channel configuration at fault");
    expect(logged[0]).not.toContain(phone.apns_token);
  }
  expect(waits(phone.apns_token).length).toBe(faults.length);
  expect((await tokensOf(phone.id))![0]).toBe(phone.apns_token);
  expect(world.app.sender.health()[0]!.state).toBe("open");
});

test("pushes answered with 413 or another 4xx are dropped, logged and counted", async () => {
  const { agent, records, phone } = await people();
  for (const [status, reason] of [
    [413, "PayloadTooLarge"],
    [400, "BadMessageId"],
    [404, "BadPath"],
    [405, "MethodNotAllowed"],
    [418, "Teapot"],
  ] as const) {
    answers(phone, { status, reason });
    await ask(agent.send, { prompt: "secret" });
    // A channel has one line a minute.
    await advance(61);
    expect(await records(1)).toEqual([["question", "refused", reason, 1]]);
    expect(counted()[reason]).toBe(1);
    expect(world.app.lines.filter((line) => line.includes(reason)).length).toBe(1);
  }
  expect(waits(phone.apns_token).length).toBe(5);
});

test("429 TooManyRequests holds the token for 30 s, then doubles, and Retry-After is obeyed [§14.7]", async () => {
  const { agent, person, phone, queued } = await people();
  const other = await world.phone(person, "b");
  const busy = { status: 429, reason: "TooManyRequests" };
  let left: Behaviour[] = [busy, busy, { ...busy, retry_after: 500 }];
  apple.behave(({ token }) => (token === phone.apns_token ? left.shift() : undefined));
  await ask(agent.send, { prompt: "one" });
  await advance(10);
  // Other pushes for that token wait too; other tokens do not.
  await ask(agent.send, { prompt: "two" });
  await world.settle();
  expect(apple.received.filter(({ token }) => token === phone.apns_token).length).toBe(1);
  expect(apple.delivered.filter(({ token }) => token === other.apns_token).length).toBe(2);
  await advance(18);
  expect(waits(phone.apns_token).length).toBe(1);
  await advance(3);
  const first_wait = waits(phone.apns_token)[1]!;
  expect(first_wait).toBeGreaterThanOrEqual(30);
  expect(first_wait).toBeLessThanOrEqual(31);
  left = left.slice(0, 1);
  await advance(700, 20);
  const texts = apple.delivered
    .filter(({ token }) => token === phone.apns_token)
    .map(({ payload }) => payload.aps.alert.body);
  expect(texts.sort()).toEqual(["one", "two"]);
  expect(await queued()).toEqual([]);
});

test("a token waits at least as long as Retry-After says", async () => {
  const { agent, phone, records } = await people();
  const busy = { status: 429, reason: "TooManyRequests" };
  answers(phone, busy, busy, busy, { ...busy, retry_after: 1_000 });
  await ask(agent.send, { prompt: "one", expires_in: 86_400 });
  await advance(1_600, 8);
  const [, one, two, three, four] = waits(phone.apns_token) as number[];
  const steps = [one!, two! - one!, three! - two!, four! - three!];
  // The full spread, since the random number is at its maximum: 30, 60, 120, then 1,000 and 240.
  for (const [i, wait] of [30, 60, 120, 1_240].entries()) {
    expect(steps[i]!).toBeGreaterThanOrEqual(wait);
    expect(steps[i]!).toBeLessThanOrEqual(wait + 10);
  }
  expect(await records(1)).toEqual([["question", "sent", null, 5]]);
});

test("a push answered with 5xx is retried for 15 minutes, and a question twice sooner", async () => {
  const { agent, phone } = await people();
  const down = { status: 503, reason: "ServiceUnavailable" };
  answers(phone, down, down, down, { status: 500, reason: "InternalServerError" });
  await ask(agent.send, { prompt: "one", expires_in: 86_400 });
  await world.settle();
  await advance(3_800, 20);
  const times = waits(phone.apns_token);
  expect(times.length).toBe(5);
  const steps = times.slice(1).map((time, i) => time - times[i]!);
  for (const [i, wait] of [30, 60, 1_800, 1_800].entries()) {
    expect(steps[i]!).toBeGreaterThanOrEqual(wait);
    expect(steps[i]!).toBeLessThanOrEqual(wait + 22);
  }
  const mine = apple.received.filter(({ token }) => token === phone.apns_token);
  expect(new Set(mine.map(({ apns_id }) => apns_id)).size).toBe(1);

  apple.forget();
  answers(phone, down);
  const task = await createTask(agent.send);
  await advance(880, 20);
  const tries = () => apple.received.filter(({ collapse_id }) => collapse_id === task.id).length;
  expect(tries()).toBe(1);
  await advance(960, 20);
  expect(tries()).toBe(2);
});

test("a push that cannot be sent ends when it expires [§14.6]", async () => {
  const { agent, person, records, queued } = await people();
  apple.behave(() => ({ status: 503, reason: "Shutdown" }));
  await ask(agent.send, { prompt: "one", expires_in: 60 });
  await person.send(`PATCH /v1/keys/${agent.key.id}`, { label: "x" });
  await advance(59);
  expect((await queued()).length).toBe(2);
  await advance(15);
  expect(await queued()).toEqual(["silent"]);
  // A clear is retried for a day, so that its notification does not stay on the screen.
  await advance(85_000, 1_000);
  expect(await queued()).toEqual(["silent"]);
  await advance(2_000, 100);
  expect(await queued()).toEqual([]);
  const kept = await records(2);
  expect(kept.map(([kind, outcome]) => [kind, outcome]).sort()).toEqual([
    ["clear", "expired"],
    ["question", "expired"],
  ]);
});

test("a late push is not sent once its question has ended, and is cleared if it was sent", async () => {
  const { agent, person, phone, told, records } = await people();
  // Refused for now and answered meanwhile: never sent.
  answers(phone, { status: 503, reason: "Shutdown" });
  const first = await ask(agent.send, { prompt: "one" });
  await world.settle();
  await person.send(`POST /v1/questions/${first.id}/answer`, { answer: "Yes" });
  await advance(100);
  expect(await told()).toEqual([`a: clear ${first.id}`]);
  expect((await records(9)).map(([kind, outcome]) => [kind, outcome])).toContainEqual([
    "question",
    "pointless",
  ]);

  // Being sent while the question is answered, and so slow that the clear overtakes it.
  apple.forget();
  const slow = apple.hold();
  const second = await ask(agent.send, { prompt: "two" });
  await until(() => apple.openStreams() > 0);
  slow.pass();
  await person.send(`POST /v1/questions/${second.id}/answer`, { answer: "Yes" });
  await world.clock.advance(1.5);
  await until(() => apple.delivered.length === 1);
  slow.release();
  await world.settle();
  await advance(3);
  const lines = apple.delivered
    .filter(({ token }) => token === phone.apns_token)
    .map(({ type, payload }) => [type, payload.relay.clear ?? payload.relay.question_id]);
  expect(lines).toEqual([
    ["background", [second.id]],
    ["alert", second.id],
    ["background", [second.id]],
  ]);
});
