/**
 * A later request reads what a client sent in a field. The fields come from the routes, so that a new
 * field that is forgotten anywhere between schema and store fails here.
 */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import {
  ask,
  claim,
  client,
  createAgent,
  createPair,
  createTask,
  DEVICE,
  newToken,
  type Send,
  WEBHOOK,
} from "../support/client.ts";
import { startRequest } from "../support/oauth.ts";
import { BODY_ROUTES } from "../support/routes.ts";
import { startTelegram } from "../support/telegram.ts";
import { until } from "../support/until.ts";
import { rowOf } from "../support/world.ts";

const telegram = await startTelegram({ strict: false });
const bot = telegram.newBot("relay_bot");
const app = await startTestApp({
  env: { TELEGRAM_API_ROOT: telegram.url, TELEGRAM_BOT_TOKEN: bot.token },
});
const { person, agent } = await createPair(app.url);
const other = await createAgent(app.url, person, "other");
const task = await createTask(agent.send);

type Fields = Readonly<Record<string, unknown>>;

interface Target {
  /** Sends the fields for a resource of its own, and returns the request that reads it afterwards. */
  readonly write: (fields: Fields) => Promise<() => Promise<Fields>>;
  /** A body without the field under test. */
  readonly body: Fields;
  /** Values of fields that name something. */
  readonly names?: Fields;
  /** Fields that are read under another name or in another form. */
  readonly readAs?: Readonly<Record<string, (resource: any) => unknown>>;
}

const read = async (send: Send, path: `/${string}`) => (await send(`GET ${path}`)).body;
const expectOk = (answer: { readonly status: number; readonly body: any }) => {
  expect([200, 201, 204], JSON.stringify(answer.body)).toContain(answer.status);
  return answer.body;
};
const byId = (list: readonly any[], id: string) => list.find((one) => one.id === id);
const channelOf = (id: string) => async () => {
  const found = byId((await read(person.send, "/v1/channels")).channels, id);
  // There is room for 20.
  expectOk(await person.send(`DELETE /v1/channels/${id}`));
  return found;
};
const keyOf = (id: string) => async () => byId((await read(person.send, "/v1/keys")).keys, id);

/** By procedure. Every route with a body is here, except {@link UNREAD}. */
const TARGETS: Readonly<Record<string, Target>> = {
  "accounts.update": {
    body: { settings: { live_activities: true } },
    readAs: { settings: ({ settings: { live_activities } }) => ({ live_activities }) },
    async write(fields) {
      expectOk(await person.send("PATCH /v1/account", fields));
      return () => read(person.send, "/v1/account");
    },
  },
  "accounts.create": {
    body: {},
    async write(fields) {
      const { token } = expectOk(await client(app.url)("POST /v1/accounts", fields));
      return async () => (await read(client(app.url, token), "/v1/sessions")).sessions[0];
    },
  },
  "sessions.update": {
    body: { label: "l" },
    async write(fields) {
      const { sessions } = await read(person.send, "/v1/sessions");
      expectOk(await person.send(`PATCH /v1/sessions/${sessions[0].id}`, fields));
      return async () => (await read(person.send, "/v1/sessions")).sessions[0];
    },
  },
  "pairings.claim": {
    body: {},
    async write(fields) {
      const { code } = expectOk(await person.send("POST /v1/pairings", {}));
      const { session, token } = expectOk(await claim(app.url, { code, ...fields }));
      const send = client(app.url, token);
      return async () => {
        const found = byId((await read(send, "/v1/sessions")).sessions, session.id);
        // There is room for 50.
        expectOk(await send(`DELETE /v1/sessions/${session.id}`));
        return found;
      };
    },
  },
  "recovery.claim": {
    body: {},
    async write(fields) {
      const { code } = expectOk(await person.send("POST /v1/account/recovery-code", {}));
      const body = { code, token: newToken(), ...fields };
      const { session, token } = expectOk(await client(app.url)("POST /v1/sessions/recover", body));
      const send = client(app.url, token);
      return async () => {
        const found = byId((await read(send, "/v1/sessions")).sessions, session.id);
        expectOk(await send(`DELETE /v1/sessions/${session.id}`));
        return found;
      };
    },
  },
  "devices.put": {
    body: DEVICE,
    async write(fields) {
      const id = `dev_${crypto.randomUUID()}`;
      const put = async (body: Fields) => {
        expectOk(await person.send(`PUT /v1/devices/${id}`, body));
        const { updated_at, ...device } = byId(
          (await read(person.send, "/v1/devices")).devices,
          id,
        );
        return device;
      };
      const made = await put(fields);
      expect(await put(DEVICE)).toMatchObject(DEVICE);
      expect(await put(fields)).toEqual(made);
      return async () => made;
    },
  },
  "keys.create": {
    body: { label: "l" },
    write: async (fields) => keyOf(expectOk(await person.send("POST /v1/keys", fields)).key.id),
  },
  "keys.update": {
    body: { label: other.key.label },
    async write(fields) {
      expectOk(await person.send(`PATCH /v1/keys/${other.key.id}`, fields));
      return keyOf(other.key.id);
    },
  },
  "tasks.create": {
    body: { title: "t", key_id: agent.key.id },
    names: { key_id: other.key.id },
    async write(fields) {
      const { id } = expectOk(await person.send("POST /v1/tasks", fields));
      return () => read(person.send, `/v1/tasks/${id}`);
    },
  },
  "tasks.update": {
    body: {},
    async write(fields) {
      const { id } = await createTask(agent.send);
      const answer = expectOk(await agent.send(`PATCH /v1/tasks/${id}`, fields));
      expect(answer).toEqual(await read(agent.send, `/v1/tasks/${id}`));
      return () => read(agent.send, `/v1/tasks/${id}`);
    },
  },
  "questions.ask": {
    body: { prompt: "p" },
    names: { task_id: task.id },
    readAs: { expires_in: ({ expires_at, created_at }) => expires_at - created_at },
    async write(fields) {
      const { id } = await ask(agent.send, fields);
      return async () => {
        const question = await read(agent.send, `/v1/questions/${id}`);
        await agent.send(`DELETE /v1/questions/${id}`);
        return question;
      };
    },
  },
  "questions.answer": {
    body: {},
    async write(fields) {
      const { id } = await ask(agent.send, { prompt: "p", kind: "text" });
      if (fields.answer !== undefined) {
        expectOk(await person.send(`POST /v1/questions/${id}/answer`, fields));
      }
      return () => read(person.send, `/v1/questions/${id}`);
    },
  },
  "oauth.approve": {
    body: {},
    names: { key_id: other.key.id },
    readAs: { key_id: ({ id }) => id },
    async write(choice) {
      const { request } = await startRequest(app.url);
      const fields = { request, ...choice };
      const { key } = expectOk(await person.send("POST /v1/oauth/approve", fields));
      return keyOf(key.id);
    },
  },
  "channels.create": {
    body: WEBHOOK,
    async write(fields) {
      const { channel } = expectOk(await person.send("POST /v1/channels", fields));
      return channelOf(channel.id);
    },
  },
  "channels.createLink": {
    body: { type: "telegram", label: "l" },
    async write(fields) {
      const { id, link } = expectOk(await person.send("POST /v1/channels/links", fields));
      telegram.newUser().start(bot, new URL(link).searchParams.get("start")!);
      const path = `/v1/channels/links/${id}` as const;
      await until(async () => (await read(person.send, path)).from !== null);
      const { channel } = expectOk(await person.send(`POST ${path}/confirm`));
      return channelOf(channel.id);
    },
  },
  "channels.update": {
    body: {},
    async write(fields) {
      const { channel } = expectOk(await person.send("POST /v1/channels", WEBHOOK));
      expectOk(await person.send(`PATCH /v1/channels/${channel.id}`, fields));
      return channelOf(channel.id);
    },
  },
  "messages.send": {
    body: { text: "t", key_id: agent.key.id },
    names: { key_id: other.key.id },
    async write(fields) {
      const { id, key_id } = expectOk(await person.send("POST /v1/messages", fields));
      const list = `/v1/keys/${key_id}/inbox` as const;
      return async () => byId((await read(person.send, list)).items, id);
    },
  },
};

/** Fields that no request reads; other tests show their effect. */
const UNREAD: Readonly<Record<string, string>> = {
  "accounts.create attestation": "checked, not stored",
  "accounts.create start_code": "checked, not stored",
  "accounts.create token": "a secret",
  "accounts.replaceToken token": "a secret",
  "pairings.lookup code": "read, not stored",
  "pairings.claim code": "a secret",
  "pairings.claim token": "a secret",
  "recovery.claim code": "a secret",
  "recovery.claim token": "a secret",
  "channels.check type": "checked, not stored",
  "channels.check url": "checked, not stored",
  "channels.create buttons": "no request reads it",
  "channels.create subscription": "a secret",
  "channels.create token": "a secret",
  "channels.create type": "each type has tests of its own",
  "channels.create url": "a secret but for its origin and end",
  "channels.createLink token": "a secret",
  "channels.createLink type": "has one value",
  "channels.reached code": "checked, not stored",
  "keys.setWebhook url": "a secret but for its origin and end",
  "liveActivities.put device_id": "no request reads live activities",
  "liveActivities.put push_token": "no request reads live activities",
  "liveActivities.delete device_id": "names what ends",
  "questions.remind minutes": "stored as a time",
  "deliveries.receive event": "stored as a time",
  "deliveries.receive device_id": "names what the receipt is for",
  "oauth.request request": "signed, not stored",
  "oauth.approve request": "signed, not stored",
  "oauth.deny request": "signed, not stored",
  "oauth.askApproval request": "no request reads it as it was sent",
  "oauth.awaitApproval secret": "a secret",
};

const fields = BODY_ROUTES.flatMap(({ procedure, in_body }) =>
  in_body!.map((field) => [procedure, field] as const),
);

test("each field of each body is tested here or listed as never read", () => {
  const rest = fields.filter((pair) => !(pair.join(" ") in UNREAD));
  expect(rest.filter(([procedure]) => !(procedure in TARGETS))).toEqual([]);
  const names = new Set(fields.map((pair) => pair.join(" ")));
  expect(Object.keys(UNREAD).filter((name) => !names.has(name))).toEqual([]);
});

/** Values that are stored as sent, besides the texts at the edges of the limits. */
function valuesOf({ names = {} }: Target, procedure: string, field: string): unknown[] {
  if (field in names) return [names[field]];
  return rowOf(procedure, field)
    .good.map((text) => JSON.parse(text) as unknown)
    .filter((value) => typeof value !== "string" || (value !== "" && value === value.trim()));
}

for (const [procedure, field] of fields) {
  const target = TARGETS[procedure];
  if (!target || `${procedure} ${field}` in UNREAD) continue;
  test(`${procedure} stores ${field}`, async () => {
    const valueIn = target.readAs?.[field] ?? ((resource: any) => resource[field]);
    const before = valueIn(await (await target.write(target.body))());
    const value = valuesOf(target, procedure, field).find((one) => !Bun.deepEquals(one, before));
    expect(value, "a value other than the default").toBeDefined();
    const { beside } = field in (target.names ?? {}) ? {} : rowOf(procedure, field);
    const readBack = await target.write({ ...target.body, ...beside, [field]: value });
    const after = valueIn(await readBack());
    expect(after).toEqual(value);
    expect(after).not.toEqual(before);
  });
}
