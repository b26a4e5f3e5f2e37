/** Decides what an answer of the Bot API means (§19.9.6); pure. */

import { type Attempt, exponentialDelay, LOST_BACKOFF, type Verdict } from "../core/channel.ts";
import { HOLD_MOST } from "../core/requests.ts";
import { type CallFailure, isBadToken } from "./client.ts";

/** Seconds of the longest back-off after a failed attempt. */
const BACKOFF_MOST = 300;
/** Seconds until a bot of the operator whose token does not work is tried again. */
const TOKEN_BACKOFF = 60;

export type TelegramAnswer =
  | { readonly kind: "ok"; readonly message_id: number }
  /** `own`: the bot is the account's. `edit`: the message that was to be changed. */
  | (CallFailure & { readonly own: boolean; readonly edit: number | null })
  /** The operator has no bot any more, or another one. */
  | { readonly kind: "no_token" }
  /** Not sent, since the chat or the bot has had too many messages. `wait`: seconds. */
  | { readonly kind: "busy"; readonly wait: number };

/** Faults that would happen again. */
const FINAL: readonly string[] = ["invalid_url", "forbidden_address"];
/** Faults after which it may have arrived. */
const UNCLEAR: readonly string[] = ["timed_out", "failed", "answer_too_large"];

/** True if the person has deleted the message, or it cannot be changed. */
export const isGone = (answer: CallFailure): boolean =>
  says(answer, /message to edit not found|message can't be edited|MESSAGE_ID_INVALID/i);

/** True if Telegram does not take the change of a message, whatever is done. */
export const isRefused = (answer: CallFailure): boolean =>
  !isGone(answer) && says(answer, /^(?!.*(message is not modified|chat not found))/i);

const says = (answer: CallFailure, what: RegExp): boolean =>
  answer.kind === "error" && answer.status === 400 && what.test(answer.description);

export function classify(answer: TelegramAnswer, { attempts }: Attempt): Verdict {
  if (answer.kind === "ok") return done(answer.message_id);
  if (answer.kind === "busy") {
    const delay = { least: answer.wait, spread: 1 };
    return { do: "again", reason: "busy", delay, unclear: false, tried: false };
  }
  const spread = exponentialDelay(LOST_BACKOFF, attempts, BACKOFF_MOST);
  const again = (reason: string, least = 0, unclear = false): Verdict => ({
    do: "again",
    reason,
    delay: { least, spread },
    unclear,
  });
  if (answer.kind === "no_token") return again("bad_token", TOKEN_BACKOFF);
  if (answer.kind === "lost") {
    const reason = answer.fault;
    if (FINAL.includes(reason)) return { do: "drop", reason, fault: true };
    return again(reason, 0, UNCLEAR.includes(reason));
  }
  const { status } = answer;
  if (answer.kind === "foreign") {
    const is_ok = status >= 200 && status < 300;
    return again(is_ok ? "unexpected_answer" : `status_${status}`);
  }
  const gone = (reason: string): Verdict => ({
    do: "forget_target",
    reason,
    since: null,
    delay: { least: 0, spread },
  });
  // Everybody's channels of the operator's bot would end with a mistake in its token.
  if (isBadToken(answer)) return answer.own ? gone("bad_token") : again("bad_token", TOKEN_BACKOFF);
  if (status === 403) return gone("blocked");
  if (says(answer, /chat not found/i)) return gone("chat_not_found");
  if (answer.edit !== null) {
    if (says(answer, /message is not modified/i)) return done(answer.edit);
    if (isGone(answer)) return { do: "finish", reason: "ok", replaces: true };
  }
  const reason = `status_${status}`;
  const least = Math.min(answer.retry_after ?? 0, HOLD_MOST);
  if (status === 429) return { do: "hold_target", reason, least };
  if (status >= 500) return again(reason, least);
  return { do: "drop", reason, fault: false };
}

const done = (message_id: number): Verdict => ({
  do: "finish",
  reason: "ok",
  replaces: true,
  ...(Number.isSafeInteger(message_id) && { handle: String(message_id) }),
});
