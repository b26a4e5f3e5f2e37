/** The services of all channels, a Relay that reaches them, and an account that is reached by every one. */

import { expect } from "bun:test";
import { randomBytes } from "node:crypto";
import { type TestApp as App, startTestApp } from "./app.ts";
import { ask, client, createAgent, createPerson } from "./client.ts";
import { createTestClock, whileMoving } from "./clock.ts";
import { startNtfy } from "./ntfy.ts";
import { startPushService } from "./push-service.ts";
import { startReceiver } from "./receiver.ts";
import { startTelegram } from "./telegram.ts";
import type { TestUser } from "./telegram-users.ts";
import { until } from "./until.ts";

interface Reached {
  readonly agent: Awaited<ReturnType<typeof createAgent>>;
  readonly user: TestUser;
}

const keyed = (key: Buffer | undefined) => ({
  ...(key && { DATABASE_ENCRYPTION_KEY: key.toString("base64") }),
});

export async function startEveryService() {
  const clock = createTestClock();
  const receiver = startReceiver();
  const NTFY_TOKEN = "tk_plantedplantedplanted";
  const ntfy = await startNtfy({ token: NTFY_TOKEN });
  const push = await startPushService({ now: clock.now });
  const telegram = await startTelegram({ clock, strict: false });
  const bot = telegram.newBot();
  // Time moves slowly, or a lease would end before a busy store has renewed it.
  const tick = () => clock.advance(0.1);

  const startOn = (database_url: string, key: Buffer | undefined) =>
    startTestApp({
      clock,
      database_url,
      jitter: () => 0.999,
      env: { ...push.env, TELEGRAM_API_ROOT: telegram.url, ...keyed(key) },
    });

  /** An account that is reached in every way, each of which has been tried. */
  async function reachable(app: App) {
    const person = await createPerson(app.url);
    const agent = await createAgent(app.url, person);
    const add = async (body: object) => {
      const { status, body: made } = await person.send("POST /v1/channels", body);
      expect([status, made.type]).toEqual([201, undefined]);
      return made;
    };
    const subscription = push.subscribe();
    const topic = `planted-topic-${randomBytes(4).toString("hex")}`;
    const hook = await add({ type: "webhook", label: "CI", url: receiver.url("/planted-hook") });
    receiver.expect("/planted-hook", hook.secret);
    const url = receiver.url("/planted-key-hook");
    const { body: key_hook } = await agent.send(`PUT /v1/keys/${agent.key.id}/webhook`, { url });
    receiver.expect("/planted-key-hook", key_hook.secret);
    await add({ type: "ntfy", label: "Topic", url: `${ntfy.url}/${topic}`, token: NTFY_TOKEN });
    const browser = await add({ type: "web_push", label: "Firefox", subscription });

    const user = telegram.newUser();
    const begun = { type: "telegram", label: "Chat", token: bot.token };
    const { body: link } = await person.send("POST /v1/channels/links", begun);
    user.start(bot, new URL(link.link).searchParams.get("start")!);
    await until(async () => {
      await tick();
      return (await person.send(`GET /v1/channels/links/${link.id}`)).body.from?.name !== undefined;
    });
    // Nobody confirms this one: the addresses of its link and of its visitor stay.
    const { body: waiting } = await person.send("POST /v1/channels/links", begun);
    user.start(bot, new URL(waiting.link).searchParams.get("start")!);
    await until(async () => {
      await tick();
      return (await person.send(`GET /v1/channels/links/${waiting.id}`)).body.from != null;
    });
    expect((await person.send(`POST /v1/channels/links/${link.id}/confirm`)).status).toBe(201);
    const { endpoint, keys } = subscription;
    return {
      person,
      agent,
      user,
      browser,
      link: waiting,
      planted: [
        ...[topic, NTFY_TOKEN, bot.token, `"chat":${user.id}`, endpoint, keys.auth, keys.p256dh],
        ...["/planted-hook", hook.secret, "/planted-key-hook", key_hook.secret],
      ],
    };
  }

  /** Asks a question, and waits until every channel of the person has it. Returns the message in the chat. */
  async function reach(app: App, { agent, user }: Reached) {
    const [published, accepted] = [ntfy.published.length, push.accepted.length];
    receiver.take();
    const title = `Question ${randomBytes(4).toString("hex")}?`;
    const question = await ask(client(app.url, agent.secret), { prompt: title });
    const hasMessage = () => user.chat(bot).findLast(({ text }) => text.includes(title));
    await until(async () => {
      await tick();
      const hooked = receiver.got.some(
        ({ path, status }) => path === "/planted-hook" && status === 200,
      );
      return (
        hooked &&
        ntfy.published.length > published &&
        push.accepted.length > accepted &&
        hasMessage()
      );
    });
    expect(receiver.faults).toEqual([]);
    return { question, message: hasMessage()! };
  }

  /** The services accept requests and answers of this app. */
  async function works(app: App, made: Reached): Promise<void> {
    const { question, message } = await reach(app, made);
    made.user.tap(bot, message, "Yes");
    const read = client(app.url, made.agent.secret);
    await until(async () => {
      await tick();
      return (await read(`GET /v1/questions/${question.id}`)).body.answer === "Yes";
    });
    // The person's answer goes to the webhook of the key.
    await until(async () => {
      await tick();
      return receiver.got.some(
        ({ path, status }) => path === "/planted-key-hook" && status === 200,
      );
    });
  }
  /** Stops an app that has nothing under way: a message that waits for its turn would hold up the stop. */
  async function stop(app: App): Promise<void> {
    await whileMoving(clock, Promise.all([app.sender.settled(), app.webhooks.settled()]));
    await app.stop();
  }

  return { push, startOn, reachable, works, stop };
}
