/** What the contract suite needs of each channel: a stand-in for its service, and its answers. */

import type { ApnsAnswer } from "../../src/notify/channels/apns/classify.ts";
import { type Behaviour, startApple } from "./apple.ts";
import { DEVICE, type Person } from "./client.ts";
import { newToken } from "./push-world.ts";

/** How the service treats a request; `gone`: it knows the address no more. */
export type Treatment = "ok" | "busy" | "broken" | "gone" | "refused" | "lost" | "silent" | "junk";

export interface ChannelFixture {
  /** Configuration with which the channel reaches the stand-in. */
  readonly env: Readonly<Record<string, string>>;
  /** Time as the stand-in sees it from now on, in seconds. */
  setNow(now: () => number): void;
  /** Registers an address of the person for all that is shown; gives it. */
  register(person: Person): Promise<string>;
  treat(how: Treatment): void;
  /** Requests that arrived, and those of them that were accepted. */
  received(): number;
  accepted(): number;
  /** Every answer that is told from others, and some that the service should never give. */
  readonly answers: readonly unknown[];
  /** The service is gone: nobody listens any more. */
  stop(): Promise<void>;
}

/** By the name of the channel. One that needs no service may go without. */
export const FIXTURES: Readonly<Record<string, () => Promise<ChannelFixture>>> = { apns };

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

const ERROR = {
  kind: "error",
  timestamp: null,
  retry_after: null,
  renewed: false,
  renewable_in: Number.NEGATIVE_INFINITY,
} as const;
