/** What a block of the account does to its channels: news wait, and answers count again afterwards (§4.4.3). */

import { expect, test } from "bun:test";
import { ADMIN, adminClient } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { ask } from "../support/client.ts";
import { startNtfy, tap } from "../support/ntfy.ts";
import { buttonOf, createRepliesPerson } from "../support/replies.ts";
import { startTelegramWorld } from "../support/telegram-world.ts";
import { until } from "../support/until.ts";

test("the end of a question and a reminder wait for the end of a block; an answer by Telegram says why it is refused [§4.4.3]", async () => {
  const { app, telegram, shared, connect, eventually, settle, advance } = await startTelegramWorld({
    env: ADMIN,
  });
  const admin = adminClient(app.local_url);
  const one = await connect();
  const account_id = one.person.account.id;
  await ask(one.agent.send, { prompt: "Expires?", expires_in: 120 });
  const { id } = await ask(one.agent.send, { prompt: "Later?", expires_in: 7_200 });
  await advance(5);
  await settle();
  const [first, second] = one.chat();
  await one.person.send(`POST /v1/questions/${id}/reminder`, { minutes: 10 });
  const taken = async () => {
    await eventually(() => shared.waiting() === 0, 0.5);
    await settle();
  };

  await admin.setBlocked.mutate({ account_id, blocked: true });
  one.user.tap(shared, second!, "Yes");
  one.user.tap(shared, second!, "Remind me in 10 minutes");
  await taken();
  await eventually(() => telegram.toasts.length === 2, 0.5);
  for (const toast of telegram.toasts.splice(0))
    expect(toast).toContain("has blocked this account");
  one.user.reply(shared, second!, "Yes");
  await taken();
  await eventually(() => one.chat().at(-1)!.text.includes("has blocked this account"));
  const before = one.chat().length;
  await advance(900, 5);
  await settle();
  expect([one.chat().length, first!.edits, second!.edits]).toEqual([before, 0, 0]);
  const { queues } = await admin.pushes.query();
  expect(queues!.map(({ channel, rows, due_at }) => [channel, rows, due_at])).toEqual([
    ["telegram", 2, null],
  ]);

  await admin.setBlocked.mutate({ account_id, blocked: false });
  await advance(30);
  await settle();
  expect(first!.text).toEndWith("Expired");
  const rung = one.chat().at(-1)!;
  expect(rung.text).toContain("Later?");
  one.user.tap(shared, rung, "Yes");
  await taken();
  const { body } = await one.person.send(`GET /v1/questions/${id}/deliveries`);
  expect(body.deliveries.map((each: any) => each.target.type)).toEqual(["telegram"]);
  expect((await one.agent.send(`GET /v1/questions/${id}`)).body.answer).toBe("Yes");
});

test("a button of ntfy that was pressed during a block works after it [§4.4.3]", async () => {
  const app = await startTestApp({ env: ADMIN });
  const admin = adminClient(app.local_url);
  const ntfy = await startNtfy();
  const one = await createRepliesPerson(app.local_url, ntfy);
  const account_id = one.person.account.id;
  const { id, sent } = await one.ask();
  await one.heard(buttonOf(sent, "Yes").topic);
  await admin.setBlocked.mutate({ account_id, blocked: true });
  await tap(sent, "Yes");
  await until(() => app.reply_reader.answers().refused === 1);
  await admin.setBlocked.mutate({ account_id, blocked: false });
  expect((await one.question(id)).status).toBe("pending");
  await tap(sent, "Yes");
  expect((await one.ended(id)).answer).toBe("Yes");
});
