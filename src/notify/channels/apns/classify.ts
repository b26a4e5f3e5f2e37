/** What an answer of the push service means (docs/interface.md 14.7), pure. */

import { PUSH } from "../../../limits.ts";
import type { PushKind } from "../../../model/push.ts";

/** What came of a request. */
export type Answer =
  | { readonly kind: "ok" }
  | {
      readonly kind: "error";
      readonly status: number;
      readonly reason: string;
      /** Epoch seconds: since when the token is invalid. */
      readonly timestamp: number | null;
      /** Seconds. */
      readonly retry_after: number | null;
      /** The provider token that was used. */
      readonly provider_token: string;
    }
  /** No answer. `fate`: it found no service, was not taken by it, or may have been. */
  | {
      readonly kind: "lost";
      readonly code: string;
      readonly fate: "unconnected" | "refused" | "unclear";
    };

/** Seconds to wait: the least, and how much of chance comes on top. */
export interface Delay {
  readonly least: number;
  readonly spread: number;
}

export type Verdict =
  | { readonly do: "finish" }
  | { readonly do: "forget_token"; readonly since: number | null; readonly delay: Delay }
  /** `fault`: of the configuration, rather than of this push. */
  | { readonly do: "drop"; readonly fault: boolean }
  | { readonly do: "give_up" }
  | { readonly do: "renew"; readonly provider_token: string }
  | { readonly do: "stop_lane" }
  | { readonly do: "pause_lane"; readonly least: number; readonly base: number }
  | { readonly do: "hold_token"; readonly least: number }
  | { readonly do: "again"; readonly delay: Delay };

const FAULTS = [
  "DeviceTokenNotForTopic",
  "BadTopic",
  "TopicDisallowed",
  "MissingTopic",
  "InvalidPushType",
  "Forbidden",
];

/** `attempts` counts this one. */
export function classify(
  answer: Answer,
  { kind, attempts }: { readonly kind: PushKind; readonly attempts: number },
): Verdict {
  const soon = { least: 0, spread: grown(PUSH.lost_backoff, attempts, PUSH.lost_backoff_most) };
  if (answer.kind === "ok") return { do: "finish" };
  if (answer.kind === "lost") {
    if (answer.fate === "unconnected")
      return { do: "pause_lane", least: 0, base: PUSH.lost_backoff };
    // A start that may have arrived is not repeated: a double would be seen.
    if (kind === "start" && answer.fate === "unclear") return { do: "give_up" };
    return { do: "again", delay: soon };
  }
  const { status, reason, timestamp, retry_after, provider_token } = answer;
  const least = retry_after ?? 0;
  if (status === 410 || reason === "BadDeviceToken") {
    return { do: "forget_token", since: timestamp, delay: soon };
  }
  if (FAULTS.includes(reason)) return { do: "drop", fault: true };
  if (status === 403) {
    return reason === "ExpiredProviderToken"
      ? { do: "renew", provider_token }
      : { do: "stop_lane" };
  }
  if (status === 429) {
    return reason === "TooManyProviderTokenUpdates"
      ? { do: "pause_lane", least, base: PUSH.token_backoff }
      : { do: "hold_token", least };
  }
  if (status >= 500) {
    const sooner = kind === "question" && attempts <= PUSH.sooner_tries;
    return {
      do: "again",
      delay: sooner
        ? { least, spread: grown(PUSH.token_backoff, attempts, PUSH.server_backoff) }
        : { least: Math.max(least, PUSH.server_backoff), spread: PUSH.server_backoff },
    };
  }
  return { do: "drop", fault: false };
}

/** `base` at the first time, doubling, up to `most`. */
export function grown(base: number, times: number, most: number): number {
  return Math.min(most, base * 2 ** Math.min(times - 1, 30));
}
