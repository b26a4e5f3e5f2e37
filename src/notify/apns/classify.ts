/** Decides what an answer of Apple's push service means (§14.7); pure. */

import { HOLD_BACKOFF } from "../core/address-holds.ts";
import {
  type Attempt,
  exponentialDelay,
  LOST_BACKOFF,
  LOST_BACKOFF_MOST,
  type Verdict,
} from "../core/channel.ts";
import { HOLD_MOST } from "../core/requests.ts";

/** Seconds of back-off after an error of the service, and attempts for which a question waits less. */
const SERVER_BACKOFF = 900;
const SOONER_TRIES = 2;

export type ApnsAnswer =
  | { readonly kind: "ok" }
  | {
      readonly kind: "error";
      readonly status: number;
      readonly reason: string;
      /** Epoch seconds since which the token is invalid. */
      readonly timestamp: number | null;
      /** Seconds. */
      readonly retry_after: number | null;
      /** True if a newer provider token exists than the one that was refused. */
      readonly renewed: boolean;
      /** Seconds until another provider token may be made. */
      readonly renewable_in: number;
    }
  /** No answer. `fate`: the service was not reached, did not process the request, or may have. */
  | {
      readonly kind: "lost";
      readonly code: string;
      readonly fate: "unconnected" | "refused" | "unclear";
    };

/** Reasons that point to the configuration or the key. */
const FAULTS = [
  "DeviceTokenNotForTopic",
  "BadTopic",
  "TopicDisallowed",
  "MissingTopic",
  "InvalidPushType",
  "Forbidden",
];

export const EXPIRED_PROVIDER_TOKEN = "ExpiredProviderToken";

export function classify(answer: ApnsAnswer, { kind, attempts, resent }: Attempt): Verdict {
  const soon = { least: 0, spread: exponentialDelay(LOST_BACKOFF, attempts, LOST_BACKOFF_MOST) };
  if (answer.kind === "ok") return { do: "finish", reason: "ok" };
  if (answer.kind === "lost") {
    const { code: reason, fate } = answer;
    if (fate === "unconnected") {
      return { do: "pause_lane", reason, least: 0, base: LOST_BACKOFF };
    }
    // A start that may have arrived is not repeated: the person would see two.
    if (kind === "start" && fate === "unclear") return { do: "give_up", reason };
    return { do: "again", reason, delay: soon, unclear: fate === "unclear" };
  }
  const { status, reason, timestamp, retry_after } = answer;
  const least = Math.min(retry_after ?? 0, HOLD_MOST);
  if (status === 410 || reason === "BadDeviceToken") {
    return { do: "forget_target", reason, since: timestamp, delay: soon };
  }
  if (FAULTS.includes(reason)) return { do: "drop", reason, fault: true };
  if (status === 403) {
    if (reason !== EXPIRED_PROVIDER_TOKEN) return { do: "stop_lane", reason };
    if (answer.renewed && !resent) return { do: "resend", reason };
    // The newest token was refused as expired too, and another may not be made yet.
    return { do: "pause_lane", reason, least: Math.max(1, answer.renewable_in), base: 0 };
  }
  if (status === 429) {
    return reason === "TooManyProviderTokenUpdates"
      ? { do: "pause_lane", reason, least, base: HOLD_BACKOFF }
      : { do: "hold_target", reason, least };
  }
  if (status >= 500) {
    const sooner = kind === "question" && attempts <= SOONER_TRIES;
    return {
      do: "again",
      reason,
      delay: sooner
        ? { least, spread: exponentialDelay(HOLD_BACKOFF, attempts, SERVER_BACKOFF) }
        : { least: Math.max(least, SERVER_BACKOFF), spread: SERVER_BACKOFF },
      unclear: false,
    };
  }
  return { do: "drop", reason, fault: false };
}
