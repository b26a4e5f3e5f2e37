/** Renders notifications as messages of the Bot API (§19.9.4); pure. */

import type { Destination } from "../core/channel.ts";
import { cutUnits } from "../core/cut.ts";
import type { Alert, EndedAlert, Notification } from "../core/notification.ts";
import { offeredAnswers } from "../core/offers.ts";
import { TEST_ANSWER } from "../replies/source.ts";
import { parseAddress, type TelegramAddress } from "./address.ts";

/** UTF-16 units of a message. */
const TEXT_UNITS = 4_096;
/** Of these, units that the end of a question may have. */
const END_UNITS = 1_000;
/** Answers with labels up to this many characters, quotation marks included, share a row of buttons. */
const SHORT_LABEL = 14;

/** The parameters that `sendMessage` and `editMessageText` share, without the chat. */
interface Message extends Keyboard {
  readonly text: string;
  readonly entities: { type: "bold" | "pre"; offset: number; length: number }[];
  readonly link_preview_options: { readonly is_disabled: true };
  /** For `sendMessage` alone. */
  readonly disable_notification?: true;
}

/** The buttons of a message, if it has any. */
export interface Keyboard {
  readonly reply_markup?: { readonly inline_keyboard: Button[][] };
}

type Button =
  | { readonly text: string; readonly callback_data: string }
  | { readonly text: string; readonly url: string };

export interface TelegramRequest {
  readonly address: TelegramAddress;
  readonly message: Message;
  /** The message to change; null sends a new one. */
  readonly edit: number | null;
  /** True: if the message to change is gone, a new one is sent. */
  readonly or_send: boolean;
  /** An older message about the same subject, which is deleted once the new one was sent. */
  readonly replaces: number | null;
}

export function render(
  notification: Notification,
  { address, base_url, handle, codes, reminders = [] }: Destination,
): TelegramRequest | null {
  const shown = handle === null ? null : Number(handle);
  const to = { address: parseAddress(address), edit: null, or_send: false, replaces: null };
  switch (notification.kind) {
    case "question": {
      const message = questionMessage(notification, { base_url, codes, reminders });
      return { ...to, message, replaces: shown };
    }
    case "task": {
      const { title, body, subtitle, subject, urgency, quiet } = notification;
      const message = {
        ...messageOf({ title, body: `${body}\n${subtitle}` }),
        ...keyboardOf([openLink("tasks", subject, base_url)]),
        ...soundOf(notification),
      };
      // Progress changes the message in place. Other news is a new message, which also counts as unread.
      const is_progress = urgency === "passive" && !quiet && shown !== null;
      return is_progress
        ? { ...to, message, edit: shown, or_send: true }
        : { ...to, message, replaces: shown };
    }
    case "ended":
      return shown === null ? null : { ...to, message: endedMessage(notification), edit: shown };
    case "test": {
      const { title, body } = notification;
      const answers = buttonsOf([TEST_ANSWER], codes);
      return { ...to, message: { ...messageOf({ title, body }), ...keyboardOf([answers]) } };
    }
    default:
      return null;
  }
}

function questionMessage(
  alert: Alert,
  { base_url, codes, reminders = [] }: Pick<Destination, "base_url" | "codes" | "reminders">,
): Message {
  const { title, body, subject, actions } = alert;
  const is_request = actions?.shows !== undefined;
  const messageWith = (end: string | null) => messageOf({ title, body, fixed: is_request, end });
  const whole = messageWith(howToReply(actions));
  const is_cut = !whole.text.includes(body);
  // A request for permission that was cut no longer shows all, and neither does a draft.
  const offered = is_request && is_cut ? [] : offeredAnswers(alert, !is_cut);
  const opens = actions?.draft !== undefined && offered.length === 0;
  const message = opens ? messageWith(APPROVE_IN_RELAY) : whole;
  const buttons = buttonsOf(
    offered.map(({ label }) => label),
    codes,
  );
  const short = buttons.every((one) => one.text.length <= SHORT_LABEL);
  const rows = short ? [buttons.slice(0, 2), buttons.slice(2)] : buttons.map((one) => [one]);
  const open = openLink("questions", subject, base_url);
  const later = reminders.map(({ label, code }) => ({ text: label, callback_data: code }));
  return { ...message, ...keyboardOf([...rows, open, later]), ...soundOf(alert) };
}

/** The message of a question or task that has ended: what it said, how it ended, and no buttons. */
function endedMessage({ title, body, asked }: EndedAlert): Message {
  if (asked === null) return messageOf({ title, body });
  const end = cutUnits(body, END_UNITS);
  return messageOf({ title, body: asked.text, fixed: asked.is_request, end });
}

const APPROVE_IN_RELAY =
  "To approve it, open Relay. To answer with another text, reply to this message.";

function howToReply(actions: Alert["actions"]): string | null {
  if (!actions?.own_words) return null;
  if (actions.draft !== undefined) return "To change it, reply with the whole text.";
  return actions.kind === "text"
    ? "To answer, reply to this message."
    : "To answer in your own words, reply to this message.";
}

interface Parts {
  readonly title: string;
  /** Cut if the message would be too long. */
  readonly body: string;
  /** True: the body is in a fixed-width font. */
  readonly fixed?: boolean;
  /** A paragraph below the body. */
  readonly end?: string | null;
}

/**
 * Texts of agents are sent as they are: only entities, by their place, make a title bold and a body fixed-width.
 * Without a preview, Telegram fetches none of their links.
 */
function messageOf({ title, body, fixed = false, end = null }: Parts): Message {
  const head = `${title}\n\n`;
  const tail = end === null ? "" : `\n\n${end}`;
  const shown = cutUnits(body, TEXT_UNITS - head.length - tail.length);
  const entities: Message["entities"] = [{ type: "bold", offset: 0, length: title.length }];
  if (fixed) entities.push({ type: "pre", offset: head.length, length: shown.length });
  return {
    text: head + shown + tail,
    entities,
    link_preview_options: { is_disabled: true },
  };
}

/** A button for each label that has a code. */
const buttonsOf = (labels: readonly string[], codes: Destination["codes"]): Button[] =>
  labels.flatMap((text) => {
    const callback_data = codes?.get(text);
    return callback_data === undefined ? [] : [{ text, callback_data }];
  });

/** Leads to the page. Telegram takes no host name without a dot. */
export function openLink(
  view: "questions" | "tasks",
  subject: string,
  base_url: string | null,
): Button[] {
  if (base_url === null || !/[.:]/.test(URL.parse(base_url)?.hostname ?? "")) return [];
  return [{ text: "Open", url: `${base_url}/#/${view}/${subject}` }];
}

export function keyboardOf(rows: readonly Button[][]): Keyboard {
  const inline_keyboard = rows.filter((row) => row.length > 0);
  return inline_keyboard.length === 0 ? {} : { reply_markup: { inline_keyboard } };
}

const soundOf = ({ urgency }: Alert): Pick<Message, "disable_notification"> =>
  urgency === "passive" ? { disable_notification: true } : {};
