/** Words for the types, states and faults of channels. */

import type { Channel } from "../../../state/api.ts";
import type { Tone } from "../../../ui/parts.tsx";
import { PRIORITY_NAMES } from "../../words.ts";

export const TYPE_NAMES: Readonly<Record<Channel["type"], string>> = {
  ntfy: "ntfy",
  web_push: "Browser",
  webhook: "Webhook",
  telegram: "Telegram",
};

/** By what an answer came, after "by"; types of newer servers are shown as they are. */
export const ANSWERED_BY: Readonly<Record<string, string>> = {
  ...TYPE_NAMES,
  web_push: "a notification",
};

export const STATE_NAMES: Readonly<Record<Channel["state"], readonly [Tone, string]>> = {
  ok: ["ok", "OK"],
  failing: ["danger", "Failing"],
  gone: ["warn", "Stopped"],
};

/** Codes of §19.1.5. */
const FAULTS: Readonly<Record<string, string>> = {
  answer_too_large: "it responded with too much data",
  unexpected_answer: "something else responded, such as a login page",
  bad_token: "the token of its bot doesn't work",
  blocked: "the bot was blocked",
  chat_not_found: "the chat with the bot doesn't exist",
  conflict: "another program uses the same bot",
  busy: "too many connections to it were in use",
  failed: "the connection failed",
  forbidden_address: "Relay isn't allowed to call this address",
  invalid_url: "the URL isn't valid",
  queue_full: "too many events were waiting",
  replies_not_readable: "the token's user may not read the answers on the ntfy server",
  replies_not_writable: "phones may not send answers to the ntfy server",
  too_many_channels: "too many channels listen at its server",
  timed_out: "it didn't respond in time",
  tls_failed: "its certificate isn't valid",
  unknown_host: "its host name is unknown",
  unreachable: "it can't be reached",
};

/** Response statuses worth explaining; the others are named by their number. */
const STATUSES: Readonly<Record<string, string>> = {
  401: "it needs an access token (401)",
  403: "it refused access (403)",
  404: "it doesn't know this address (404)",
  410: "it accepts no further messages (410)",
  429: "it got too many requests (429)",
};

/**
 * Why something was not sent, in words that follow a colon. An unknown code is shown with spaces
 * for its underscores.
 */
export function faultText(code: string): string {
  const [, status] = /^status_(\d+)$/.exec(code) ?? [];
  if (status === undefined) return FAULTS[code] ?? code.replaceAll("_", " ");
  return STATUSES[status] ?? `it responded with status ${status}`;
}

/** What the channel sends, such as `Questions, and tasks of high priority or above`. */
export function sendsText({ sends, min_priority }: Pick<Channel, "sends" | "min_priority">) {
  const tasks =
    min_priority === "low"
      ? "tasks"
      : min_priority === "urgent"
        ? "urgent tasks"
        : `tasks of ${PRIORITY_NAMES[min_priority].toLowerCase()} priority or above`;
  if (!sends.includes("tasks")) return "Questions";
  if (!sends.includes("questions")) return `${tasks[0]!.toUpperCase()}${tasks.slice(1)}`;
  return min_priority === "low" ? "Questions and tasks" : `Questions, and ${tasks}`;
}
