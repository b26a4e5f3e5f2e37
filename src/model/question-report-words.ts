/** The words of a report on a question: names, reasons, times, and what its parts share. Pure. */

import type { ReportedTarget, ReportFacts } from "./question-report.ts";

const PAGE = "page";
const WEBHOOK = "webhook";
/** The reason of a delivery that was sent without sound (§19.1.3). */
export const QUIET = "quiet_hours";

/** Reasons that are not a code of a service, and codes that do not explain themselves. */
const REASONS: Readonly<Record<string, string>> = {
  expired: "its time was over",
  question_ended: "the question had ended before",
  target_removed: "the channel was removed",
  restored:
    "it was waiting when the server was restored from a backup, and may have arrived before",
  unclear: "it may have arrived, and must not arrive twice",
  not_wanted: "its settings leave questions out",
  not_for_target: "it cannot show this question",
  [QUIET]: "its quiet hours",
  status_429: "the service asked Relay to send less, status_429",
  blocked: "the person blocked the bot",
  chat_not_found: "the chat with the bot does not exist",
  bad_token: "the bot has no token, or the service refused it, bad_token",
  busy: "too much was sent at once, busy",
  unexpected_answer: "something other than the service answered, unexpected_answer",
  failed: "an unexpected error, which the log has",
};

export const wordsOf = (reason: string | null): string =>
  reason === null ? "no reason is known" : (REASONS[reason] ?? reason);

export const timeOf = (at: number): string =>
  new Date(at * 1000).toISOString().replace(/\.\d+Z$/, "Z");

export function spanOf(seconds: number): string {
  if (seconds < 120) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3_600)} h`;
}

/** `a`, `a and b`, `a, b and c`. */
export const listOf = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;

export const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

const isDevice = ({ id }: { readonly id: string }): boolean => id.startsWith("dev_");

export const isPage = ({ type }: { readonly type: string | null }): boolean => type === PAGE;

/** The channel or device as it is called in a sentence. */
export function nameOf(one: { readonly type: string | null; readonly id: string }): string {
  const { type, id } = one;
  if (isPage(one)) return "an open page";
  if (isDevice(one)) return `the device ${id}`;
  return type === null ? `the channel ${id}` : `the ${type} channel ${id}`;
}

/** Reasons with which a delivery may have arrived, and what then follows the name of its target. */
const UNSURE: Readonly<Record<string, string>> = {
  restored: "may have got it before the server was restored from a backup",
  unclear: "may have got it",
};
/** What may have happened with the target, after its name; undefined if that is known. */
export const unsureOf = ({ reason, sent_at }: ReportedTarget): string | undefined =>
  sent_at === null && reason !== null ? UNSURE[reason] : undefined;

/** Codes of attempts that had no answer: the service may have taken the message all the same. */
const UNANSWERED: readonly string[] = [
  "timed_out",
  "time-out",
  "failed",
  "answer_too_large",
  "ECONNRESET",
  "EPIPE",
];

/** True if nothing was accepted, and yet something may have arrived. */
export const mayHaveArrived = (target: ReportedTarget): boolean =>
  unsureOf(target) !== undefined ||
  target.failed_attempts.some(({ reason }) => UNANSWERED.includes(reason));

/** Why a target got nothing more. What waits also ends with its agent, and with the address of its target. */
export function whyGivenUp(target: ReportedTarget, { key_is_gone, channels }: ReportFacts): string {
  const { id, reason, state } = target;
  if (reason !== "target_removed") return wordsOf(reason);
  if (state === "gone") {
    const code = channels.find((one) => one.id === id)?.error_code ?? null;
    return `the channel is gone: ${wordsOf(code)}`;
  }
  if (state !== null) {
    return key_is_gone ? "the agent was deleted before" : "the channel could not be used then";
  }
  return isDevice(target)
    ? "the device was removed, or its push token was no longer valid"
    : wordsOf(reason);
}

/** True if a target can still get what waits for it. Only a webhook gets a question that is over. */
export const stillWaits = ({ status, type }: ReportedTarget, { question }: ReportFacts): boolean =>
  status === "queued" && (question.status === "pending" || type === WEBHOOK);

/** By which way the question was answered. */
export function whence({ answered: { channel, session_id, by_api } }: ReportFacts): string {
  if (channel) return `by ${nameOf(channel)}`;
  if (session_id === null) return "by the account";
  return by_api
    ? `over REST by the sign-in ${session_id}`
    : `on a page by the sign-in ${session_id}`;
}
