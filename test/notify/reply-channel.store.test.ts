/** A channel that listens and that no other file knows: replies to messages, names of messages, ends, and leases. */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { unavailable } from "../../db/store/store.ts";
import { systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { createIds } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import type { Channel, Destination, Verdict } from "../../src/notify/core/channel.ts";
import type { Notification } from "../../src/notify/core/notification.ts";
import { createReplyReader } from "../../src/notify/replies/reader.ts";
import {
  type ReplyConnection,
  type ReplyOutcome,
  replyKey,
} from "../../src/notify/replies/source.ts";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createNetwork } from "../support/outbound.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

/** A chat: messages have numbers, and people answer by replying to them. */
function createChat() {
  const sent: { notification: Notification; destination: Destination }[] = [];
  const open = new Set<ReplyConnection>();
  let numbers = 0;
  const channel: Channel<(typeof sent)[number], number> = {
    name: "ntfy",
    lanes: ["chat"],
    supports: (kind) => kind === "question" || kind === "task",
    replaces: "always",
    register: ({ url }) => ({ address: url!, url: url!, exclusive: false }),
    render: (notification, destination) => ({ notification, destination }),
    classify: (number): Verdict => ({
      do: "finish",
      reason: "ok",
      replaces: true,
      handle: `m${number}`,
    }),
    replies: {
      most: null,
      keyOf: (address) => replyKey("chat", new URL(address).origin),
      async open(listening) {
        open.add(listening);
        listening.works();
        await new Promise<void>((end) =>
          listening.signal.addEventListener("abort", () => end(), { once: true }),
        );
        open.delete(listening);
        return { reason: "ok", least: 1, most: 60, shows: false };
      },
    },
    async connect() {
      const send = async (request: (typeof sent)[number]) => {
        sent.push(request);
        return ++numbers;
      };
      return [{ lane: "chat", send, abort() {} }];
    },
  };
  return { channel, sent, open };
}

async function begin() {
  const { url: database_url } = await createTestStore();
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  const clock = createTestClock();
  const chat = createChat();
  // In the place of ntfy, so that accounts can add it.
  const app = await startTestApp({ clock, database_url, only: [chat.channel] });
  const person = await createPerson(app.local_url);
  const agent = await createAgent(app.local_url, person, "builder");
  const add = async (label: string) => {
    const given = { type: "ntfy", label, url: "http://127.0.0.1:9/chat" };
    const made = await person.send("POST /v1/channels", given);
    return made.body.channel.id as string;
  };
  const id = await add("Chat");
  await until(() => chat.open.size === 1);
  const [listening] = [...chat.open];
  const ask = async (question: object) => {
    const { body } = await agent.send("POST /v1/questions", { prompt: "Ship it?", ...question });
    await until(() => chat.sent.some(({ destination }) => destination.address !== ""));
    await app.sender.settled();
    return body.id as string;
  };
  const question = async (of: string) => (await person.send(`GET /v1/questions/${of}`)).body;
  const reply = (handle: string, text: string, channel_id = id): Promise<ReplyOutcome> =>
    listening!.handle({ kind: "reply", channel_id, handle, text }, null);
  const rows = (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({}));
  const change = (text: string) => store.write([statement(sql.raw(text))({})]);
  const advance = async (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      await clock.advance(1);
      await Promise.all([app.reply_reader.settled(), app.jobs.settled(), app.sender.settled()]);
    }
  };
  return {
    app,
    store,
    chat,
    clock,
    person,
    agent,
    id,
    add,
    listening: listening!,
    ask,
    question,
    reply,
    rows,
    change,
    advance,
  };
}

test("a reply to a message answers its question in the person's own words [§19.8.5]", async () => {
  const { ask, question, reply, rows, id } = await begin();
  const text = await ask({ kind: "text", prompt: "Which name?" });
  expect(await reply("m1", "  Atlas ")).toEqual({
    ...{ is: "answered", text: "Answered: Atlas", question_id: text },
  });
  expect(await question(text)).toMatchObject({ answer: "Atlas", answered_by: { id } });
  const confirm = await ask({});
  // What is said of the first question may be sent before or after it.
  const [[handle]] = (await rows(
    `select handle from channel_messages where subject = '${confirm}'`,
  )) as [[string]];
  expect(await reply(handle, "perhaps")).toMatchObject({ is: "refused", question_id: confirm });
  expect(await reply(handle, "yes")).toMatchObject({ is: "answered", text: "Answered: Yes" });
  expect(await reply(handle, "Yes")).toMatchObject({ is: "same" });
  expect(await reply(handle, "No")).toMatchObject({
    is: "ended",
    text: "The question is answered.",
  });
  expect(await reply("m99", "Yes")).toEqual({ is: "unknown" });
});

test("a reply counts only for the channel that got the message [§19.8.5]", async () => {
  const { ask, question, reply, add, person, listening } = await begin();
  const other = await add("Other chat");
  await until(() => listening.channels().length === 2);
  const asked = await ask({});
  // Each channel got a message of its own.
  expect(await reply("m1", "Yes", "chn_00000000000000000000000000000000")).toEqual({
    is: "unknown",
  });
  const [mine, theirs] = await Promise.all([reply("m1", "Yes", other), reply("m2", "Yes", other)]);
  expect([mine.is, theirs.is].sort()).toEqual(["answered", "unknown"]);
  expect((await question(asked)).answered_by.id).toBe(other);
  await person.send(`DELETE /v1/channels/${other}`);
  expect(await reply("m2", "No", other)).toEqual({ is: "unknown" });
});

test("what is sent later about a subject gets the name of its message, and the end goes to the channel that answered [§19.8.6]", async () => {
  const { ask, reply, chat, advance } = await begin();
  await ask({});
  expect(chat.sent[0]!.destination).toMatchObject({ handle: null });
  expect([...chat.sent[0]!.destination.codes!.keys()]).toEqual(["Yes", "No"]);
  await reply("m1", "Yes");
  await advance(2);
  const { notification, destination } = chat.sent.at(-1)!;
  expect(notification).toMatchObject({ kind: "ended", body: "Answered: Yes" });
  expect(destination.handle).toBe("m1");
});

test("the names of messages are kept for 7 days after the end, and no longer than their channel [§19.8.6]", async () => {
  const { ask, reply, rows, clock, person, id, app, advance } = await begin();
  await ask({});
  await ask({ expires_in: 86_400 });
  await reply("m1", "Yes");
  await advance(2);
  const kept = async () =>
    (await rows("select handle from channel_messages order by handle")).flat();
  expect(await kept()).toEqual(["m1", "m2", "m3"]);
  await clock.skip(7 * 86_400 - 100);
  await advance(310);
  expect(await kept()).toEqual(["m2", "m4"]);
  await person.send(`DELETE /v1/channels/${id}`);
  expect(await kept()).toEqual([]);
  await app.jobs.settled();
});

test("a channel whose service wants no more messages is gone, and nothing listens for it [§19.8.4]", async () => {
  const { listening, person, chat, advance, id } = await begin();
  listening.forget(listening.channels(), "status_403");
  const read = async () => (await person.send("GET /v1/channels")).body.channels[0];
  await until(async () => (await read()).state === "gone");
  expect((await read()).last_error.code).toBe("status_403");
  await advance(2);
  await until(() => chat.open.size === 0);
  // A test revives it.
  expect((await person.send(`POST /v1/channels/${id}/test`)).body.status).toBe("sent");
  await advance(2);
  await until(() => chat.open.size === 1);
});

test("an account's answers in its own words are limited [§19.8.8]", async () => {
  const { ask, reply } = await begin();
  await ask({});
  const outcomes: string[] = [];
  for (let i = 0; i < 40; i++) outcomes.push((await reply("m1", "Yes")).is);
  expect(outcomes.filter((is) => is === "same")).toHaveLength(29);
  expect(outcomes.filter((is) => is === "unknown")).toHaveLength(10);
});

test("a process that cannot reach the store ends its connections before another may begin [§19.8.4]", async () => {
  const { app, chat, store } = await begin();
  await app.reply_reader.stop();
  const clock = createTestClock();
  let away = false;
  const failing = <T>(work: () => Promise<T>) =>
    away ? Promise.reject(unavailable(new Error("away"))) : work();
  const reply_reader = createReplyReader({
    store: {
      ...store,
      read: (...given) => failing(() => store.read(...given)),
      write: (...given) => failing(() => store.write(...given)),
    },
    ...{ clock, timers: systemClock, ids: createIds(clock), channels: [chat.channel] },
    ...{
      log: createLog("error", () => {}),
      config: readConfig({}),
      handle: async () => ({ is: "unknown" }),
    },
    ...createNetwork(),
  });
  reply_reader.start();
  await until(() => chat.open.size === 1);
  const pass = async (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      await clock.advance(1);
      await reply_reader.settled();
    }
  };
  // Renewed at 10 seconds; from then on it cannot.
  await pass(11);
  away = true;
  await pass(11);
  expect(chat.open.size).toBe(1);
  await pass(2);
  expect(chat.open.size).toBe(0);
  away = false;
  await pass(18);
  await until(() => chat.open.size === 1);
  await reply_reader.stop();
});

test("a stop ends every event that waits for the store, not one of them [§19.8.4]", async () => {
  const { app, chat, store, id } = await begin();
  await app.reply_reader.stop();
  const clock = createTestClock();
  let waiting = 0;
  const reply_reader = createReplyReader({
    ...{ store, clock, timers: systemClock, ids: createIds(clock), channels: [chat.channel] },
    ...{ log: createLog("error", () => {}), config: readConfig({}) },
    handle() {
      waiting++;
      return Promise.reject(unavailable(new Error("away")));
    },
    ...createNetwork(),
  });
  reply_reader.start();
  await until(() => chat.open.size === 1);
  const [listening] = [...chat.open];
  let rejected = 0;
  for (const code of ["a", "b", "c"]) {
    const took = listening!.handle({ kind: "code", channel_id: id, code }, null);
    took.catch(() => rejected++);
  }
  await until(() => waiting === 3);
  // Time stands still.
  await reply_reader.stop();
  await until(() => rejected === 3);
});

test("a process whose lease another took while it stood still ends its connections [§19.8.4]", async () => {
  const { chat, app, change, clock, advance } = await begin();
  await advance(12);
  // As another process that took over while this one stood still.
  await change("update listeners set lease = 'other'");
  const before = chat.open.size;
  await advance(11);
  expect([before, chat.open.size]).toEqual([1, 0]);
  expect(app.reply_reader.health()[0]!.connections).toBe(0);
  await advance(16);
  await until(() => chat.open.size === 1);
  await clock.advance(0);
});

test("a position is stored only under the lease, and after the events before it [§19.8.4]", async () => {
  const { listening, rows, change, advance } = await begin();
  const stored = async () => (await rows("select position from listeners"))[0]![0];
  await listening.handle(null, 100);
  await advance(1);
  expect(await stored()).toBe("100");
  await change("update listeners set lease = 'other'");
  await listening.handle(null, 200);
  await advance(2);
  expect(await stored()).toBe("100");
});
