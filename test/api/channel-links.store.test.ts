/** Links by which channels are added: who may open, see and confirm them, how often, and for how long (§19.2.7). */

import { afterAll, expect, test } from "bun:test";
import { pruneLinks } from "../../db/notify/replies.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { ERRORS } from "../../src/errors.ts";
import { LIMITS } from "../../src/limits.ts";
import type { LinkVisitor } from "../../src/notify/replies/source.ts";
import { startTestApp } from "../support/app.ts";
import {
  type Answer,
  client,
  createAgent,
  createPerson,
  type Person,
  pair,
  WEBHOOK,
} from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { startTelegram } from "../support/telegram.ts";

const { url: database_url } = await createTestStore();
const clock = createTestClock();
const telegram = await startTelegram({ clock });
const shared = telegram.newBot("shared_relay_bot");
const env = { TELEGRAM_API_ROOT: telegram.url, TELEGRAM_BOT_TOKEN: shared.token };
const app = await startTestApp({ database_url, clock, env });
const peer = await startTestApp({ database_url, clock, env });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
afterAll(() => store.close());
const rows = (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({}));

const BODY = { type: "telegram", label: "My phone" };
const create = ({ send }: Pick<Person, "send">, body: object = {}) =>
  send("POST /v1/channels/links", { ...BODY, ...body });
const get = ({ send }: Pick<Person, "send">, id: string) => send(`GET /v1/channels/links/${id}`);
const confirm = ({ send }: Pick<Person, "send">, id: string) =>
  send(`POST /v1/channels/links/${id}/confirm`);
const codeOf = ({ link }: { link: string }) => new URL(link).searchParams.get("start")!;
const expectCode = ({ status, body }: Answer, code: keyof typeof ERRORS, ...fields: string[]) =>
  expect([status, body?.code, ...Object.keys(fields.length > 0 ? body.fields : {})]).toEqual([
    ERRORS[code].status,
    code,
    ...fields,
  ]);
const ANNA: LinkVisitor = { name: "Anna", username: "anna" };

/** As if somebody had opened the link in a chat with the bot. */
const visit = (
  link: { link: string },
  { from = ANNA, chat = 5, bot = shared, own = false } = {},
) => {
  const token = own ? bot.token : null;
  const address = JSON.stringify({ token, bot_id: bot.id, username: bot.username, chat });
  return peer.services.channelLinks.visited({ code: codeOf(link), from, address });
};

test("a link is opened by one person, shows who that was, and becomes a channel once confirmed [§19.2.7] [§19.2.8] [§19.2.9]", async () => {
  const person = await createPerson(app.url);
  const { status, body: made } = await create(person);
  expect([status, made]).toEqual([
    201,
    {
      id: expect.stringMatching(/^lnk_[0-9a-f]{32}$/),
      link: expect.stringMatching(/^https:\/\/t\.me\/shared_relay_bot\?start=[\w-]{43}$/),
      expires_at: clock.now() + LIMITS.channel_link_life,
      from: null,
    },
  ]);
  expect((await get(person, made.id)).body).toEqual(made);
  expectCode(await confirm(person, made.id), "link_not_opened");
  expect((await person.send("GET /v1/channels")).body.channels).toEqual([]);

  const opened = await visit(made);
  expect(opened).toEqual({ is: "linked", text: expect.stringMatching(/questions .* block/i) });
  // A stranger learns nothing. The same person is told again, since the first message may have been lost.
  const EVE = { name: "Eve", username: "eve" };
  for (const other of [{ from: EVE, chat: 6 }, { chat: 7 }, { bot: { ...shared, id: 7 } }]) {
    expect(await visit(made, other)).toEqual({ is: "unknown" });
  }
  expect(await visit(made, { from: EVE })).toEqual(opened);
  expect((await get(person, made.id)).body).toEqual({ ...made, from: ANNA });
  expect((await person.send("GET /v1/channels")).body.channels).toEqual([]);

  const { status: added, body } = await confirm(person, made.id);
  expect([added, body.channel]).toEqual([
    201,
    {
      id: expect.stringMatching(/^chn_/),
      ...BODY,
      sends: ["questions", "tasks"],
      min_priority: "low",
      quiet_hours: null,
      state: "ok",
      last_sent_at: null,
      last_error: null,
      missed: 0,
      created_at: clock.now(),
      origin: "https://t.me",
      hint: "_bot",
      replies: true,
      reached_at: null,
    },
  ]);
  expect((await person.send("GET /v1/channels")).body.channels).toEqual([body.channel]);
  const [[address]] = (await rows(
    `select address from delivery_targets where recipient_id = '${body.channel.id}'`,
  )) as [[string]];
  expect(JSON.parse(address)).toMatchObject({ token: null, chat: 5 });
  // A repetition gives the same channel, and the link is gone.
  expect((await confirm(person, made.id)).body).toEqual(body);
  expectCode(await get(person, made.id), "not_found");
  expect(await visit(made)).toEqual({ is: "unknown" });
  for (const line of [...app.lines, ...peer.lines]) {
    expect(line).not.toContain(codeOf(made));
    expect(line).not.toContain(shared.token);
  }
  const stored = JSON.stringify(await rows("select * from channel_links"));
  expect(stored).not.toContain(codeOf(made));
});

test("ten confirmations of a link at once over two processes make one channel [§19.2.9]", async () => {
  const person = await createPerson(app.url);
  const other = client(peer.url, person.token);
  const { body: made } = await create(person);
  await visit(made);
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) => confirm(i % 2 ? person : { send: other }, made.id)),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  expect(new Set(answers.map(({ body }) => body.channel.id)).size).toBe(1);
  expect((await person.send("GET /v1/channels")).body.channels.length).toBe(1);
});

test("ten people who open a link at once are one visitor [§19.2.7]", async () => {
  const person = await createPerson(app.url);
  const { body: made } = await create(person);
  const outcomes = await Promise.all(
    Array.from({ length: 10 }, (_, chat) =>
      visit(made, { chat, from: { name: `N${chat}`, username: null } }),
    ),
  );
  const first = outcomes.findIndex(({ is }) => is === "linked");
  expect(outcomes.filter(({ is }) => is === "linked").length).toBe(1);
  expect((await get(person, made.id)).body.from.name).toBe(`N${first}`);
});

test("the same person and bot again replace the channel of the account, and nobody else's [§19.2.9]", async () => {
  const person = await createPerson(app.url);
  const other = await createPerson(app.url);
  const add = async (who: Person, chat: number) => {
    const { body: made } = await create(who);
    await visit(made, { chat });
    return (await confirm(who, made.id)).body.channel.id;
  };
  const foreign = await add(other, 7);
  const first = await add(person, 7);
  const second = await add(person, 8);
  const again = await add(person, 7);
  const ids = async (who: Person) =>
    (await who.send("GET /v1/channels")).body.channels.map(({ id }: { id: string }) => id);
  expect(await ids(person)).toEqual([again, second]);
  expect(await ids(other)).toEqual([foreign]);
  expect(await rows(`select 1 from delivery_targets where recipient_id = '${first}'`)).toEqual([]);
});

test("a link belongs to its account, and an agent and a sign-in in its trial may not use it [§19.2.7] [§19.2.8] [§19.2.9] [§4.1.6]", async () => {
  const person = await createPerson(app.url);
  const other = await createPerson(app.url);
  const agent = await createAgent(app.url, person, "builder");
  const { body: made } = await create(person);
  await visit(made);
  expectCode(await get(other, made.id), "not_found");
  expectCode(await confirm(other, made.id), "not_found");
  for (const answer of [
    await create(agent),
    await get(agent, made.id),
    await confirm(agent, made.id),
  ]) {
    expectCode(answer, "forbidden");
  }
  const added = await pair(app.url, person);
  const trial = { send: client(app.url, added.token) };
  expectCode(await create(trial), "forbidden");
  expectCode(await confirm(trial, made.id), "forbidden");
  expect((await get(trial, made.id)).body.from).toEqual(ANNA);
  expect((await confirm(person, made.id)).status).toBe(201);
});

test("a link ends after ten minutes, with the account, and with the sixth one after it [§19.2.7] [§19.2.8]", async () => {
  const person = await createPerson(app.url);
  const made = [];
  for (let i = 0; i <= LIMITS.channel_links; i++) {
    made.push((await create(person)).body);
    await clock.advance(1);
  }
  expectCode(await get(person, made[0].id), "not_found");
  expect(await visit(made[0])).toEqual({ is: "unknown" });
  expect((await visit(made[1])).is).toBe("linked");
  await clock.advance(LIMITS.channel_link_life - 4);
  expect((await get(person, made[1].id)).status).toBe(404);
  expectCode(await confirm(person, made[1].id), "not_found");
  for (const late of [made[1], made[2]]) expect(await visit(late)).toEqual({ is: "unknown" });
  expect((await get(person, made[5].id)).status).toBe(200);
  await clock.advance(60);
  await app.jobs.settled();
  expect(await pruneLinks(store, clock.now(), 100)).toBeLessThanOrEqual(6);
  const left = `select 1 from channel_links where account_id = '${person.account.id}'`;
  expect(await rows(left)).toEqual([]);
  await create(person);
  await person.send("DELETE /v1/account");
  expect(await rows(left)).toEqual([]);
});

test("a link takes no channel beyond the twentieth, unless one is replaced [§19.2.9]", async () => {
  const person = await createPerson(app.url);
  const { body: first } = await create(person);
  await visit(first, { chat: 11 });
  await confirm(person, first.id);
  for (let i = 1; i < LIMITS.channels_per_account; i++) {
    await person.send("POST /v1/channels", WEBHOOK);
  }
  const { body: more } = await create(person);
  await visit(more, { chat: 12 });
  expectCode(await confirm(person, more.id), "too_many_channels");
  expect((await get(person, more.id)).status).toBe(200);
  const { body: same } = await create(person);
  await visit(same, { chat: 11 });
  expect((await confirm(person, same.id)).status).toBe(201);
});

test("a code counts only for the bot of its link [§19.9.1]", async () => {
  const person = await createPerson(app.url);
  const own = telegram.newBot();
  const { body: made } = await create(person, { token: own.token });
  expect(made.link).toStartWith(`https://t.me/${own.username}?start=`);
  expect(await visit(made)).toEqual({ is: "unknown" });
  expect((await visit(made, { bot: own, own: true })).is).toBe("linked");
});

test("a token that cannot be used is refused with the reason [§19.9.1]", async () => {
  const person = await createPerson(app.url);
  const hooked = telegram.newBot();
  hooked.setWebhook("https://example.com/hook");
  const refusals: [object, RegExp][] = [
    [{ token: `1:${"x".repeat(20)}` }, /not the token/],
    [{ token: "x" }, /must be the token/],
    [{ token: hooked.token }, /another program uses/],
  ];
  for (const [body, why] of refusals) {
    const answer = await create(person, body);
    expectCode(answer, "invalid_fields", "token");
    expect(answer.body.fields.token).toMatch(why);
  }
  for (const how of ["drop", 502, "junk", { flood: 3 }] as const) {
    telegram.behave(how, "getMe");
    const answer = await create(person);
    expectCode(answer, "invalid_fields", "token");
    expect(answer.body.fields.token).toMatch(/could not be checked/);
  }
  telegram.behave("ok", "getMe");
  // What is no Bot API, and answers anything.
  for (const method of ["getMe", "getWebhookInfo"]) {
    for (const result of [undefined, null, 5, { id: shared.id, username: 5, url: 5 }]) {
      telegram.behave({ answer: () => ({ ok: true, result }) }, method);
      expectCode(await create(person), "invalid_fields", "token");
    }
    telegram.behave("ok", method);
  }
  const without = await startTestApp({ env: { TELEGRAM_API_ROOT: telegram.url } });
  const lone = await createPerson(without.url);
  const answer = await create(lone);
  expectCode(answer, "invalid_fields", "token");
  expect(answer.body.fields.token).toMatch(/required/);
  const typed = await lone.send("POST /v1/channels", { ...BODY, url: "https://t.me/x" });
  expectCode(typed, "invalid_fields", "type");
  expect(await rows("select 1 from channel_links where length(address) = 0")).toEqual([]);
});

test("links count toward what an account makes the server send [§19.2.7] [§10.6.8]", async () => {
  const limited = await startTestApp({ clock, env: { ...env, RATE_LIMITS: "on" } });
  const person = await createPerson(limited.url);
  let made = 0;
  for (let i = 0; i < 121; i++) {
    const { status } = await create(person);
    if (status === 201) made++;
    else expect(status).toBe(429);
    await clock.advance(0.5);
  }
  expect(made).toBe(120);
});

test("the names of who opened a link cannot hide or reorder the page [§19.2.7]", async () => {
  const person = await createPerson(app.url);
  const { body: made } = await create(person);
  const name = `A\u202e\u0000n\nna${"x".repeat(200)}`;
  await visit(made, { from: { name, username: "\u200b" } });
  const { from } = (await get(person, made.id)).body;
  expect(from.name).toBe(`Anna${"x".repeat(LIMITS.link_name - 4)}`);
  const { body: blank } = await create(person);
  await visit(blank, { from: { name: "\u3164\u200b", username: null } });
  expect((await get(person, blank.id)).body.from).toEqual({ name: "(no name)", username: null });
});
