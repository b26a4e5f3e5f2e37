/** The pace of messages as Telegram sees it: when they arrive, not when they are sent (§19.9.3). */

import { expect, test } from "bun:test";
import { paceOf } from "../../src/notify/telegram/pace.ts";
import { createTestClock } from "../support/clock.ts";
import { seeded } from "../support/random.ts";

const BOT = 1;
const { signal } = new AbortController();

test(
  "no second sees more than a message of a chat, five of an account and thirty of a bot, however long each takes [§19.9.3]",
  seeded("pace of Telegram", async (random) => {
    const clock = createTestClock();
    const pace = paceOf({ TELEGRAM_API_ROOT: "" }, clock);
    const arrived: { at: number; chat: number; owner: string }[] = [];
    const send = async (chat: number, owner: string): Promise<void> => {
      const turn = await pace.take({ bot: BOT, chat, owner }, signal);
      if (!turn.taken) {
        clock.after(turn.wait, () => void send(chat, owner));
        return;
      }
      const there = random() * 0.9;
      clock.after(there, () => arrived.push({ at: clock.elapsed(), chat, owner }));
      clock.after(there + random() * 0.9, turn.end);
    };
    const all: [number, string][] = Array.from({ length: 400 }, (_, i) => [
      i % 60,
      `acc_${i % 12}`,
    ]);
    for (const [chat, owner] of all) void send(chat, owner);
    for (let i = 0; arrived.length < all.length && i < 400; i++) await clock.advance(0.25);
    expect(arrived.length).toBe(400);
    for (const { at, chat, owner } of arrived) {
      const second = arrived.filter((one) => one.at >= at && one.at < at + 1);
      expect(second.length).toBeLessThanOrEqual(30);
      expect(second.filter((one) => one.chat === chat).length).toBe(1);
      expect(second.filter((one) => one.owner === owner).length).toBeLessThanOrEqual(5);
    }
  }),
);

test("a turn is waited for in order and for a short time, and a stop ends the wait", async () => {
  const clock = createTestClock();
  const pace = paceOf({ TELEGRAM_API_ROOT: "" }, clock);
  const stop = new AbortController();
  const take = (chat = 1) => pace.take({ bot: BOT, chat, owner: "acc" }, stop.signal);
  const first = await take();
  const rest = Array.from({ length: 5 }, () => take());
  // The last would wait for five seconds at least.
  expect(await rest.pop()).toEqual({ taken: false, wait: 5 });
  // Another chat has a turn.
  expect(await take(2)).toMatchObject({ taken: true });
  if (first.taken) first.end();
  await clock.advance(1);
  expect(await rest[0]).toMatchObject({ taken: true });
  stop.abort();
  expect((await Promise.all(rest)).map(({ taken }) => taken)).toEqual([true, false, false, false]);
  expect(clock.pending()).toBe(0);
  // The second message never gets its answer: those after it do not wait for ever.
  const late = pace.take({ bot: BOT, chat: 1, owner: "acc" }, signal);
  await clock.advance(4);
  expect(await late).toEqual({ taken: false, wait: 1 });
});
