/** What the contract suite needs for each channel: a stand-in for its service, and its answers. */

import type { ApnsAnswer } from "../../src/notify/apns/classify.ts";
import type { NtfyAnswer } from "../../src/notify/ntfy/classify.ts";
import type { TelegramAnswer } from "../../src/notify/telegram/classify.ts";
import type { CallFailure } from "../../src/notify/telegram/client.ts";
import type { WebPushAnswer } from "../../src/notify/web-push/classify.ts";
import { type Behaviour, startApple } from "./apple.ts";
import { DEVICE, type Person } from "./client.ts";
import type { TestClock } from "./clock.ts";
import { type NtfyBehaviour, startNtfy } from "./ntfy.ts";
import { type PushTreatment, startPushService } from "./push-service.ts";
import { newToken } from "./push-world.ts";
import { startTelegram } from "./telegram.ts";
import type { TelegramTreatment } from "./telegram-checks.ts";
import { until } from "./until.ts";

/** How the service treats a request; `gone`: it no longer knows the address. */
export type Treatment = "ok" | "busy" | "broken" | "gone" | "refused" | "lost" | "silent" | "junk";

export interface ChannelFixture {
  /** Configuration with which the channel reaches the stand-in. */
  readonly env: Readonly<Record<string, string>>;
  /** True: the channel also works without it, at the real service. */
  readonly works_without_env?: true;
  /** True: messages to one address have a pace, so that one may wait until time has passed. */
  readonly is_paced?: true;
  /** Bytes of a request as JSON, at most, if the service counts otherwise. */
  readonly request_bytes?: number;
  /** Sets the stand-in's time, in seconds. */
  setNow(now: () => number): void;
  /** An address that the stand-in knows, in the channel's form. */
  readonly address: string;
  /** Registers one of the person's addresses for everything that is shown, and returns it. */
  register(person: Person, clock: TestClock): Promise<string>;
  treat(how: Treatment): void;
  /** Requests that arrived, and those that were accepted. */
  received(): number;
  accepted(): number;
  /** Every answer that Relay distinguishes, and some that the service should never give. */
  readonly answers: readonly unknown[];
  /** Ends the service: nothing listens any more. */
  stop(): Promise<void>;
}

/** By the channel's name. A channel without a service needs no stand-in. */
export const FIXTURES: Readonly<Record<string, () => Promise<ChannelFixture>>> = {
  apns,
  ntfy,
  web_push: webPush,
  telegram,
};

async function apns(): Promise<ChannelFixture> {
  const apple = await startApple();
  const treatments: Record<Treatment, Behaviour> = {
    ok: undefined,
    busy: { status: 429, reason: "TooManyRequests" },
    broken: { status: 503, reason: "ServiceUnavailable" },
    gone: { status: 410, reason: "Unregistered" },
    refused: { status: 400, reason: "PayloadEmpty" },
    lost: { drop: true },
    silent: { hang: true },
    junk: { status: 599, reason: "x".repeat(5_000) },
  };
  const reasons = [
    ...["BadDeviceToken", "DeviceTokenNotForTopic", "BadTopic", "Forbidden", "Unregistered"],
    ...["ExpiredProviderToken", "InvalidProviderToken", "TooManyProviderTokenUpdates"],
    ...["TooManyRequests", "PayloadTooLarge", "InternalServerError", "UnknownError"],
  ];
  const errors = [400, 403, 405, 410, 413, 429, 500, 503, 599, 200, 302].flatMap((status) =>
    reasons.map((reason) => ({ ...ERROR, status, reason })),
  );
  const more = [
    { ...ERROR, status: 403, reason: "ExpiredProviderToken", renewed: true },
    { ...ERROR, status: 429, reason: "TooManyRequests", retry_after: 999_999 },
    { ...ERROR, status: 410, reason: "Unregistered", timestamp: 1_800_000_000 },
  ];
  const lost = (["unconnected", "refused", "unclear"] as const).map(
    (fate) => ({ kind: "lost", code: "ECONNRESET", fate }) as const,
  );
  const answers: ApnsAnswer[] = [{ kind: "ok" }, ...errors, ...more, ...lost];
  return {
    env: apple.env("SANDBOX"),
    address: newToken(),
    setNow: apple.setNow,
    async register(person) {
      const apns_token = newToken();
      const path = `PUT /v1/devices/dev_${crypto.randomUUID()}` as const;
      const { status } = await person.send(path, { ...DEVICE, apns_token });
      if (status !== 200) throw new Error("no device");
      return apns_token;
    },
    treat: (how) => apple.behave(() => treatments[how]),
    received: () => apple.received.length,
    accepted: () => apple.delivered.length,
    answers,
    stop: apple.stop,
  };
}

async function ntfy(): Promise<ChannelFixture> {
  const server = await startNtfy();
  let topics = 0;
  const treatments: Record<Treatment, NtfyBehaviour> = {
    ok: "ok",
    busy: 429,
    broken: 503,
    gone: 410,
    refused: 403,
    lost: "drop",
    silent: "hang",
    junk: "junk",
  };
  const status = [200, 201, 302, 400, 401, 403, 404, 410, 413, 429, 500, 503, 507, 599];
  const answers: NtfyAnswer[] = [
    ...status.flatMap((one) =>
      (["published", "web page", "something else"] as const).flatMap((said) =>
        [null, 60, 999_999].map((retry_after) => ({
          ...{ kind: "answer" as const, status: one, retry_after, said, replaces: false },
        })),
      ),
    ),
    ...OUTBOUND_FAULTS.map((fault) => ({ kind: "lost" as const, fault })),
    { kind: "busy", wait: 60 },
  ];
  return {
    env: {},
    address: JSON.stringify({ server: server.url, topic: "t", token: null }),
    setNow() {},
    async register(person) {
      const url = `${server.url}/topic-${++topics}`;
      const body = { type: "ntfy", label: "Phone", url };
      const { status: made } = await person.send("POST /v1/channels", body);
      if (made !== 201) throw new Error("no channel");
      return url;
    },
    treat: (how) => server.behave(treatments[how]),
    received: () => server.received(),
    accepted: () => server.published.length,
    answers,
    stop: server.stop,
  };
}

async function webPush(): Promise<ChannelFixture> {
  let now = () => 0;
  const service = await startPushService({ now: () => now() });
  const subscription = service.subscribe();
  const treatments: Record<Treatment, PushTreatment> = {
    ok: "ok",
    busy: { status: 429 },
    broken: { status: 503 },
    gone: { status: 410 },
    refused: { status: 400 },
    lost: "drop",
    silent: "hang",
    junk: { status: 599, body: "x".repeat(70_000) },
  };
  const status = [200, 201, 202, 204, 301, 400, 401, 403, 404, 410, 413, 429, 500, 502, 503, 599];
  const answers: WebPushAnswer[] = [
    ...status.flatMap((one) =>
      [null, 60, 999_999_999].map((retry_after) => ({
        ...{ kind: "answer" as const, status: one, retry_after, is_page: retry_after === null },
      })),
    ),
    { kind: "lost", code: "invalid_url", final: true, unclear: false },
    { kind: "lost", code: "unreachable", final: false, unclear: false },
    { kind: "lost", code: "timed_out", final: false, unclear: true },
    { kind: "busy", wait: 60 },
  ];
  return {
    env: service.env,
    works_without_env: true,
    address: JSON.stringify({ endpoint: subscription.endpoint, ...subscription.keys }),
    setNow: (next) => {
      now = next;
    },
    async register(person) {
      const subscription = service.subscribe();
      const body = { type: "web_push", label: "Firefox", subscription };
      const { status: made } = await person.send("POST /v1/channels", body);
      if (made !== 201) throw new Error("no channel");
      return subscription.endpoint;
    },
    treat: (how) => service.behave(treatments[how]),
    received: service.received,
    accepted: () => service.accepted.length,
    answers,
    stop: service.stop,
  };
}

async function telegram(): Promise<ChannelFixture> {
  // The suite sends more than one message a second.
  const service = await startTelegram({ strict: false });
  const bot = service.newBot();
  const { id: chat, setState } = service.newUser();
  setState(bot, "open");
  const count = (method: string) => service.calls.filter((one) => one.method === method).length;
  /** Replies to those who opened a link. */
  let said = 0;
  const treatments: Record<Treatment, TelegramTreatment> = {
    ok: "ok",
    busy: { flood: 5 },
    broken: 503,
    gone: { refuse: [403, "Forbidden: bot was blocked by the user"] },
    refused: { refuse: [400, "Bad Request: BUTTON_DATA_INVALID"] },
    lost: "drop",
    silent: "hang",
    junk: "junk",
  };
  const status = [400, 401, 403, 404, 409, 429, 500, 502, 599];
  const failures = [
    ...status.flatMap((one) =>
      [
        ["chat not found", null],
        ["message is not modified", 60],
        ["message to edit not found", 999_999],
      ].map(([description, retry_after]) => ({
        ...{ kind: "error", status: one, description, retry_after },
      })),
    ),
    ...[200, 302, 404, 502].map((one) => ({ kind: "foreign", status: one, is_page: true })),
    ...OUTBOUND_FAULTS.map((fault) => ({ kind: "lost", fault })),
  ] as CallFailure[];
  const answers: TelegramAnswer[] = [
    { kind: "ok", message_id: 7 },
    { kind: "ok", message_id: Number.NaN },
    { kind: "no_token" },
    { kind: "busy", wait: 60 },
    ...failures.flatMap((one) =>
      [true, false].flatMap((own) => [null, 7].map((edit) => ({ ...one, own, edit }))),
    ),
  ];
  return {
    env: { TELEGRAM_API_ROOT: service.url, TELEGRAM_BOT_TOKEN: bot.token },
    works_without_env: true,
    is_paced: true,
    // The service counts UTF-16 units, of which each may be six bytes of JSON.
    request_bytes: 6 * 4_096 + 4_096,
    setNow() {},
    address: JSON.stringify({ token: bot.token, bot_id: bot.id, username: bot.username, chat }),
    async register(person, clock) {
      const body = { type: "telegram", label: "Phone" };
      const { body: link } = await person.send("POST /v1/channels/links", body);
      const user = service.newUser();
      user.start(bot, new URL(link.link).searchParams.get("start")!);
      await until(async () => {
        await clock.advance(0.5);
        const { body } = await person.send(`GET /v1/channels/links/${link.id}`);
        return body.from?.name !== undefined;
      });
      const { status } = await person.send(`POST /v1/channels/links/${link.id}/confirm`);
      if (status !== 201) throw new Error("no channel");
      await until(() => user.chat(bot).some(({ from_bot }) => from_bot));
      said++;
      return String(user.id);
    },
    treat: (how) => service.behave(treatments[how], "sendMessage"),
    received: () => count("sendMessage") - said,
    accepted: () => service.accepted() - said,
    answers,
    stop: service.stop,
  };
}

const OUTBOUND_FAULTS = [
  ...(["invalid_url", "forbidden_address", "unknown_host", "unreachable"] as const),
  ...(["tls_failed", "timed_out", "answer_too_large", "failed"] as const),
];

const ERROR = {
  kind: "error",
  timestamp: null,
  retry_after: null,
  renewed: false,
  renewable_in: Number.NEGATIVE_INFINITY,
} as const;
