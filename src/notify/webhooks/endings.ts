/** Makes the statements that end an attempt to send a message of a webhook; pure. */

import {
  channelFailed,
  channelGone,
  channelSucceeded,
  dropQueueOfGone,
} from "../../../db/channels.ts";
import { settleQuestion } from "../../../db/notify/question-deliveries.ts";
import {
  type ClaimedMessage,
  dropMessage,
  putBackMessage,
  TESTS,
} from "../../../db/notify/webhook-queue.ts";
import { noteFailedAttempt } from "../../../db/question-report.ts";
import type { Statement } from "../../../db/store/store.ts";
import { backoff, type WebhookVerdict } from "./classify.ts";

/**
 * The statement that ends the delivery of a question (§19.3) together with its message; none for other
 * messages. `now`: epoch seconds.
 */
export function endDelivery(
  { message, channel }: ClaimedMessage,
  status: "sent" | "failed" | "suppressed",
  reason: string | null,
  now: number,
): Statement[] {
  if (message.type !== "question.created") return [];
  const names = { question_id: message.subject, target_id: channel.id };
  const sent_ms = status === "sent" ? Math.round(now * 1000) : null;
  return [settleQuestion({ ...names, status, reason, sent_ms })];
}

/**
 * The statements that end one attempt as the verdict asks (§19.4.5). `now`: epoch seconds; `jitter`: from 0
 * to 1, spreads the next attempts.
 */
export function endAttempt(
  claimed: ClaimedMessage,
  verdict: WebhookVerdict,
  { now, jitter }: { readonly now: number; readonly jitter: number },
): Statement[] {
  const { id } = claimed.channel;
  const { seq, attempts, type, subject } = claimed.message;
  const lease = claimed.message.lease ?? "";
  if (verdict.do === "finish") {
    const accepted = endDelivery(claimed, "sent", null, now);
    const test = TESTS.includes(type) ? 1 : 0;
    const worked = channelSucceeded({ id, now, test, replaces: null });
    return [...accepted, dropMessage({ seq, lease }), worked];
  }
  const { code } = verdict;
  const noted =
    type === "question.created"
      ? [noteFailedAttempt({ question_id: subject, target_id: id, at: now, reason: code })]
      : [];
  if (verdict.do === "end") {
    const refused = endDelivery(claimed, "failed", code, now);
    return [...noted, ...refused, channelGone({ id, now, code }), dropQueueOfGone({ id })];
  }
  const hold = verdict.hold ?? 0;
  const due_at = now + Math.max(hold, backoff(attempts, jitter));
  return [
    ...noted,
    putBackMessage({ seq, lease, due_at, tried: 1 }),
    channelFailed({ id, now, code, hold: Math.round(hold * 1000), refused: 0 }),
  ];
}
