/**
 * What the Bot API checks of the methods that Relay uses, with its own descriptions
 * (https://core.telegram.org/bots/api), and what Relay promises beyond that: no markup, no previews, no forced reply.
 */

import type { ServerResponse } from "node:http";
import type { ChatState } from "./telegram-users.ts";

export interface Button {
  readonly text: string;
  readonly callback_data?: string;
  readonly url?: string;
}

interface Entity {
  readonly type: string;
  readonly offset: number;
  readonly length: number;
}

/** The parameters of `sendMessage` and of the methods that edit a message. */
export interface MessageParams {
  readonly chat_id?: number;
  readonly message_id?: number;
  readonly text?: string;
  readonly entities?: readonly Entity[];
  readonly link_preview_options?: { readonly is_disabled?: boolean };
  readonly disable_notification?: boolean;
  readonly reply_markup?: { readonly inline_keyboard?: readonly (readonly Button[])[] };
  readonly reply_parameters?: {
    readonly message_id: number;
    readonly allow_sending_without_reply?: boolean;
  };
}

/** UTF-16 units of a text, and of the text of a toast. */
const TEXT_UNITS = 4_096;
const TOAST_UNITS = 200;
/** Bytes of `callback_data`. */
const DATA_BYTES = 64;

/** The description of the `400`, or null. */
export function refusalOfText({ text, entities = [] }: MessageParams): string | null {
  if (typeof text !== "string" || text.trim() === "") return "message text is empty";
  if (text.length > TEXT_UNITS) return "message is too long";
  const inside = ({ offset, length }: Entity) =>
    offset >= 0 && length > 0 && offset + length <= text.length;
  return entities.every(inside) ? null : "entity beyond the end of the message text";
}

/** As {@link refusalOfText}, for the keyboard. */
export function refusalOfKeyboard({ reply_markup }: MessageParams): string | null {
  const rows = reply_markup?.inline_keyboard ?? [];
  if (rows.flat().length > 100 || rows.some((row) => row.length > 8))
    return "REPLY_MARKUP_TOO_LONG";
  for (const { text, callback_data, url } of rows.flat()) {
    if (typeof text !== "string" || text === "") return "text buttons are unallowed";
    if ((callback_data === undefined) === (url === undefined)) return "BUTTON_TYPE_INVALID";
    const bytes = Buffer.byteLength(callback_data ?? "x");
    if (bytes < 1 || bytes > DATA_BYTES) return "BUTTON_DATA_INVALID";
    if (url !== undefined && !isLink(url)) {
      return `inline keyboard button URL '${url}' is invalid: Wrong HTTP URL`;
    }
  }
  return null;
}

/** Telegram takes no name without a dot, such as `localhost`. */
const isLink = (url: string): boolean =>
  /^https?:$/.test(URL.parse(url)?.protocol ?? "") && /[.:]/.test(new URL(url).hostname);

export const isToast = (text: unknown): boolean =>
  text === undefined || (typeof text === "string" && text.length <= TOAST_UNITS);

/** What Relay never sends, although Telegram would take it. */
export function brokenPromises(method: string, params: object): string[] {
  const given = params as Readonly<Record<string, unknown>> & MessageParams;
  const faults: string[] = [];
  if ("parse_mode" in given) faults.push(`${method}: parse_mode`);
  for (const { type } of given.entities ?? []) {
    if (type !== "pre" && type !== "bold") faults.push(`${method}: entity ${type}`);
  }
  if (given.text !== undefined && "chat_id" in given) {
    if (given.link_preview_options?.is_disabled !== true) faults.push(`${method}: link previews`);
  }
  for (const name of ["force_reply", "keyboard", "remove_keyboard"]) {
    if (name in (given.reply_markup ?? {})) faults.push(`${method}: ${name}`);
  }
  return faults;
}

/**
 * `drop`: the connection closes without a response; `hang`: there is none; `lost`: the request is carried out and the
 * connection closes; a number: a page of a proxy with that status; `flood`: `429` with this `retry_after`; `late`: the
 * request takes so many seconds to arrive; `answer`: the response has this as JSON.
 */
export type TelegramTreatment =
  | "ok"
  | "drop"
  | "hang"
  | "lost"
  | "junk"
  | number
  | { readonly flood: number }
  | { readonly late: number }
  | { readonly answer: () => unknown }
  | { readonly refuse: readonly [error_code: number, description: string] };

export type Answer = { readonly result: unknown } | Refusal;
export interface Refusal {
  readonly error_code: number;
  readonly description: string;
  readonly parameters?: { readonly retry_after: number };
}

export const refuse = (error_code: number, description: string): Refusal => ({
  error_code,
  description,
});
export const badRequest = (what: string) => refuse(400, `Bad Request: ${what}`);

/** The refusal of a message to a chat in this state; `undefined`: there is none. */
export const refusalOfChat = (state: ChatState | undefined): Refusal | null => {
  if (state === undefined) return badRequest("chat not found");
  if (state === "blocked") return refuse(403, "Forbidden: bot was blocked by the user");
  if (state === "deactivated") return refuse(403, "Forbidden: user is deactivated");
  if (state === "never") {
    return refuse(403, "Forbidden: bot can't initiate conversation with a user");
  }
  return null;
};

/** Ends a response with a text that is no answer of the Bot API. */
export function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "text/html" });
  response.end(body);
}

/** Ends a response with an answer of the Bot API. */
export function give(response: ServerResponse, answer: Answer): void {
  const is_ok = "result" in answer;
  response.writeHead(is_ok ? 200 : answer.error_code, { "content-type": "application/json" });
  response.end(JSON.stringify({ ok: is_ok, ...answer }));
}
