/** A service on a test clock with a stand-in for Telegram, and people with an agent and a chat with a bot each. */

import { expect } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "./app.ts";
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
  const start = (env: Record<string, string> = environment) =>
    startTestApp({ clock, database_url, jitter: () => 0.999, env });
  const app = await start();
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);

  /** Moves time in steps, each until nothing is being sent. */
  const advance = async (seconds: number, step = 1) => {
    for (let left = seconds; left > 0; left -= step) {
      await clock.advance(Math.min(step, left));
      await app.jobs.settled();
    }
  };

  /** Moves time until what is being sent has been sent. */
  const settle = async () => {
    let settled = false;
    const end = () => {
      settled = true;
    };
    void app.sender.settled().then(end);
    await until(async () => {
      await clock.advance(0.1);
      return settled;
    });
  };

  /** Adds a channel to the chat of a person with a bot, as the person does. */
  const connect = async ({ own, user: given, person: owner, settings }: ConnectOptions = {}) => {
    const person = owner ?? (await createPerson(app.local_url));
    const agent = await createAgent(app.local_url, person, "builder");
    const user = given ?? telegram.newUser();
    const bot = own ?? shared;
    const body = { type: "telegram", label: "Phone", ...(own && { token: own.token }) };
    const { body: link } = await person.send("POST /v1/channels/links", body);
    user.start(bot, new URL(link.link).searchParams.get("start")!);
    await until(async () => {
      await clock.advance(0.5);
      const { body } = await person.send(`GET /v1/channels/links/${link.id}`);
      return body.from?.name !== undefined;
    });
    const confirmed = await person.send(`POST /v1/channels/links/${link.id}/confirm`);
    expect(confirmed.status).toBe(201);
    const { id } = confirmed.body.channel;
    if (settings) await person.send(`PATCH /v1/channels/${id}`, settings);
    const read = async () => (await person.send("GET /v1/channels")).body.channels[0];
    // The bot has said what to do next.
    await until(() =>
      user.chat(bot).some(({ from_bot, text }) => from_bot && /confirm/.test(text)),
    );
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
    start,
    advance,
    settle,
    connect,
    rows: (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({})),
    change: (text: string) => store.write([statement(sql.raw(text))({})]),
  };
}
