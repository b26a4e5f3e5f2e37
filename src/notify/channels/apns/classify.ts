/** What an answer of Apple's push service means (docs/interface.md §14.7), pure. */

import { PUSH } from "../../../notification-limits.ts";
import { type Attempt, grown, type Verdict } from "../../channel.ts";

export type ApnsAnswer =
  | { readonly kind: "ok" }
  | {
      readonly kind: "error";
      readonly status: number;
      readonly reason: string;
      /** Epoch seconds: since when the token is invalid. */
      readonly timestamp: number | null;
      /** Seconds. */
      readonly retry_after: number | null;
      /** Whether there is a newer provider token than the one that was refused. */
      readonly renewed: boolean;
      /** Seconds until another provider token may be made. */
      readonly renewable_in: number;
    }
  /**
   * No answer. `fate`: the service was not reached, did not process the request, or may have
   * processed it.
   */
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
  const soon = { least: 0, spread: grown(PUSH.lost_backoff, attempts, PUSH.lost_backoff_most) };
  if (answer.kind === "ok") return { do: "finish", reason: "ok" };
  if (answer.kind === "lost") {
    const { code: reason, fate } = answer;
    if (fate === "unconnected") {
      return { do: "pause_lane", reason, least: 0, base: PUSH.lost_backoff };
    }
    // A start that may have arrived is not repeated: the person would see two.
    if (kind === "start" && fate === "unclear") return { do: "give_up", reason };
    return { do: "again", reason, delay: soon, unclear: fate === "unclear" };
  }
  const { status, reason, timestamp, retry_after } = answer;
  const least = Math.min(retry_after ?? 0, PUSH.hold_most);
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
      ? { do: "pause_lane", reason, least, base: PUSH.token_backoff }
      : { do: "hold_target", reason, least };
  }
  if (status >= 500) {
    const sooner = kind === "question" && attempts <= PUSH.sooner_tries;
    return {
      do: "again",
      reason,
      delay: sooner
        ? { least, spread: grown(PUSH.token_backoff, attempts, PUSH.server_backoff) }
        : { least: Math.max(least, PUSH.server_backoff), spread: PUSH.server_backoff },
      unclear: false,
    };
  }
  return { do: "drop", reason, fault: false };
}
