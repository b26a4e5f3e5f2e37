/** A service on a test clock with a stand-in for Telegram, and people with an agent and a chat with a bot each. */

import { expect } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { createProcesses } from "./app.ts";
import { createAgent, createPerson, type Person } from "./client.ts";
import { createTestClock } from "./clock.ts";
import { createTestStore } from "./store.ts";
import { startTelegram } from "./telegram.ts";
import type { TestBot, TestUser } from "./telegram-users.ts";
import { until } from "./until.ts";

interface ConnectOptions {
  /** The account's own bot; by default, the bot of the operator. */
  readonly own?: TestBot;
  readonly user?: TestUser;
  readonly person?: Person;
  /** Settings of the channel. */
  readonly settings?: object;
}

export async function startTelegramWorld({ env = {} }: { env?: Record<string, string> } = {}) {
  const clock = createTestClock();
  const { url: database_url } = await createTestStore();
  const telegram = await startTelegram({ clock });
  const shared = telegram.newBot("shared_relay_bot");
  const environment = {
    TELEGRAM_API_ROOT: telegram.url,
    TELEGRAM_BOT_TOKEN: shared.token,
    PUBLIC_URL: "https://relay.example/",
    ...env,
  };
  const { apps, ...processes } = createProcesses({ clock, database_url, jitter: () => 0.999 });
  const start = (env: Record<string, string> = environment) => processes.start({ env });
  const app = await start();
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);

  /**
   * Moves time once no process looks at the store after its listeners, as each does every second. On a busy machine,
   * time would run ahead of the store otherwise, and leases would run out.
   */
  const move = async (seconds: number) => {
    for (const one of apps) await one.reply_reader.settled();
    await clock.advance(seconds);
  };

  /** Moves time until the condition holds. */
  const eventually = (check: () => unknown, step = 0.2) =>
    until(async () => {
      await move(step);
      return check();
    });

  /** Moves time in steps, each until no process runs a job. */
  const advance = async (seconds: number, step = 1) => {
    for (let left = seconds; left > 0; left -= step) {
      await move(Math.min(step, left));
      for (const one of apps) await one.jobs.settled();
    }
  };

  /** Moves time until what any process is sending has been sent. */
  const settle = async () => {
    let settled = false;
    const end = () => {
      settled = true;
    };
    void Promise.all(apps.map(({ sender }) => sender.settled())).then(end);
    await eventually(() => settled, 0.1);
  };

  /** Adds a channel to the chat of a person with a bot, as the person does. */
  const connect = async ({ own, user: given, person: owner, settings }: ConnectOptions = {}) => {
    const person = owner ?? (await createPerson(app.local_url));
    const agent = await createAgent(app.local_url, person, "builder");
    const user = given ?? telegram.newUser();
    const bot = own ?? shared;
    /** The bot has said what to do next: it says that after the link shows who opened it. */
    const told = () =>
      user.chat(bot).filter(({ from_bot, text }) => from_bot && /confirm/.test(text)).length;
    const told_before = told();
    const body = { type: "telegram", label: "Phone", ...(own && { token: own.token }) };
    const { body: link } = await person.send("POST /v1/channels/links", body);
    user.start(bot, new URL(link.link).searchParams.get("start")!);
    await eventually(async () => {
      const { body } = await person.send(`GET /v1/channels/links/${link.id}`);
      return body.from?.name !== undefined && told() > told_before;
    }, 0.5);
    const confirmed = await person.send(`POST /v1/channels/links/${link.id}/confirm`);
    expect(confirmed.status).toBe(201);
    const { id } = confirmed.body.channel;
    if (settings) await person.send(`PATCH /v1/channels/${id}`, settings);
    const read = async () => (await person.send("GET /v1/channels")).body.channels[0];
    await clock.advance(1);
    const before = user.chat(bot).at(-1)!.message_id;
    /** The messages of the bot since then. */
    const chat = () => user.chat(bot).filter((one) => one.from_bot && one.message_id > before);
    return { person, agent, user, bot, id, read, chat };
  };

  return {
    clock,
    app,
    telegram,
    shared,
    /** Another process on the same store and clock, with the same configuration unless told otherwise. */
    start,
    advance,
    eventually,
    settle,
    connect,
    rows: (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({})),
    change: (text: string) => store.write([statement(sql.raw(text))({})]),
  };
}
