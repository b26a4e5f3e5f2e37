/** The options of an agent and the buttons of Relay are told apart (§14.3.11). */

import { expect, test } from "bun:test";
import { ask } from "../support/client.ts";
import { startTelegramWorld } from "../support/telegram-world.ts";

test("an option cannot pass for a button of Relay, and answers as the agent wrote it [§14.3.11]", async () => {
  const world = await startTelegramWorld();
  const one = await world.connect();
  const own = "Remind me in 10 minutes";
  const options = [own, "Open", "Approve", "Yes"];
  const asked = { prompt: "Which?", kind: "choice" as const, options, expires_in: 3_000 };
  const { id } = await ask(one.agent.send, asked);
  await world.eventually(() => one.chat().length > 0);
  const message = one.chat().at(-1)!;
  const buttons = message.buttons.flat().filter((button) => button.callback_data);
  const labels = buttons.map(({ text }) => text);
  expect(labels).toEqual([...options.map((option) => `“${option}”`), own]);
  one.user.tap(world.shared, message, own);
  await world.eventually(() => world.telegram.toasts.length > 0);
  const read = async () => (await one.agent.send(`GET /v1/questions/${id}`)).body;
  expect((await read()).status).toBe("pending");
  one.user.tap(world.shared, message, `“${own}”`);
  await world.eventually(async () => (await read()).status === "answered");
  expect((await read()).answer).toBe(own);
});
