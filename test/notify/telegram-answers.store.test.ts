/** Answers that come by Telegram: whose count, what the person sees, over two processes (§19.9.5). */

import { expect, test } from "bun:test";
import type { Question } from "../../src/model/question.ts";
import { callHook, commandOf } from "../support/approve.ts";
import { ask, client, createAgent, createPerson, createTask } from "../support/client.ts";
import { startTelegramWorld } from "../support/telegram-world.ts";

const world = await startTelegramWorld();
const { telegram, clock, app, shared, connect, eventually, settle } = world;
const peer = await world.start();

type Connected = Awaited<ReturnType<typeof connect>>;

/** Resolves once the bot has taken all updates, and what follows from them was done. */
const taken = async (bot = shared) => {
  await eventually(() => bot.waiting() === 0);
  await settle();
};
const asked = async (one: Connected, body: object = { prompt: "Ship it?" }): Promise<Question> => {
  const before = one.chat().length;
  const question = await ask(one.agent.send, body);
  await eventually(() => one.chat().length > before);
  await settle();
  return question;
};
const read = async ({ person }: Connected, { id }: { id: string }) =>
  (await person.send(`GET /v1/questions/${id}`)).body as Question;
const buttons = ({ chat }: Connected) =>
  chat()
    .at(-1)!
    .buttons.flat()
    .flatMap(({ text, callback_data }) => (callback_data ? [text] : []));

test("a tap answers, is confirmed by a toast, and the message keeps the question without buttons [§19.9.5] [§19.9.4]", async () => {
  const one = await connect();
  const question = await asked(one);
  const waiting = one.agent.send(`GET /v1/questions/${question.id}?wait=50`);
  const [message] = one.chat();
  expect(buttons(one)).toEqual(["Yes", "No", "Remind me in 10 minutes"]);
  one.user.tap(shared, message!, "Yes");
  await taken();
  expect((await waiting).body).toMatchObject({ status: "answered", answer: "Yes" });
  await eventually(() => message!.edits === 1 && telegram.toasts.length === 1);
  expect(telegram.toasts.splice(0)).toEqual(["Answered: Yes"]);
  expect(one.chat()).toEqual([message!]);
  expect([message!.text, message!.buttons]).toEqual([
    "Question from builder\n\nShip it?\n\nAnswered: Yes",
    [],
  ]);
});

test("a reply answers a text question, and another one in own words [§19.9.5]", async () => {
  const one = await connect();
  const text = await asked(one, { prompt: "Name?", kind: "text" });
  one.user.reply(shared, one.chat().at(-1)!, "Ada Lovelace");
  await taken();
  expect((await read(one, text)).answer).toBe("Ada Lovelace");
  const other = await asked(one, { prompt: "Sure?", allow_other: true });
  one.user.reply(shared, one.chat().at(-1)!, "Tomorrow");
  await taken();
  expect((await read(one, other)).answer).toBe("Tomorrow");
  await eventually(() => one.chat().at(-1)!.text.endsWith("Answered: Tomorrow"));
  // No message but the questions: the changed message says that the reply arrived.
  expect(one.chat().length).toBe(2);
});

test("a reply that cannot be taken is answered with the reason [§19.9.5]", async () => {
  const one = await connect();
  const question = await asked(one);
  const message = one.chat().at(-1)!;
  one.user.reply(shared, message, "Perhaps");
  await taken();
  await eventually(() => one.chat().length === 2);
  expect((await read(one, question)).status).toBe("pending");
  expect(one.chat().at(-1)).toMatchObject({ reply_to: expect.any(Number) });
  await one.agent.send(`DELETE /v1/questions/${question.id}`);
  await settle();
  await clock.advance(2);
  one.user.reply(shared, message, "Yes");
  await taken();
  await eventually(() => one.chat().length === 3);
  expect(one.chat().at(-1)!.text).toMatch(/cancelled/);
});

test("nobody but the bound person in the bound chat can answer, and they learn nothing [§19.9.5]", async () => {
  const one = await connect();
  const eve = await connect();
  const question = await asked(one);
  const foreign = await asked(eve);
  const message = one.chat().at(-1)!;
  const code = message.buttons.flat()[0]!.callback_data!;
  const foreign_code = eve.chat().at(-1)!.buttons.flat()[0]!.callback_data!;
  const stranger = telegram.newUser("Mallory");
  stranger.start(shared, "x".repeat(43));
  await eventually(() => stranger.chat(shared).at(-1)!.text.startsWith("This link can't be used"));
  const { user } = one;
  const calls = telegram.calls.length;

  // Another user, as a forged client says, in the chat of the first; and the code in another chat.
  user.tap(shared, message, "Yes", { by: { id: eve.user.id, is_bot: false, first_name: "Eve" } });
  stranger.tap(shared, message, "Yes", { data: code });
  eve.user.tap(shared, eve.chat().at(-1)!, "Yes", { data: code });
  // The code of another account's question, and codes with one byte changed.
  user.tap(shared, message, "Yes", { data: foreign_code });
  for (let i = 0; i < code.length; i += 5) {
    const other = code[i] === "A" ? "B" : "A";
    user.tap(shared, message, "Yes", { data: code.slice(0, i) + other + code.slice(i + 1) });
  }
  for (const data of ["", "x", "0".repeat(64), code.slice(1), `${code}A`]) {
    user.tap(shared, message, "Yes", { data });
  }
  // Replies: of strangers, forwarded, to messages of others, of a bot.
  stranger.write(shared, "Yes", {
    reply_to_message: { message_id: message.message_id, from: { id: shared.id } },
  });
  user.reply(shared, message, "Yes", { forward_origin: { type: "user", date: 1 } });
  user.reply(shared, message, "Yes", {
    from: { id: eve.user.id, is_bot: false, first_name: "Eve" },
  });
  user.reply(shared, message, "Yes", { chat: { id: -100, type: "group", title: "g" } });
  stranger.write(shared, "Yes");
  // What no client should send.
  for (const update of [
    {},
    { message: {} },
    { callback_query: {} },
    { message: { chat: {}, text: 1 } },
  ]) {
    shared.push(update);
  }
  await taken();
  expect((await read(one, question)).status).toBe("pending");
  expect((await read(eve, foreign)).status).toBe("pending");
  expect(telegram.toasts).toEqual([]);
  expect(telegram.calls.slice(calls)).toEqual([]);
  // The bot still works.
  user.tap(shared, message, "No");
  await taken();
  expect((await read(one, question)).answer).toBe("No");
  telegram.toasts.splice(0);
});

test("a reply counts before the name of its message is stored, and after it was forgotten [§19.9.5]", async () => {
  const one = await connect();
  const other = await asked(one, { prompt: "Sure?", allow_other: true });
  await world.change("delete from channel_messages");
  one.user.reply(shared, one.chat().at(-1)!, "Tomorrow");
  await taken();
  expect(await read(one, other)).toMatchObject({ status: "answered", answer: "Tomorrow" });
  // The buttons that remind tell the question too; without any, the person is told to try again.
  const text = await asked(one, { prompt: "Name?", kind: "text" });
  await world.change("delete from channel_messages");
  one.user.reply(shared, one.chat().at(-1)!, "Ada");
  await taken();
  expect((await read(one, text)).answer).toBe("Ada");
  const short = await asked(one, { prompt: "Name?", kind: "text", expires_in: 300 });
  await world.change("delete from channel_messages");
  const message = one.chat().at(-1)!;
  expect(message.text).toContain("Name?");
  one.user.reply(shared, message, "Ada");
  await taken();
  await eventually(() => one.chat().at(-1)!.text.includes("reply again"));
  expect((await read(one, short)).status).toBe("pending");
});

test("whoever opens a link again is told again, since the message may have been lost, and nobody else is told whose it is [§19.2.7] [§19.9.5]", async () => {
  const person = await createPerson(app.local_url);
  const [user, other] = [telegram.newUser(), telegram.newUser()];
  const body = { type: "telegram", label: "Phone" };
  const { body: link } = await person.send("POST /v1/channels/links", body);
  const open = (who: typeof user) =>
    who.start(shared, new URL(link.link).searchParams.get("start")!);
  const sent = () => JSON.stringify(telegram.calls).includes(`"chat_id":${user.id}`);
  const told = (who: typeof user) => who.chat(shared).filter(({ from_bot }) => from_bot);
  telegram.behave("drop", "sendMessage");
  open(user);
  await eventually(sent);
  expect(told(user)).toEqual([]);
  telegram.behave("ok", "sendMessage");
  open(other);
  open(user);
  await taken();
  await eventually(() => told(user).length > 0);
  expect(told(user)).toMatchObject([{ text: expect.stringContaining("confirm that this is you") }]);
  expect(told(other)).toMatchObject([{ text: expect.stringContaining("can't be used") }]);
});

test("a person who writes beside the questions is told how to answer, once in ten minutes [§19.9.5]", async () => {
  const one = await connect();
  const question = await asked(one, { prompt: "Name?", kind: "text" });
  const message = one.chat().at(-1)!;
  const said = () => one.chat().slice(1);
  const own = () => one.user.chat(shared).findLast(({ from_bot }) => !from_bot)!;
  one.user.write(shared, "Yes");
  one.user.reply(shared, own(), "Yes");
  one.user.write(shared, "/start");
  one.user.write(shared, "", { text: undefined, sticker: {} });
  await taken();
  await eventually(() => said().length === 1);
  expect(said()[0]).toMatchObject({ reply_to: expect.any(Number) });
  expect(said()[0]!.text).toMatch(/tap a button below it, or reply/);
  // A reply without text.
  one.user.reply(shared, message, "", { text: undefined, sticker: {} });
  one.user.reply(shared, message, "", { text: undefined, photo: [], caption: "Ada" });
  await taken();
  await eventually(() => said().length === 2);
  expect(said()[1]!.text).toBe("Only text can be an answer.");
  one.user.write(shared, "Yes");
  await taken();
  expect(said().length).toBe(2);
  await clock.advance(610);
  one.user.write(shared, "Yes");
  await taken();
  await eventually(() => said().length === 3);
  expect((await read(one, question)).status).toBe("pending");
  one.user.reply(shared, message, "Ada");
  await taken();
  expect((await read(one, question)).answer).toBe("Ada");
});

test("a reply is refused above 4,000 characters and without a visible one, and permits no request that is cut [§19.9.5] [§14.3.8]", async () => {
  const one = await connect();
  const question = await asked(one, { prompt: "Name?", kind: "text" });
  const message = one.chat().at(-1)!;
  for (const [i, words] of ["x".repeat(4_001), " \n "].entries()) {
    one.user.reply(shared, message, words);
    await taken();
    await eventually(() => one.chat().length === 2 + i);
    expect(one.chat().at(-1)!.text).toStartWith("The answer ");
  }
  expect((await read(one, question)).status).toBe("pending");
  one.user.reply(shared, message, "x".repeat(4_000));
  await taken();
  expect((await read(one, question)).answer).toHaveLength(4_000);

  void callHook(app.local_url, one.agent.secret, commandOf("ls".padEnd(3_000, " x")));
  const before = one.chat().length;
  await eventually(() => one.chat().length > before);
  await settle();
  const prompt = one.chat().at(-1)!;
  expect(buttons(one)).toEqual(["Deny"]);
  one.user.reply(shared, prompt, "Allow");
  await taken();
  await eventually(() => one.chat().at(-1)!.text.includes("does not show the whole request"));
  one.user.reply(shared, prompt, "deny");
  await taken();
  await eventually(() => prompt.text.endsWith("Denied") || prompt.text.endsWith("Answered: Deny"));
});

test("a code says one option of one question, is good once, and a late one is told the end [§19.9.5]", async () => {
  const one = await connect();
  const first = await asked(one, { prompt: "Which?", kind: "choice", options: ["a", "b", "c"] });
  const message = one.chat().at(-1)!;
  const kept = structuredClone(message);
  await asked(one);
  one.user.tap(shared, kept, "“b”");
  one.user.tap(shared, kept, "“b”");
  one.user.tap(shared, kept, "“c”");
  await taken();
  expect((await read(one, first)).answer).toBe("b");
  await eventually(() => telegram.toasts.length === 3);
  expect(telegram.toasts.splice(0)).toEqual([
    "Answered: b",
    "Answered: b",
    expect.stringMatching(/answered/),
  ]);
});

test("an answer in the page and a tap at the same time over two processes are one answer [§19.9.5]", async () => {
  for (let round = 0; round < 4; round++) {
    const one = await connect();
    const question = await asked(one);
    const message = one.chat().at(-1)!;
    const page = client(round % 2 ? peer.local_url : app.local_url, one.person.token);
    one.user.tap(shared, message, "Yes");
    const answered = page(`POST /v1/questions/${question.id}/answer`, { answer: "No" });
    await taken();
    const { status } = await answered;
    const { answer } = await read(one, question);
    expect(answer).toBe(status === 200 ? "No" : "Yes");
    // The keyboard may go before, by the tap that came too late.
    await eventually(() => message.text.endsWith(`Answered: ${answer}`));
    await eventually(() => telegram.toasts.length === 1);
    expect(telegram.toasts.splice(0)[0]).toContain(answer === "Yes" ? "Answered: Yes" : "answered");
  }
});

test("an end elsewhere changes the message: answered, expired, cancelled, key deleted [§19.9.4]", async () => {
  const one = await connect();
  const ended = async (end: (question: Question) => Promise<unknown>) => {
    const question = await asked(one);
    await end(question);
    // The nudge before an expiry is a new message.
    await eventually(() => one.chat().at(-1)!.edits > 0);
    const message = one.chat().at(-1)!;
    expect(message.buttons).toEqual([]);
    return message.text.split("\n").at(-1);
  };
  const { person, agent } = one;
  expect(
    await ended(({ id }) => person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" })),
  ).toBe("Answered: Yes");
  expect(await ended(({ id }) => agent.send(`DELETE /v1/questions/${id}`))).toBe("Cancelled");
  expect(await ended(() => clock.advance(3_601))).toBe("Expired");
  expect(await ended(() => person.send(`DELETE /v1/keys/${agent.key.id}`))).toBe("Cancelled");
});

test("after the channel's end nothing counts, and one person can serve two accounts [§19.9.5]", async () => {
  const one = await connect();
  const two = await connect({ user: one.user });
  const first = await asked(one);
  const message = one.user.chat(shared).at(-1)!;
  const second = await ask(two.agent.send, { prompt: "Second?" });
  await eventually(() => one.user.chat(shared).at(-1)!.text.includes("Second?"));
  one.user.tap(shared, one.user.chat(shared).at(-1)!, "Yes");
  await taken();
  expect((await read(two, second)).answer).toBe("Yes");
  expect((await read(one, first)).status).toBe("pending");
  await eventually(() => telegram.toasts.splice(0).length === 1);
  await one.person.send(`DELETE /v1/channels/${one.id}`);
  one.user.tap(shared, message, "Yes");
  one.user.reply(shared, message, "Yes");
  await taken();
  expect((await read(one, first)).status).toBe("pending");
  for (const text of telegram.toasts.splice(0)) expect(text).toBe("This button no longer works.");
});

test("progress of a task changes its message, other news is a new one [§19.9.4]", async () => {
  const one = await connect();
  const { agent, chat, user } = one;
  const task = await createTask(agent.send, { title: "Build" });
  await eventually(() => chat().length === 1);
  const patch = async (body: object) => {
    await clock.advance(11);
    await agent.send(`PATCH /v1/tasks/${task.id}`, body);
  };
  await patch({ progress: 10 });
  await eventually(() => chat()[0]!.text.includes("10%"));
  await patch({ progress: 50, status_note: "halfway" });
  await eventually(() => chat()[0]!.text.includes("halfway"));
  expect(chat().map(({ edits }) => edits)).toEqual([2]);
  // A message that the person deleted is sent again, and the next change goes there.
  user.remove(shared, chat()[0]!);
  await patch({ progress: 60 });
  await eventually(() => chat()[0]?.text.includes("60%"));
  await patch({ progress: 70 });
  await eventually(() => chat()[0]!.text.includes("70%"));
  const before = chat()[0]!.message_id;
  await patch({ status: "done" });
  await eventually(() => chat()[0]!.text.includes("Done"));
  await eventually(() => chat().length === 1);
  expect(chat()[0]!.message_id).toBeGreaterThan(before);
  await agent.send(`DELETE /v1/tasks/${task.id}`);
  await eventually(() => chat()[0]!.text === "Task of builder\n\nDeleted");
});

test("a question is put off by a button, and rings again as a new message [§19.9.5]", async () => {
  const one = await connect();
  const question = await asked(one, { prompt: "Ship it?", expires_in: 3_600 });
  const message = one.chat().at(-1)!;
  expect(buttons(one)).toEqual(["Yes", "No", "Remind me in 10 minutes"]);
  one.user.tap(shared, message, "Remind me in 10 minutes");
  await taken();
  await eventually(() => telegram.toasts.splice(0).includes("Relay reminds you in 10 minutes."));
  expect((await read(one, question)).status).toBe("pending");
  await clock.advance(590);
  expect(one.chat()).toEqual([message]);
  await eventually(() => one.chat().some(({ message_id }) => message_id > message.message_id));
  await eventually(() => one.chat().length === 1);
  expect(one.chat()[0]!.silent).toBe(false);
  one.user.tap(shared, one.chat()[0]!, "Yes");
  await taken();
  expect((await read(one, question)).answer).toBe("Yes");
  telegram.toasts.splice(0);
  await asked(one, { prompt: "Soon?", expires_in: 300 });
  expect(buttons(one)).toEqual(["Yes", "No"]);
});

test("the button of a test proves that answers arrive [§19.2.5]", async () => {
  const one = await connect();
  const sent = one.person.send(`POST /v1/channels/${one.id}/test`);
  await eventually(() => one.chat().length === 1);
  expect((await sent).body.status).toBe("sent");
  expect(await one.read()).toMatchObject({ reached_at: null });
  one.user.tap(shared, one.chat()[0]!, "It works");
  await taken();
  expect((await one.read()).reached_at).toBeNumber();
  await eventually(() => telegram.toasts.splice(0).includes("It works."));
});

test("an agent of another account cannot reach the chat, and no fault was seen by the stand-in", async () => {
  const one = await connect();
  const other = await createAgent(app.local_url, (await connect()).person, "other");
  const before = one.chat().length;
  await ask(other.send, { prompt: "Mine?" });
  await settle();
  expect(one.chat().length).toBe(before);
  expect(telegram.faults).toEqual([]);
});
