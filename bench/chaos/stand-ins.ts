/** Stand-ins for every service that Relay notifies, and accounts that they all reach. */

import { systemClock } from "../../src/clock.ts";
import { startApple } from "../../test/support/apple.ts";
import { type Agent, client, DEVICE, type Person, WEBHOOK } from "../../test/support/client.ts";
import { startNtfy } from "../../test/support/ntfy.ts";
import { startPushService } from "../../test/support/push-service.ts";
import { newToken } from "../../test/support/push-world.ts";
import { startReceiver } from "../../test/support/receiver.ts";
import { startTelegram } from "../../test/support/telegram.ts";
import { until } from "../../test/support/until.ts";

export type StandIns = Awaited<ReturnType<typeof startStandIns>>;
export type Reached = Awaited<ReturnType<StandIns["reach"]>>;

/** An address of its own for each account, since one address may create only a few. */
let addresses = 0;

/** Creates an account from an address of its own; Relay must trust one proxy. */
export async function createAccount(url: string): Promise<Person> {
  const n = addresses++;
  const headers = { "x-forwarded-for": `10.1.${n >> 8}.${n & 255}` };
  const signal = AbortSignal.timeout(15_000);
  const { status, body } = await client(url)("POST /v1/accounts", {}, { headers, signal });
  if (status !== 201) throw new Error(`no account: ${status} ${JSON.stringify(body)}`);
  return { ...body, send: client(url, body.token) };
}

export async function startStandIns() {
  const apple = await startApple();
  const pushes = await startPushService();
  const ntfy = await startNtfy();
  const telegram = await startTelegram({ clock: systemClock });
  const receiver = startReceiver();
  const bot = telegram.newBot();
  let reached = 0;

  return {
    apple,
    pushes,
    ntfy,
    telegram,
    receiver,
    bot,
    /** What Relay needs to reach them. */
    env: {
      ...apple.env("SANDBOX"),
      ...pushes.env,
      OUTBOUND_PRIVATE: "127.0.0.0/8",
      NTFY_SERVER: ntfy.url,
      TELEGRAM_API_ROOT: telegram.url,
      TELEGRAM_BOT_TOKEN: bot.token,
    } as Record<string, string>,
    /** What a service has refused because it breaks the service's rules. */
    faults: () => [apple, pushes, ntfy, telegram, receiver].flatMap((one) => one.faults),

    /** Gives the account at `url` a device, a channel of every type, and its agent a webhook. */
    async reach(url: string, person: Person, agent: Agent) {
      const send = client(url, person.token);
      const n = reached++;
      const [hook, key_hook] = [`/hook-${n}`, `/key-hook-${n}`];
      const apns_token = newToken();
      const device_id = `dev_${crypto.randomUUID()}`;
      const ok = async (request: `${string} /${string}`, body: object = {}) => {
        const answer = await send(request, body);
        if (answer.status < 300) return answer.body;
        throw new Error(`${request}: ${answer.status} ${JSON.stringify(answer.body)}`);
      };
      await ok(`PUT /v1/devices/${device_id}`, { ...DEVICE, apns_token });
      const subscription = pushes.subscribe();
      // A webhook takes 60 messages a minute: only questions, so that the queue empties.
      const webhook = await ok("POST /v1/channels", {
        ...WEBHOOK,
        url: receiver.url(hook),
        sends: ["questions"],
      });
      receiver.expect(hook, webhook.secret);
      const topic = await ok("POST /v1/channels", {
        type: "ntfy",
        label: "Topic",
        url: ntfy.url,
        replies: true,
        sends: ["questions"],
      });
      const browser = await ok("POST /v1/channels", {
        type: "web_push",
        label: "Browser",
        sends: ["questions"],
        subscription,
      });
      const user = telegram.newUser();
      const link = await ok("POST /v1/channels/links", { type: "telegram", label: "Chat" });
      user.start(bot, new URL(link.link).searchParams.get("start")!);
      await until(async () => {
        const { body } = await send(`GET /v1/channels/links/${link.id}`);
        return body.from?.name !== undefined;
      });
      const chat = await ok(`POST /v1/channels/links/${link.id}/confirm`);
      await ok(`PATCH /v1/channels/${chat.channel.id}`, { sends: ["questions"] });
      const made = await ok(`PUT /v1/keys/${agent.key.id}/webhook`, {
        url: receiver.url(key_hook),
      });
      receiver.expect(key_hook, made.secret);
      await until(() =>
        [hook, key_hook].every((at) => receiver.got.some(({ path }) => path === at)),
      );
      return {
        hook,
        key_hook,
        apns_token,
        device_id,
        endpoint: subscription.endpoint,
        topic: new URL(topic.url).pathname.slice(1),
        user,
        channels: {
          webhook: webhook.channel.id as string,
          ntfy: topic.channel.id as string,
          web_push: browser.channel.id as string,
          telegram: chat.channel.id as string,
        },
      };
    },
  };
}
