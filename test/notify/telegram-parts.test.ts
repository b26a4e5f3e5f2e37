/** Replies by Telegram that come in parts or are edited, buttons that stay, and links opened elsewhere (§19.9.5). */

import { expect, test } from "bun:test";
import type { Question } from "../../src/model/question.ts";
import { ask, client, createPerson } from "../support/client.ts";
import { startTelegramWorld } from "../support/telegram-world.ts";

const world = await startTelegramWorld();
const { telegram, clock, shared, connect, eventually, settle, advance } = world;

type Connected = Awaited<ReturnType<typeof connect>>;
type Message = ReturnType<Connected["chat"]>[number];

const TEXT = { prompt: "Write the mail", kind: "text" };
const FIRST = "first half ".repeat(350).trim();
const SECOND = "second half: but do NOT send it";

const taken = async () => {
  await eventually(() => shared.waiting() === 0);
  await settle();
};
const asked = async (one: Connected, body: object = TEXT) => {
  const before = one.chat().length;
  const { id } = await ask(one.agent.send, body);
  await eventually(() => one.chat().length > before);
  await settle();
  return { id, message: one.chat().at(-1)! };
};
const read = async ({ person }: Connected, id: string) =>
  (await person.send(`GET /v1/questions/${id}`)).body as Question;
/** What the bot said since the question. */
const saidAfter = ({ chat }: Connected, { message_id }: Message) =>
  chat().filter((one) => one.message_id > message_id);

/** Expects one refusal with a link, a pending question, and that a short reply then counts. */
const refusedAsWhole = async (
  one: Connected,
  { id, message }: { id: string; message: Message },
) => {
  await taken();
  await eventually(() => saidAfter(one, message).length > 0);
  await advance(3);
  expect(saidAfter(one, message).map(({ text }) => text)).toEqual([
    "The answer is too long for one message: none of it was taken. Shorten it, or answer in Relay.",
  ]);
  expect(saidAfter(one, message)[0]!.buttons).toEqual([
    [{ text: "Open", url: `https://relay.example/#/questions/${id}` }],
  ]);
  expect(await read(one, id)).toMatchObject({ status: "pending", answer: null });
  one.user.reply(shared, message, "Short");
  await taken();
  expect((await read(one, id)).answer).toBe("Short");
};

/** How the apps split texts: at 4,096 units, at the end of a sentence far before, and into replies or not. */
const SPLITS: Record<string, readonly string[]> = {
  "in the middle": [FIRST, SECOND],
  "at 4,096 units": ["x".repeat(4_096), "y"],
  "into three": ["x".repeat(4_096), "y".repeat(4_090), "z"],
  "long before the end of a message": ["Use this. ".repeat(101).trim(), "x".repeat(4_000)],
  "of emoji": ["😀".repeat(2_048), "and then not"],
};
for (const [how, parts] of Object.entries(SPLITS)) {
  test(`a reply that the app splits ${how} answers nothing, and is refused once [§19.9.5]`, async () => {
    for (const replies of [true, false]) {
      const one = await connect();
      const question = await asked(one);
      for (const [i, part] of parts.entries()) {
        if (i === 0 || replies) one.user.reply(shared, question.message, part);
        else one.user.write(shared, part);
      }
      await refusedAsWhole(one, question);
    }
  });
}

test("the next part may be seconds late [§19.9.5]", async () => {
  const one = await connect();
  const late = await asked(one);
  one.user.reply(shared, late.message, FIRST);
  await advance(3);
  one.user.reply(shared, late.message, "y".repeat(4_000));
  await advance(3);
  one.user.write(shared, SECOND);
  await refusedAsWhole(one, late);
});

test("a long reply counts after a moment, and meanwhile others are served [§19.9.5]", async () => {
  const one = await connect();
  const other = await connect();
  const [mine, theirs] = [await asked(one), await asked(other, { prompt: "Ship it?" })];
  const replied_at = clock.now();
  one.user.reply(shared, mine.message, FIRST);
  await eventually(() => shared.waiting() === 1);
  other.user.tap(shared, theirs.message, "Yes");
  await taken();
  const [slow, fast] = [await read(one, mine.id), await read(other, theirs.id)];
  expect([slow.answer, fast.answer]).toEqual([FIRST, "Yes"]);
  expect(slow.answered_at! - replied_at).toBeGreaterThanOrEqual(5);
  expect(fast.answered_at!).toBeLessThan(slow.answered_at!);
  expect(saidAfter(one, mine.message)).toEqual([]);
  telegram.toasts.splice(0);
});

test("what is no part does not change an answer: another question, a later text, a remark [§19.9.5]", async () => {
  const one = await connect();
  const [long, short] = [await asked(one), await asked(one)];
  one.user.reply(shared, long.message, FIRST);
  one.user.reply(shared, short.message, "x".repeat(900));
  await taken();
  expect((await read(one, long.id)).answer).toBe(FIRST);
  expect((await read(one, short.id)).answer).toBe("x".repeat(900));

  const remarked = await asked(one);
  one.user.reply(shared, remarked.message, "Yes");
  one.user.write(shared, "thank you");
  await taken();
  expect((await read(one, remarked.id)).answer).toBe("Yes");
});

test("parts that waited for Relay answer nothing, in any order, and a later text is no part [§19.9.5] [§19.8.4]", async () => {
  const fresh = await startTelegramWorld();
  const one = await fresh.connect();
  const bot = fresh.shared;
  const next = async () => {
    const before = one.chat().length;
    const { id } = await ask(client(app.local_url, one.agent.secret), TEXT);
    await fresh.eventually(() => one.chat().length > before);
    await fresh.settle();
    return { id, message: one.chat().at(-1)! };
  };
  let { app } = fresh;
  const answerOf = async (id: string) =>
    (await client(app.local_url, one.agent.secret)(`GET /v1/questions/${id}`)).body.answer;
  const whileAway = async (write: () => void) => {
    await app.stop();
    write();
    await fresh.clock.skip(600);
    app = await fresh.start();
    await fresh.eventually(() => bot.waiting() === 0);
    await fresh.advance(5);
  };

  // Its process stops while a reply waits.
  const first = await next();
  one.user.reply(bot, first.message, FIRST);
  await fresh.advance(2);
  expect(bot.waiting()).toBe(1);
  await whileAway(() => one.user.write(bot, SECOND));
  expect(await answerOf(first.id)).toBeNull();
  expect(saidAfter(one, first.message)[0]!.text).toContain("none of it was taken");

  const second = await next();
  await whileAway(() => {
    one.user.reply(bot, second.message, "Use this.");
    one.user.reply(bot, second.message, "x".repeat(4_000));
  });
  expect(await answerOf(second.id)).toBeNull();

  const third = await next();
  await whileAway(() => {
    const said = {
      date: Math.floor(fresh.clock.now()),
      chat: { id: one.user.id, type: "private" },
      from: { id: one.user.id, is_bot: false },
      reply_to_message: { message_id: third.message.message_id, from: { id: bot.id } },
    };
    bot.push({ message: { ...said, message_id: 9_001, text: SECOND } });
    bot.push({ message: { ...said, message_id: 9_000, text: FIRST } });
  });
  expect(await answerOf(third.id)).toBeNull();

  const fourth = await next();
  await app.stop();
  one.user.reply(bot, fourth.message, FIRST);
  await fresh.clock.skip(300);
  await whileAway(() => one.user.write(bot, "is this thing on?".padEnd(500, "?")));
  expect(await answerOf(fourth.id)).toBe(FIRST);
  expect(fresh.telegram.faults).toEqual([]);
});

test("a flood does not wait for the next part of a reply, which is then refused [§19.9.5]", async () => {
  const one = await connect();
  const other = await connect();
  const [mine, theirs] = [await asked(one), await asked(other, { prompt: "Ship it?" })];
  one.user.reply(shared, mine.message, FIRST);
  for (let i = 0; i < 250; i++) other.user.write(shared, "hello");
  other.user.tap(shared, theirs.message, "Yes");
  await eventually(async () => (await read(other, theirs.id)).answer === "Yes");
  await refusedAsWhole(one, mine);
  telegram.toasts.splice(0);
});

test("an edit counts while its reply waits, and later the person is told that it does not [§19.9.5]", async () => {
  const one = await connect();
  const { user } = one;
  const edit = (update: ReturnType<typeof user.reply>, text: string) => {
    const message = update.message as { date: number };
    shared.push({ edited_message: { ...message, edit_date: message.date + 1, text } });
  };
  const short = await asked(one);
  const said = user.reply(shared, short.message, "all of them");
  await advance(2);
  edit(said, "none of them");
  await taken();
  await eventually(() => saidAfter(one, short.message).length === 1);
  expect(saidAfter(one, short.message)[0]!.text).toMatch(/the text that you sent first counted/);
  expect((await read(one, short.id)).answer).toBe("all of them");

  const long = await asked(one);
  const draft = user.reply(shared, long.message, FIRST);
  await advance(1);
  edit(draft, "x".repeat(2_000));
  await advance(1);
  edit(draft, "Only this");
  await taken();
  expect((await read(one, long.id)).answer).toBe("Only this");
  expect(saidAfter(one, long.message)).toEqual([]);
  // A second reply that is edited gets its own word; one to nothing gets none.
  edit(draft, "Or this");
  edit(user.write(shared, "hello"), "hello you");
  await taken();
  await eventually(() => saidAfter(one, long.message).length >= 1);
  expect(saidAfter(one, long.message)[0]!.text).toMatch(/An edit changes nothing/);
});

test("an end that Telegram does not take removes the buttons, and a tap on those that are left does [§19.9.4] [§19.9.5]", async () => {
  const one = await connect();
  const answered = await asked(one, { prompt: "Ship it?" });
  const refuse = { refuse: [400, "Bad Request: can't parse entities"] } as const;
  telegram.behave(refuse, "editMessageText");
  await one.person.send(`POST /v1/questions/${answered.id}/answer`, { answer: "Yes" });
  await eventually(() => answered.message.buttons.length === 0);

  telegram.behave(refuse, "editMessageReplyMarkup");
  telegram.toasts.splice(0);
  for (const days of [0, 3]) {
    const { id, message } = await asked(one, { prompt: "Ship it?" });
    await one.person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
    await advance(5);
    expect(message.buttons.length).toBeGreaterThan(0);
    await clock.skip(days * 86_400);
    telegram.behave("ok", "editMessageReplyMarkup");
    one.user.tap(shared, message, "No");
    await taken();
    await eventually(() => message.buttons.length === 0 && telegram.toasts.length === 1);
    expect(telegram.toasts.splice(0)[0]).toMatch(/answered|no longer works/);
    telegram.behave(refuse, "editMessageReplyMarkup");
  }
  telegram.behave("ok", "editMessageReplyMarkup");
  telegram.behave("ok", "editMessageText");
});

test("a link that is opened late, by another person or in a group gets a sentence [§19.2.7] [§19.9.5]", async () => {
  const person = await createPerson(world.app.local_url);
  const made = await person.send("POST /v1/channels/links", { type: "telegram", label: "Phone" });
  const code = new URL(made.body.link).searchParams.get("start")!;
  const [group, user, other] = [telegram.newUser(), telegram.newUser(), telegram.newUser()];
  const told = (who: typeof user) =>
    who
      .chat(shared)
      .filter(({ from_bot }) => from_bot)
      .map(({ text }) => text);
  // Also as the app writes it in a group.
  const in_group = { chat: { id: group.id, type: "supergroup", title: "g" } };
  group.write(shared, `/start@${shared.username} ${code}`, in_group);
  group.write(shared, `/start ${code}`, in_group);
  await eventually(() => told(group).length === 1);
  expect(told(group)[0]).toMatch(/in a private chat/);
  const { body } = await person.send(`GET /v1/channels/links/${made.body.id}`);
  expect(body.from).toBeNull();

  user.start(shared, code);
  await eventually(() => told(user).length === 1);
  other.start(shared, code);
  await eventually(() => told(other).length === 1);
  expect(told(other)[0]).toMatch(/This link can't be used/);

  await clock.skip(86_400);
  const late = telegram.newUser();
  late.start(shared, code);
  await eventually(() => told(late).length === 1);
  expect(told(late)[0]).toMatch(/for a short time/);
  await settle();
  expect(telegram.faults).toEqual([]);
});
