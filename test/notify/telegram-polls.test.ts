/** The long polls by which answers come from Telegram: restarts, conflicts, duplicates and odd updates (§19.9.5, §19.9.6). */

import { expect, test } from "bun:test";
import { ask, client } from "../support/client.ts";
import { startTelegramWorld } from "../support/telegram-world.ts";
import { until } from "../support/until.ts";

type World = Awaited<ReturnType<typeof startTelegramWorld>>;
type Connected = Awaited<ReturnType<World["connect"]>>;

const eventually = (world: World, check: () => unknown) => world.eventually(check);
const asked = async (world: World, one: Connected, prompt = "Ship it?") => {
  const before = one.chat().length;
  const { id } = await ask(one.agent.send, { prompt });
  await eventually(world, () => one.chat().length > before);
  await world.settle();
  return { id, message: one.chat().at(-1)! };
};
const answerOf = async ({ agent }: Connected, id: string) =>
  (await agent.send(`GET /v1/questions/${id}`)).body.answer as string | null;

test("updates that repeat, come out of order, jump in number or are a day old do no harm [§19.9.5]", async () => {
  const world = await startTelegramWorld();
  const { shared, telegram, connect } = world;
  const one = await connect();
  const { user } = one;
  const first = await asked(world, one, "First?");
  const tap = user.tap(shared, first.message, "Yes");
  await eventually(world, () => shared.waiting() === 0);
  // Smaller numbers, as after a week without an update, and the same tap again.
  shared.jump(17);
  shared.again(tap);
  const second = await asked(world, one, "Second?");
  user.tap(shared, second.message, "No");
  await eventually(world, () => shared.waiting() === 0);
  expect([await answerOf(one, first.id), await answerOf(one, second.id)]).toEqual(["Yes", "No"]);

  await world.settle();
  expect(telegram.faults).toEqual([]);
});

test("what waited while Relay was away counts in any order, and a day later it does no harm [§19.9.5]", async () => {
  const world = await startTelegramWorld();
  const { shared, telegram, clock, connect } = world;
  const one = await connect();
  const { user } = one;
  const third = await asked(world, one, "Third?");
  const fourth = await asked(world, one, "Fourth?");
  await world.app.stop();
  shared.jump(500);
  const late = user.reply(shared, fourth.message, "Yes");
  shared.jump(400);
  user.reply(shared, third.message, "No");
  shared.again(late);
  // Telegram keeps a tap for a shorter time.
  user.tap(shared, third.message, "Yes");
  await clock.skip(200);
  const app = await world.start();
  await eventually(world, () => third.message.edits + fourth.message.edits === 2);
  expect(third.message.text).toEndWith("Answered: No");
  expect(fourth.message.text).toEndWith("Answered: Yes");
  expect(telegram.toasts).toEqual([]);

  const again = client(app.local_url, one.agent.secret);
  await ask(again, { prompt: "Fifth?" });
  await eventually(world, () => one.chat().at(-1)!.text.includes("Fifth?"));
  const message = one.chat().at(-1)!;
  await app.stop();
  user.reply(shared, message, "Yes");
  await clock.skip(86_000);
  await world.start();
  await eventually(world, () => message.edits > 0);
  expect(message.text).toEndWith("Expired");
  await eventually(world, () => one.chat().at(-1)!.text.includes("expired"));
  await world.settle();
  expect(telegram.faults).toEqual([]);
});

test("a process that stops hands the polls over, and what was tapped meanwhile counts once [§19.9.5]", async () => {
  const world = await startTelegramWorld();
  const { shared, telegram, connect } = world;
  const one = await connect();
  const { id, message } = await asked(world, one);
  await world.app.stop();
  expect(shared.isPolled()).toBe(false);
  one.user.tap(shared, message, "Yes");
  const next = await world.start();
  await eventually(world, () => message.edits > 0 && telegram.toasts.length > 0);
  expect(telegram.toasts).toEqual(["Answered: Yes"]);
  const read = client(next.local_url, one.person.token);
  expect((await read(`GET /v1/questions/${id}`)).body.answer).toBe("Yes");
  await world.settle();
  expect(telegram.faults).toEqual([]);
});

test("Telegram restarts, is away or floods: listening goes on by itself [§19.9.6]", async () => {
  const world = await startTelegramWorld();
  const { shared, telegram, connect } = world;
  const one = await connect();
  for (const how of [502, "drop", "lost", { flood: 5 }, "junk"] as const) {
    const { id, message } = await asked(world, one, `After ${JSON.stringify(how)}?`);
    telegram.behave(how, "getUpdates");
    // Ends the poll under way with an update of no interest.
    one.user.write(shared, "hello");
    await eventually(world, () => !shared.isPolled());
    one.user.tap(shared, message, "Yes");
    await world.advance(3);
    telegram.behave("ok", "getUpdates");
    await eventually(world, () => message.edits > 0);
    expect([how, await answerOf(one, id)]).toEqual([how, "Yes"]);
  }
  await eventually(world, async () => (await one.read()).state === "ok");
  await world.settle();
  expect(telegram.faults).toEqual([]);
});

test("a server that answers at once, or repeats an update for ever, is not asked without a pause [§19.9.5]", async () => {
  const world = await startTelegramWorld();
  const { shared, telegram, connect, clock } = world;
  const one = await connect();
  const { id, message } = await asked(world, one);
  const { callback_query } = one.user.tap(shared, message, "Yes");
  await eventually(world, () => message.edits > 0);
  const odd = { callback_query: { ...(callback_query as object), data: 5 } };
  const results: unknown[] = [
    [],
    "none",
    [null, 5, {}, { update_id: "x" }],
    [{ update_id: 1, callback_query }],
    [
      { update_id: 1, ...odd },
      { update_id: 2, message: { text: 5, chat: null, from: "x" } },
    ],
  ];
  for (const result of results) {
    let polls = 0;
    const answer = () => {
      polls++;
      return { ok: true, result };
    };
    telegram.behave({ answer }, "getUpdates");
    one.user.write(shared, "hello");
    await eventually(world, () => polls > 0);
    const before = polls;
    // Time stands still.
    for (let i = 0; i < 20; i++) await one.read();
    expect([result, polls - before <= 1]).toEqual([result, true]);
    await world.advance(1);
    telegram.behave("ok", "getUpdates");
    await eventually(world, () => shared.isPolled());
  }
  expect(await answerOf(one, id)).toBe("Yes");
  const next = await asked(world, one, "Next?");
  one.user.tap(shared, next.message, "No");
  await eventually(world, () => next.message.edits > 0);
  expect((await one.read()).state).toBe("ok");
  await clock.advance(0);
});

test("what one person floods a bot with is few polls, and another's tap counts [§19.9.5]", async () => {
  const world = await startTelegramWorld();
  const { shared, telegram, connect } = world;
  const one = await connect();
  const other = await connect();
  const { message, id } = await asked(world, one);
  const code = message.buttons.flat()[0]!.callback_data!;
  await eventually(world, () => shared.isPolled());
  const polls = shared.polls();
  const calls = telegram.calls.length;
  for (let i = 0; i < 100; i++) {
    other.user.write(shared, "x".repeat(4_000));
    other.user.start(shared, `${i}`.padStart(43, "x"));
    other.user.tap(shared, message, "Yes", {
      by: { id: other.user.id, is_bot: false },
      data: code,
    });
  }
  one.user.tap(shared, message, "Yes");
  await eventually(world, () => shared.waiting() === 0);
  await eventually(world, () => message.edits > 0);
  expect(await answerOf(one, id)).toBe("Yes");
  expect(shared.polls() - polls).toBeLessThanOrEqual(8);
  const said = telegram.calls.slice(calls).filter(({ method }) => method === "sendMessage");
  expect(said.length).toBeLessThanOrEqual(1);
});

test("another program on the same bot makes the channel failing, until it stops [§19.9.6]", async () => {
  const world = await startTelegramWorld();
  const { shared, telegram, clock, connect } = world;
  const one = await connect();
  const failed = async () => {
    const { state, last_error } = await one.read();
    return state === "failing" && last_error.code === "conflict";
  };
  // One takeover, such as that of a process that was slow to stop, shows nothing.
  await eventually(world, () => shared.isPolled());
  await shared.steal();
  await eventually(world, () => shared.isPolled());
  expect(await failed()).toBe(false);
  await until(async () => {
    await shared.steal();
    await clock.advance(1);
    return failed();
  });
  await eventually(world, async () => (await one.read()).state === "ok");
  shared.setWebhook("https://example.com/hook");
  await shared.steal();
  await eventually(world, failed);
  shared.setWebhook("");
  await eventually(world, async () => (await one.read()).state === "ok");
  await world.settle();
  expect(telegram.faults).toEqual([]);
});

test("a token that ended while listening ends the channels of an own bot, and shows on the operator's [§19.9.6]", async () => {
  const world = await startTelegramWorld();
  const { shared, telegram, connect, app, rows } = world;
  const own = telegram.newBot();
  const mine = await connect({ own });
  const ours = await connect();
  own.revoke();
  shared.revoke();
  await own.steal();
  await shared.steal();
  await eventually(world, async () => (await mine.read()).state === "gone");
  expect((await mine.read()).last_error.code).toBe("bad_token");
  await eventually(world, async () => (await ours.read()).state === "failing");
  expect((await ours.read()).last_error.code).toBe("bad_token");
  const targets = await rows("select recipient_id from delivery_targets where lane = 'telegram'");
  expect(targets).toEqual([[ours.id]]);
  for (const line of app.lines) {
    expect(line).not.toContain(own.token.split(":")[1]!);
    expect(line).not.toContain(shared.token.split(":")[1]!);
  }
});
