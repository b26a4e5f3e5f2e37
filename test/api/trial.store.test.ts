/** The trial of a sign-in (§4.1.6): what each route does in it, and its early end by another sign-in (§5.13.4). */

import { expect, test } from "bun:test";
import type { Key } from "../../src/model/key.ts";
import {
  ask,
  claim,
  client,
  createAgent,
  createPerson,
  createTask,
  DEVICE,
  newToken,
  type Person,
  pair,
  WEBHOOK,
} from "../support/client.ts";
import { connectClient, startRequest } from "../support/oauth.ts";
import { startPushService } from "../support/push-service.ts";
import { createPushWorld, newToken as newPushToken } from "../support/push-world.ts";
import { ROUTES } from "../support/routes.ts";
import { openStream } from "../support/stream.ts";
import { startTelegram } from "../support/telegram.ts";
import { until } from "../support/until.ts";

const service = await startPushService();
const telegram = await startTelegram({ strict: false });
const bot = telegram.newBot("relay_bot");
const world = await createPushWorld({
  env: {
    ...service.env,
    TELEGRAM_API_ROOT: telegram.url,
    TELEGRAM_BOT_TOKEN: bot.token,
  },
});
const { app, clock } = world;

const LINK = { type: "telegram", label: "Phone" };
const HOOK = { url: "http://127.0.0.1:9/inbox" };
const newDevice = () => `dev_${crypto.randomUUID()}` as const;
const device = () => ({ ...DEVICE, apns_token: newPushToken() });

/** A person with one of everything, and a phone in its trial. */
async function createScene() {
  const person = await createPerson(app.url);
  const { key, send: sendAsAgent } = await createAgent(app.url, person, "builder");
  const phone = await pair(app.url, person, "Phone");
  const tablet = await pair(app.url, person, "Tablet");
  const device_id = newDevice();
  const registered = (await person.send(`PUT /v1/devices/${device_id}`, device())).body;
  const { channel } = (await person.send("POST /v1/channels", WEBHOOK)).body;
  const { body: link } = await person.send("POST /v1/channels/links", LINK);
  // As if somebody had opened the link in a chat with the bot.
  const opened = await app.services.channelLinks.visited({
    code: new URL(link.link).searchParams.get("start")!,
    from: { name: "Anna", username: null },
    address: JSON.stringify({ token: null, bot_id: bot.id, username: bot.username, chat: 5 }),
  });
  expect(opened.is).toBe("linked");
  await person.send(`PUT /v1/keys/${key.id}/webhook`, HOOK);
  await connectClient(app.url, person, { key_id: key.id });
  const [grant] = (await person.send(`GET /v1/keys/${key.id}/grants`)).body.grants;
  const task = await createTask(sendAsAgent, { title: "Deploy", status: "in_progress" });
  await person.send(`PUT /v1/tasks/${task.id}/live-activity`, { device_id, push_token: "a1b2" });
  const question = await ask(sendAsAgent, { prompt: "Go?", task_id: task.id });
  const { request } = await startRequest(app.url);
  return {
    person,
    phone,
    tablet,
    registered,
    channel_id: channel.id as string,
    link_id: link.id as string,
    key_id: key.id,
    grant_id: grant.id as string,
    task_id: task.id,
    question_id: question.id,
    request,
  };
}
type Scene = Awaited<ReturnType<typeof createScene>>;
type Sent = readonly [request: `${string} /${string}`, body?: object];

/** What is left of the account for everyone but the phone, without times of use and attempts. */
async function stateOf({ person, key_id, task_id, link_id, registered }: Scene) {
  const read = async (path: string) => (await person.send(`GET ${path}` as `GET /${string}`)).body;
  const { sessions } = await read("/v1/sessions");
  const { channels } = await read("/v1/channels");
  const { keys } = await read("/v1/keys");
  return {
    account: { ...(await read("/v1/account")), storage: null },
    sessions: sessions.map(({ id, label, trial_ends_at }: Record<string, unknown>) => [
      id,
      label,
      trial_ends_at,
    ]),
    devices: (await read("/v1/devices")).devices,
    channels: channels.map(({ id, label, sends }: Record<string, unknown>) => [id, label, sends]),
    link: await read(`/v1/channels/links/${link_id}`),
    keys: keys.map(({ id, label, last4, webhook }: Key) => [id, label, last4, webhook?.created_at]),
    grants: (await read(`/v1/keys/${key_id}/grants`)).grants.map(({ id }: { id: string }) => id),
    task: (await person.send(`GET /v1/tasks/${task_id}`)).status,
    activities: await world.rows(
      `select device_id, push_token, ended_at from live_activities where task_id = '${task_id}'`,
    ),
    receipts: await world.rows(
      `select d.target_id, d.opened_at from question_deliveries d join questions q on q.id = d.question_id
       where q.task_id = '${task_id}' and d.target_id = '${registered.id}'`,
    ),
  };
}

/**
 * What a route does in the trial. `reads`: changes nothing. `work`: does what the sign-in is added for, and the result
 * stays. Otherwise requests: `refused` ones are 403 and change nothing, `own` ones succeed and end with the sign-in.
 */
type Effect =
  | "reads"
  | "work"
  | {
      readonly refused?: (scene: Scene) => readonly Sent[];
      readonly own?: (scene: Scene) => readonly Sent[];
    };

/** One entry for each route that an account may call; a route without an entry fails the test below. */
const EFFECTS: Readonly<Record<string, Effect>> = {
  "accounts.get": "reads",
  "accounts.update": {
    refused: () => [["PATCH /v1/account", { settings: { live_activities: false } }]],
  },
  "accounts.replaceToken": {
    own: ({ phone }) => [["POST /v1/account/token", { token: phone.token }]],
  },
  "recovery.get": "reads",
  "recovery.replace": { refused: () => [["POST /v1/account/recovery-code", {}]] },
  "accounts.delete": { refused: () => [["DELETE /v1/account"]] },
  "sessions.list": "reads",
  "sessions.update": {
    refused: ({ tablet }) => [[`PATCH /v1/sessions/${tablet.session.id}`, { label: "Mine" }]],
    own: ({ phone }) => [[`PATCH /v1/sessions/${phone.session.id}`, { label: "Mine" }]],
  },
  "sessions.confirm": {
    refused: ({ phone, tablet }) => [
      [`POST /v1/sessions/${tablet.session.id}/confirm`],
      [`POST /v1/sessions/${phone.session.id}/confirm`],
    ],
  },
  "sessions.delete": {
    refused: ({ tablet }) => [
      [`DELETE /v1/sessions/${tablet.session.id}`],
      [`DELETE /v1/sessions/${tablet.session.id}?last=true`],
    ],
  },
  "pairings.create": { refused: () => [["POST /v1/pairings", {}]] },
  "devices.list": "reads",
  "devices.put": {
    refused: ({ registered }) => [
      // Its id, its token, and both.
      [`PUT /v1/devices/${registered.id}`, device()],
      [`PUT /v1/devices/${newDevice()}`, { ...DEVICE, apns_token: registered.apns_token }],
      [`PUT /v1/devices/${registered.id}`, { ...DEVICE, apns_token: registered.apns_token }],
    ],
    own: () => {
      const path = `PUT /v1/devices/${newDevice()}` as const;
      return [
        [path, device()],
        [path, device()],
      ];
    },
  },
  "devices.delete": { refused: ({ registered }) => [[`DELETE /v1/devices/${registered.id}`]] },
  "channels.list": "reads",
  "channels.key": "reads",
  "channels.create": {
    refused: () => [["POST /v1/channels", WEBHOOK]],
    own: () => [
      [
        "POST /v1/channels",
        { type: "web_push", label: "Browser", subscription: service.subscribe() },
      ],
    ],
  },
  "channels.update": {
    refused: ({ channel_id }) => [[`PATCH /v1/channels/${channel_id}`, { sends: ["tasks"] }]],
  },
  "channels.delete": { refused: ({ channel_id }) => [[`DELETE /v1/channels/${channel_id}`]] },
  "channels.check": { refused: () => [["POST /v1/channels/check", { type: "web_push" }]] },
  "channels.createLink": { refused: () => [["POST /v1/channels/links", LINK]] },
  "channels.getLink": "reads",
  // Somebody has opened it, so that only the trial is in the way.
  "channels.confirmLink": {
    refused: ({ link_id }) => [[`POST /v1/channels/links/${link_id}/confirm`]],
  },
  "channels.test": { refused: ({ channel_id }) => [[`POST /v1/channels/${channel_id}/test`]] },
  "keys.list": "reads",
  "keys.create": { refused: () => [["POST /v1/keys", { label: "agent" }]] },
  "keys.update": { refused: ({ key_id }) => [[`PATCH /v1/keys/${key_id}`, { label: "x" }]] },
  "keys.delete": { refused: ({ key_id }) => [[`DELETE /v1/keys/${key_id}`]] },
  "keys.replaceSecret": { refused: ({ key_id }) => [[`POST /v1/keys/${key_id}/secret`, {}]] },
  "keys.grants": "reads",
  "keys.revokeGrant": {
    refused: ({ key_id, grant_id }) => [[`DELETE /v1/keys/${key_id}/grants/${grant_id}`]],
  },
  "keys.setWebhook": { refused: ({ key_id }) => [[`PUT /v1/keys/${key_id}/webhook`, HOOK]] },
  "keys.webhook": "reads",
  "keys.removeWebhook": { refused: ({ key_id }) => [[`DELETE /v1/keys/${key_id}/webhook`]] },
  "keys.activity": "reads",
  "oauth.request": "reads",
  "oauth.approve": {
    refused: ({ request, key_id }) => [
      ["POST /v1/oauth/approve", { request, label: "agent" }],
      ["POST /v1/oauth/approve", { request, key_id }],
    ],
  },
  // Gives nobody access: the client may ask again.
  "oauth.deny": "work",
  "inbox.ofKey": "reads",
  "tasks.list": "reads",
  "tasks.get": "reads",
  "tasks.history": "reads",
  "tasks.create": "work",
  "tasks.update": "work",
  "tasks.delete": { refused: ({ task_id }) => [[`DELETE /v1/tasks/${task_id}`]] },
  "liveActivities.put": {
    refused: ({ task_id, registered }) => [
      [`PUT /v1/tasks/${task_id}/live-activity`, { device_id: registered.id, push_token: "ee" }],
    ],
  },
  "liveActivities.delete": {
    refused: ({ task_id, registered }) => [
      [`DELETE /v1/tasks/${task_id}/live-activity`, { device_id: registered.id }],
    ],
  },
  "questions.list": "reads",
  "questions.get": "reads",
  "questions.answer": "work",
  "questions.remind": "work",
  "deliveries.list": "reads",
  "deliveries.receive": {
    refused: ({ question_id, registered }) => [
      [`POST /v1/questions/${question_id}/receipts`, { event: "opened", device_id: registered.id }],
    ],
  },
  "messages.send": "work",
};

const refusedOf = (effect: Effect, scene: Scene) =>
  typeof effect === "object" ? (effect.refused?.(scene) ?? []) : [];

test("every route that an account may call says what it does in the trial [§4.1.6]", () => {
  const callable = ROUTES.filter(({ access }) => access === "account" || access === "any");
  expect(Object.keys(EFFECTS).sort()).toEqual(callable.map(({ procedure }) => procedure).sort());
  for (const { procedure, type } of callable) {
    if (type === "query") expect([procedure, EFFECTS[procedure]]).toEqual([procedure, "reads"]);
  }
});

test("a sign-in in its trial is refused what would outlast it or take from others [§4.1.6]", async () => {
  const scene = await createScene();
  const before = await stateOf(scene);
  for (const [procedure, effect] of Object.entries(EFFECTS)) {
    for (const sent of refusedOf(effect, scene)) {
      const { status, body } = await scene.phone.send(...sent);
      expect([procedure, status, body?.code]).toEqual([procedure, 403, "forbidden"]);
      expect(body.detail).toContain("added less than 10 minutes ago");
    }
  }
  expect(await stateOf(scene)).toEqual(before);
});

test("what a sign-in registers in its trial ends with it [§4.1.6] [§5.3.2(7)] [§5.13.3(3)]", async () => {
  const scene = await createScene();
  const { person, phone, task_id } = scene;
  await person.send(`DELETE /v1/sessions/${scene.tablet.session.id}`);
  const before = await stateOf(scene);
  for (const [procedure, effect] of Object.entries(EFFECTS)) {
    for (const sent of typeof effect === "object" ? (effect.own?.(scene) ?? []) : []) {
      const { status } = await phone.send(...sent);
      expect([procedure, Math.floor(status / 100)]).toEqual([procedure, 2]);
    }
  }
  // The devices that it registered are its own, with their live activities.
  const id = newDevice();
  expect((await phone.send(`PUT /v1/devices/${id}`, device())).status).toBe(200);
  const path = `/v1/tasks/${task_id}/live-activity` as const;
  const activity = { device_id: id, push_token: "cc" };
  expect((await phone.send(`PUT ${path}`, activity)).status).toBe(204);
  expect((await phone.send(`DELETE ${path}`, { device_id: id })).status).toBe(204);
  expect((await phone.send(`PUT ${path}`, activity)).status).toBe(204);
  const gone = newDevice();
  await phone.send(`PUT /v1/devices/${gone}`, device());
  expect((await phone.send(`DELETE /v1/devices/${gone}`)).status).toBe(204);
  expect((await person.send("GET /v1/devices")).body.devices).toHaveLength(3);

  expect((await person.send(`DELETE /v1/sessions/${phone.session.id}`)).status).toBe(204);
  const after = await stateOf(scene);
  const others = ([one]: unknown[]) => one !== phone.session.id;
  expect(after).toEqual({ ...before, sessions: before.sessions.filter(others) });
  expect(await world.rows(`select 1 from deliveries where recipient_id = '${id}'`)).toEqual([]);
});

test("another sign-in ends the trial at once, in every process [§5.13.4(1)] [§7.2 session.confirmed] [§4.1.6]", async () => {
  const scene = await createScene();
  const { person, phone, tablet } = scene;
  const there = await world.start();
  const streams = await Promise.all([
    openStream(there.url, person.token),
    openStream(app.url, phone.token),
  ]);
  const { id } = phone.session;
  // The use by its stream is written in the background.
  const used = `select 1 from credentials where id = '${id}' and last_used_at is not null`;
  await until(async () => (await world.rows(used)).length > 0);
  const confirmed = { ...phone.session, trial_ends_at: null, current: false };
  const answer = await person.send(`POST /v1/sessions/${id}/confirm`);
  expect(answer).toMatchObject({
    status: 200,
    body: { ...confirmed, last_used_at: expect.anything() },
  });
  // The other process looks for events by its clock.
  await clock.advance(1);
  for (const stream of streams) {
    const { data } = await stream.next(({ event }) => event === "session.confirmed");
    expect(data).toMatchObject({ session: { id, trial_ends_at: null, current: false } });
    stream.close();
  }
  const own = (await phone.send("GET /v1/sessions")).body.sessions.find(
    (one: { current: boolean }) => one.current,
  );
  expect([own.id, own.trial_ends_at]).toEqual([id, null]);
  // Once confirmed, it may do all that the others may; the tablet is still in its trial.
  expect((await tablet.send(`POST /v1/sessions/${id}/confirm`)).status).toBe(403);
  const elsewhere: Person = { ...phone, send: client(there.url, phone.token) };
  expect((await elsewhere.send(`POST /v1/sessions/${tablet.session.id}/confirm`, {})).status).toBe(
    200,
  );
  for (const [procedure, effect] of Object.entries(EFFECTS)) {
    if (procedure === "accounts.delete") continue;
    for (const sent of refusedOf(effect, scene)) {
      const { status } = await phone.send(...sent);
      expect([procedure, status]).not.toEqual([procedure, 403]);
    }
  }
  expect((await phone.send("DELETE /v1/account")).status).toBe(204);
});

test("confirming a sign-in without a trial changes nothing and sends no event [§5.13.4(2)]", async () => {
  const person = await createPerson(app.url);
  const phone = await pair(app.url, person);
  const [first] = (await person.send("GET /v1/sessions")).body.sessions.filter(
    (one: { current: boolean }) => one.current,
  );
  await person.send(`POST /v1/sessions/${phone.session.id}/confirm`);
  const stream = await openStream(app.url, person.token);
  for (const id of [phone.session.id, first.id]) {
    const { status, body } = await person.send(`POST /v1/sessions/${id}/confirm`);
    expect([status, body.id, body.trial_ends_at]).toEqual([200, id, null]);
  }
  await createAgent(app.url, person);
  expect(await stream.names(1)).toEqual(["key.created"]);
  stream.close();
  const stranger = await createPerson(app.url);
  const answer = await stranger.send(`POST /v1/sessions/${first.id}/confirm`);
  expect([answer.status, answer.body.fields]).toEqual([404, { session_id: expect.any(String) }]);
});

test("a sign-in shows the address that its code was used from [§2.9]", async () => {
  const person = await createPerson(app.url);
  const phone = await pair(app.url, person);
  expect(phone.session.address).toBe("127.0.0.1");
  const { code } = (await person.send("POST /v1/pairings", {})).body;
  const token = newToken();
  const { address: once } = (await claim(app.url, { code, token })).body.session;
  expect((await claim(app.url, { code, token })).body.session.address).toBe(once);
  const { sessions } = (await person.send("GET /v1/sessions")).body;
  for (const { made_by, address } of sessions) {
    expect(address).toBe(made_by === "account" ? null : "127.0.0.1");
  }
});

test("push tokens of other sign-ins' devices are hidden during the trial [§4.1.6]", async () => {
  const { person, phone, registered } = await createScene();
  await clock.advance(1);
  const own = (await phone.send(`PUT /v1/devices/${newDevice()}`, device())).body;
  const list = async ({ send }: Pick<Person, "send">) =>
    (await send("GET /v1/devices")).body.devices;
  const none = { apns_token: null, push_to_start_token: null, widget_push_token: null };
  expect(await list(phone)).toEqual([own, { ...registered, ...none }]);
  expect(await list(person)).toEqual([own, registered]);
  await person.send(`POST /v1/sessions/${phone.session.id}/confirm`);
  expect(await list(phone)).toEqual([own, registered]);
});
