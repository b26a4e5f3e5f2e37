/** Decides what the answer of a webhook's receiver means (§19.4.4); pure. */

import { WEBHOOK_LIMITS } from "../../notification-limits.ts";
import type { OutboundAnswer, OutboundFault } from "../../outbound/guard.ts";
import { exponentialDelay } from "../core/channel.ts";
import { retryAfter } from "../core/requests.ts";
import { isWebPage } from "../core/web-page.ts";

/** An answer, or why there was none. */
type WebhookAnswer = OutboundAnswer | { readonly fault: OutboundFault };

/** `code` is counted and shown as `last_error`; `ok` for what was accepted. */
export type WebhookVerdict =
  | { readonly do: "finish"; readonly code: "ok" }
  /** The receiver wants no more of this channel. */
  | { readonly do: "end"; readonly code: string }
  /** `hold`: seconds for which nothing of the channel is sent; null if the receiver did not ask for that. */
  | { readonly do: "again"; readonly code: string; readonly hold: number | null };

interface WebhookAttempt {
  /** Epoch seconds, for a `Retry-After` with a date. */
  readonly now: number;
  /** True for a test delivery: a response with a web page then does not count as success. */
  readonly is_test: boolean;
}

export function classify(answer: WebhookAnswer, { now, is_test }: WebhookAttempt): WebhookVerdict {
  if ("fault" in answer) return { do: "again", code: answer.fault, hold: null };
  const { status, headers, body } = answer;
  const is_success = status >= 200 && status < 300;
  if (is_success && is_test && isWebPage(headers, body)) {
    return { do: "again", code: "unexpected_answer", hold: null };
  }
  if (is_success) return { do: "finish", code: "ok" };
  const code = `status_${status}`;
  if (status === 410) return { do: "end", code };
  const busy = status === 429 || status === 503;
  return { do: "again", code, hold: busy ? holdOf(headers["retry-after"], now) : null };
}

/** Seconds, at most `hold_most`; null if none were asked for. */
function holdOf(header: unknown, now: number): number | null {
  const seconds = retryAfter(header, now);
  return seconds ? Math.min(seconds, WEBHOOK_LIMITS.hold_most) : null;
}

/** Seconds until the next attempt after the `attempts`-th failed; `jitter`: from 0 to below 1. */
export function backoff(attempts: number, jitter: number): number {
  return (
    1 + jitter * exponentialDelay(WEBHOOK_LIMITS.backoff, attempts, WEBHOOK_LIMITS.backoff_most)
  );
}
