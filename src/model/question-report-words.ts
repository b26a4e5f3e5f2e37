/** The words of a report on a question: names, reasons and times. Pure. */

/** Reasons that are not a code of a service, and codes that do not explain themselves. */
const REASONS: Readonly<Record<string, string>> = {
  expired: "its time was over",
  question_ended: "the question had ended before",
  target_removed: "it was removed",
  restored: "it was waiting when the server was restored from a backup",
  unclear: "it must not arrive twice",
  not_wanted: "its settings leave questions out",
  not_for_target: "it cannot show this question",
  quiet_hours: "its quiet hours",
  status_429: "the service asked Relay to send less, status_429",
  blocked: "the person blocked the bot",
  chat_not_found: "the chat with the bot does not exist",
  bad_token: "the bot has no token, or the service refused it, bad_token",
  busy: "too much was sent at once, busy",
  unexpected_answer: "something other than the service answered, unexpected_answer",
  failed: "an unexpected error, which the log has",
};

export const wordsOf = (reason: string | null | undefined): string =>
  reason == null ? "no reason is known" : (REASONS[reason] ?? reason);

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

/** The channel or device as it is called in a sentence. */
export function nameOf({
  type,
  id,
}: {
  readonly type: string | null;
  readonly id: string;
}): string {
  if (type === "page") return "an open page";
  if (id.startsWith("dev_")) return `the device ${id}`;
  return type === null ? `the channel ${id}` : `the ${type} channel ${id}`;
}
