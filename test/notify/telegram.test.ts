/** What Telegram shows of questions and tasks (§19.9.4), how fast, and what its answers do (§19.9.6). */

import { expect, test } from "bun:test";
import { ask, createTask } from "../support/client.ts";
import { whileMoving } from "../support/clock.ts";
import { startTelegramWorld } from "../support/telegram-world.ts";

const world = await startTelegramWorld();
const { telegram, clock, settle, advance, eventually, connect } = world;

test("a question is plain text without a preview, with a link to the page [§19.9.4]", async () => {
  const { agent, chat } = await connect();
  const prompt = "Delete *all* of <b>this</b>? https://evil.example/x [a](b)";
  const context = "First `line`\n```\nsecond\n```\nthird\nfourth";
  const { id } = await ask(agent.send, { prompt, fallback: "No", context });
  await settle();
  expect(chat()).toEqual([
    expect.objectContaining({
      text: `Question from builder\n\n${prompt}\nIf you don't answer: No\nFirst \`line\`\nsecond\nthird\n…`,
      entities: [{ type: "bold", offset: 0, length: 21 }],
      silent: false,
    }),
  ]);
  expect(chat()[0]!.buttons.at(-2)).toEqual([
    { text: "Open", url: `https://relay.example/#/questions/${id}` },
  ]);
  expect(telegram.faults).toEqual([]);
});

test("questions that are answered in own words say so [§19.9.4]", async () => {
  const { agent, chat } = await connect();
  await ask(agent.send, { prompt: "Name?", kind: "text" });
  await ask(agent.send, { prompt: "Sure?", allow_other: true });
  await ask(agent.send, { prompt: "Go?" });
  await settle();
  expect(chat().map(({ text }) => text.split("\n").at(-1))).toEqual([
    "To answer, reply to this message.",
    "To answer in your own words, reply to this message.",
    "Go?",
  ]);
});

test("a long question is cut between characters, and emoji do not break it [§19.9.4]", async () => {
  const { agent, chat } = await connect();
  await ask(agent.send, { prompt: "👩‍👩‍👧".repeat(400), kind: "text" });
  await ask(agent.send, { prompt: "😀".repeat(2_000), context: "x".repeat(400) });
  await settle();
  const [family, faces] = chat();
  expect(family!.text).toHaveLength(23 + 8 * 400 + 2 + 33);
  expect(faces!.text.length).toBeLessThanOrEqual(4_096);
  expect(faces!.text.isWellFormed()).toBe(true);
  expect(telegram.faults).toEqual([]);
});

test("generic content leaves out prompts and titles [§19.9.4]", async () => {
  const generic = await startTelegramWorld({ env: { PUSH_CONTENT: "generic" } });
  const { agent, chat } = await generic.connect();
  const { id } = await ask(agent.send, {
    prompt: "secret",
    options: ["secret1", "b"],
    kind: "choice",
  });
  await createTask(agent.send, { title: "secret", description: "secret" });
  await generic.settle();
  await agent.send(`DELETE /v1/questions/${id}`);
  await generic.settle();
  expect(chat().length).toBe(2);
  expect(JSON.stringify(chat())).not.toContain("secret");
  expect(JSON.stringify(generic.telegram.calls)).not.toContain("secret");
});

test("quiet hours make no sound, and news in them is a new message [§19.9.4] [§19.1.3]", async () => {
  const quiet_hours = { from: "00:00", to: "23:59", time_zone: "UTC" };
  const { agent, chat, person, id } = await connect({ settings: { quiet_hours } });
  const task = await createTask(agent.send, { title: "Build" });
  await settle();
  expect(chat().map(({ silent }) => silent)).toEqual([true]);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "done" });
  await settle();
  expect(chat().at(-1)).toMatchObject({ silent: true, edits: 0 });
  expect(chat().at(-1)!.text).toContain("Done");
  await person.send(`PATCH /v1/channels/${id}`, { quiet_hours: null });
  await ask(agent.send, { prompt: "Go?" });
  await settle();
  expect(chat().at(-1)!.silent).toBe(false);
});

test("a chat gets a message a second, and a bot thirty [§19.9.3]", async () => {
  const { agent, chat } = await connect();
  for (let i = 0; i < 12; i++) await ask(agent.send, { prompt: `Question ${i}` });
  await eventually(() => chat().length === 12, 0.25);
  expect(new Set(chat().map(({ text }) => text)).size).toBe(12);
  const times = chat().map(({ at }) => at);
  for (const [i, at] of times.slice(1).entries())
    expect(at - times[i]!).toBeGreaterThanOrEqual(0.999);
  expect(telegram.floods()).toBe(0);
});

test("a message that was long on its way is not followed too soon, and neither are answers to the person [§19.9.3]", async () => {
  const { agent, chat, user, bot } = await connect();
  const before = telegram.floods();
  for (const [i, late] of [0.9, 0, 0.7, 0].entries()) {
    telegram.behave({ late }, "sendMessage");
    await ask(agent.send, { prompt: `Question ${i}` });
    const calls = telegram.calls.length;
    await eventually(() => telegram.calls.length > calls, 0.1);
  }
  telegram.behave("ok", "sendMessage");
  // What the bot says at the same time goes to the same chat.
  user.reply(bot, chat()[0]!, "Perhaps");
  user.write(bot, "Yes");
  await eventually(() => chat().length === 6, 0.1);
  const times = chat().map(({ at }) => at);
  for (const [i, at] of times.slice(1).entries())
    expect(at - times[i]!).toBeGreaterThanOrEqual(0.999);
  expect(telegram.floods()).toBe(before);
});

test("what an answer of the Bot API does to the channel [§19.9.6]", async () => {
  const { agent, chat, user, bot, read, person, id } = await connect();
  const state = async () => {
    const { state, last_error } = await read();
    return [state, last_error?.code ?? null];
  };
  const send = async () => {
    const asked = await ask(agent.send, { prompt: "Go?" });
    await settle();
    return asked;
  };
  telegram.behave(502, "sendMessage");
  await send();
  expect(await state()).toEqual(["ok", "status_502"]);
  telegram.behave("ok", "sendMessage");
  await advance(10);
  await settle();
  expect(chat().length).toBe(1);

  telegram.behave({ flood: 30 }, "sendMessage");
  await send();
  expect(await state()).toEqual(["ok", "status_429"]);
  telegram.behave("ok", "sendMessage");
  await advance(29);
  expect(chat().length).toBe(1);
  await advance(32);
  await settle();
  expect(chat().length).toBe(2);

  user.setState(bot, "blocked");
  await send();
  expect(await state()).toEqual(["gone", "blocked"]);
  const test = async () =>
    (await whileMoving(clock, person.send(`POST /v1/channels/${id}/test`))).body.status;
  expect(await test()).toBe("failed");
  user.setState(bot, "open");
  expect(await test()).toBe("sent");
  expect(await state()).toEqual(["ok", "blocked"]);
  await send();
  await settle();
  expect(chat().at(-1)!.text).toContain("Go?");
});

test("an account's own bot whose token ended ends its channel, the operator's only waits [§19.9.6]", async () => {
  const own = telegram.newBot();
  const { agent, read } = await connect({ own });
  own.revoke();
  await ask(agent.send, { prompt: "Go?" });
  await settle();
  expect(await read()).toMatchObject({ state: "gone", last_error: { code: "bad_token" } });

  const other = await startTelegramWorld();
  const { agent: second, read: second_read, chat } = await other.connect();
  const token = other.shared.revoke();
  await ask(second.send, { prompt: "Go?" });
  await other.settle();
  expect(await second_read()).toMatchObject({ state: "ok", last_error: { code: "bad_token" } });
  await other.app.stop();
  const again = await other.start({
    TELEGRAM_API_ROOT: other.telegram.url,
    TELEGRAM_BOT_TOKEN: token,
  });
  await other.eventually(() => chat().length > 0, 1);
  await again.sender.settled();
  expect(chat().length).toBe(1);
});

test("no log line has a token of a bot, whatever fails [§19.1.4]", async () => {
  const own = telegram.newBot();
  const { agent, person, id } = await connect({ own });
  for (const how of ["drop", "lost", "junk", 502, "hang"] as const) {
    telegram.behave(how, "sendMessage");
    await ask(agent.send, { prompt: "Go?" });
    const tested = person.send(`POST /v1/channels/${id}/test`);
    await advance(12);
    await tested;
  }
  telegram.behave("ok", "sendMessage");
  await settle();
  const secrets = [own.token, own.token.split(":")[1]!, world.shared.token];
  const { body } = await person.send("GET /v1/channels");
  for (const text of [...world.app.lines, JSON.stringify(body)]) {
    for (const one of secrets) expect(text).not.toContain(one);
  }
});

test("the stand-in saw nothing that Telegram refuses or Relay promises not to send", async () => {
  await clock.advance(1);
  expect(telegram.faults).toEqual([]);
});
