/** Decides what an answer of a browser's push service means (§19.6.5); pure. */

import {
  type Attempt,
  busyHost,
  exponentialDelay,
  LOST_BACKOFF,
  type Verdict,
} from "../core/channel.ts";
import { HOLD_MOST } from "../core/requests.ts";

/** Seconds of the longest back-off after a failed attempt. */
const BACKOFF_MOST = 300;

export type WebPushAnswer =
  | {
      readonly kind: "answer";
      readonly status: number;
      /** True for a web page, such as a login, in place of what RFC 8030 says: 201, or a `Location`. */
      readonly is_page: boolean;
      /** Seconds. */
      readonly retry_after: number | null;
    }
  | {
      readonly kind: "lost";
      readonly code: "invalid_url" | "unreachable" | "timed_out" | "failed";
      /** True if another attempt would fail in the same way. */
      readonly final: boolean;
      /** True if it may have arrived. */
      readonly unclear: boolean;
    }
  /** The host has not answered lately; `wait`: seconds. */
  | { readonly kind: "busy"; readonly wait: number };

export function classify(answer: WebPushAnswer, { attempts }: Attempt): Verdict {
  if (answer.kind === "busy") return busyHost(answer.wait);
  const spread = exponentialDelay(LOST_BACKOFF, attempts, BACKOFF_MOST);
  const delay = { least: 0, spread };
  if (answer.kind === "lost") {
    const { code: reason, final, unclear } = answer;
    if (final) return { do: "drop", reason, fault: false };
    return { do: "again", reason, delay, unclear };
  }
  const { status, retry_after, is_page } = answer;
  if (status >= 200 && status < 300 && is_page) {
    return { do: "again", reason: "unexpected_answer", delay, unclear: false };
  }
  // The service keeps only the newest message of a topic, so an `ended` replaces its alert.
  if (status >= 200 && status < 300) return { do: "finish", reason: "ok", replaces: true };
  const reason = `status_${status}`;
  const least = Math.min(retry_after ?? 0, HOLD_MOST);
  if (status === 429) return { do: "hold_target", reason, least };
  if (status === 404 || status === 410) {
    return { do: "forget_target", reason, since: null, delay };
  }
  if (status >= 500) return { do: "again", reason, delay: { least, spread }, unclear: false };
  // On 401 and 403 the VAPID token is wrong, or the subscription was made with another key.
  return { do: "drop", reason, fault: status === 401 || status === 403 };
}
