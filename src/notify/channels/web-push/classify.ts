/** What an answer of a browser's push service means, pure (docs/interface.md 19.6.5). */

import { PUSH, WEB_PUSH } from "../../../notification-limits.ts";
import { type Attempt, grown, type Verdict } from "../../channel.ts";

export type WebPushAnswer =
  | {
      readonly kind: "answer";
      readonly status: number;
      /** A web page, such as a login, instead of what RFC 8030 says: 201, or the place of the message. */
      readonly is_page: boolean;
      /** Seconds. */
      readonly retry_after: number | null;
    }
  | {
      readonly kind: "lost";
      readonly code: "invalid_url" | "unreachable" | "timed_out" | "failed";
      /** Another attempt would fail in the same way. */
      readonly final: boolean;
      /** It may have arrived. */
      readonly unclear: boolean;
    }
  /** The host has not answered lately; `wait`: seconds. */
  | { readonly kind: "busy"; readonly wait: number };

export function classify(answer: WebPushAnswer, { attempts }: Attempt): Verdict {
  if (answer.kind === "busy") {
    const delay = { least: answer.wait, spread: WEB_PUSH.busy_spread };
    return { do: "again", reason: "busy", delay, unclear: false, tried: false };
  }
  const spread = grown(PUSH.lost_backoff, attempts, WEB_PUSH.backoff_most);
  if (answer.kind === "lost") {
    const { code: reason, final, unclear } = answer;
    if (final) return { do: "drop", reason, fault: false };
    return { do: "again", reason, delay: { least: 0, spread }, unclear };
  }
  const { status, retry_after, is_page } = answer;
  if (status >= 200 && status < 300 && is_page) {
    return {
      do: "again",
      reason: "unexpected_answer",
      delay: { least: 0, spread },
      unclear: false,
    };
  }
  // The service keeps only the newest message of a topic, so an `ended` replaces its alert.
  if (status >= 200 && status < 300) return { do: "finish", reason: "ok", replaces: true };
  const reason = `status_${status}`;
  const least = Math.min(retry_after ?? 0, WEB_PUSH.hold_most);
  // Without a Retry-After, the time grows with each refusal.
  if (status === 429) return { do: "hold_target", reason, least };
  if (status === 404 || status === 410) {
    return { do: "forget_target", reason, since: null, delay: { least: 0, spread } };
  }
  if (status >= 500) return { do: "again", reason, delay: { least, spread }, unclear: false };
  // The VAPID token is wrong, or the subscription was made with another key.
  return { do: "drop", reason, fault: status === 401 || status === 403 };
}
