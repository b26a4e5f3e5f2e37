/** What a bot tells people who tapped or wrote: toasts, reasons and hints, bounded for each person (§19.9.5). */

import type { Clock } from "../../clock.ts";
import type { Config } from "../../config.ts";
import { cutUnits } from "../core/cut.ts";
import { TIME_LIMIT } from "../core/requests.ts";
import type { TelegramBot } from "./address.ts";
import type { CallAnswer, Calls } from "./client.ts";
import { paceOf, type Turn } from "./pace.ts";
import type { Keyboard } from "./payload.ts";

/** Toasts and messages under way, and those of one person; more are left out. */
const AT_ONCE = 64;
const AT_ONCE_OF_PERSON = 8;
/** Seconds that one of them may be put off by Telegram, at most. */
const AGAIN_MOST = 10;
/** UTF-16 units of a toast. */
const TOAST_UNITS = 200;
/** Seconds between two hints of a kind to one person, and hints that are remembered. */
const HINT_EVERY = 600;
const HINTS = 10_000;

/** Why a message does nothing, as the person is told. */
export const UNTAKEN = {
  no_reply: "To answer a question, tap a button below it, or reply to its message.",
  no_text: "Only text can be an answer.",
  no_question:
    "Relay can't find a question for that message. If the message has just arrived, reply again in a moment.",
  edited:
    "An edit changes nothing: the text that you sent first counted. While the question is open, you can reply to it again.",
  no_link:
    "This link can't be used: it works for a short time, for one person, and with the bot that it was made for. Make a new one in Relay.",
  group_link: "Open the link in a private chat with this bot: Relay sends nothing to groups.",
} as const;

interface SpeechDeps {
  readonly call: Calls;
  readonly account: { readonly token: string; readonly owner: string };
  readonly bot: TelegramBot;
  readonly config: Config;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

type Spoken = "sendMessage" | "editMessageReplyMarkup" | "answerCallbackQuery";

/** A message in the chat with a person, whose id is that of the chat; or in a group, which has its own. */
export interface Said {
  readonly person: number;
  readonly message_id: number;
}

/** When each hint was last given by this process. A connection that is opened again goes on with them. */
const hints = new WeakMap<Config, Map<string, number>>();

function hintsOf(config: Config): Map<string, number> {
  const known = hints.get(config) ?? new Map<string, number>();
  hints.set(config, known);
  return known;
}

export function createSpeech({ call, account, bot, config, clock, signal }: SpeechDeps) {
  const pace = paceOf(config, clock);
  const options = { ...account, seconds: TIME_LIMIT, signal };
  /** What is under way, by person. */
  const of_person = new Map<number, number>();
  let under_way = 0;
  const hinted = hintsOf(config);

  /** Does something that nobody waits for. */
  const inBackground = (person: number, work: () => Promise<unknown>): void => {
    const before = of_person.get(person) ?? 0;
    if (under_way >= AT_ONCE || before >= AT_ONCE_OF_PERSON) return;
    under_way++;
    of_person.set(person, before + 1);
    void work().finally(() => {
      under_way--;
      const left = of_person.get(person)! - 1;
      if (left === 0) of_person.delete(person);
      else of_person.set(person, left);
    });
  };

  /** Once more if Telegram puts it off for a short time. */
  const twice = async (send: () => Promise<CallAnswer<Spoken>>) => {
    const answer = await send();
    const wait = answer.kind === "error" ? (answer.retry_after ?? 0) : 0;
    if (wait === 0 || wait > AGAIN_MOST) return;
    await new Promise<void>((resume) => clock.after(wait, resume));
    if (!signal.aborted) await send();
  };

  /** The turn of a message. What has none within some seconds is left out. */
  const inTurn = async <T>(person: number, send: () => Promise<T>): Promise<T | null> => {
    const of = { bot: bot.bot_id, chat: person, owner: `person ${person}` };
    const turn: Turn = await pace.take(of, signal);
    if (!turn.taken) return null;
    return send().finally(() => turn.end());
  };

  /** Does something in a chat when it has a turn. */
  const later = (person: number, send: () => Promise<CallAnswer<Spoken>>): void => {
    const none = { kind: "lost", fault: "timed_out" } as const;
    inBackground(person, () => twice(async () => (await inTurn(person, send)) ?? none));
  };

  const reply = ({ person, message_id }: Said, text: string, more: Keyboard = {}): void => {
    const params = {
      chat_id: person,
      text,
      link_preview_options: { is_disabled: true },
      reply_parameters: { message_id, allow_sending_without_reply: true },
      ...more,
    };
    later(person, () => call("sendMessage", { ...options, params }));
  };

  return {
    /** Shows a text over the app after a tap. */
    toast(person: number, callback_query_id: string, text: string): void {
      const params = { callback_query_id, text: cutUnits(text, TOAST_UNITS) };
      inBackground(person, () => twice(() => call("answerCallbackQuery", { ...options, params })));
    },

    /** Answers the person's message with a message. */
    reply,

    /** Takes the buttons from a message of the bot. */
    removeButtons({ person, message_id }: Said): void {
      const params = { chat_id: person, message_id };
      later(person, () => call("editMessageReplyMarkup", { ...options, params }));
    },

    /** As `reply`, at most once in ten minutes for each reason, and for each message that was edited. */
    hint(said: Said, why: keyof typeof UNTAKEN): void {
      const of_message = why === "edited" ? ` ${said.message_id}` : "";
      const key = `${why} ${bot.bot_id} ${said.person}${of_message}`;
      const now = clock.elapsed();
      if (now - (hinted.get(key) ?? Number.NEGATIVE_INFINITY) < HINT_EVERY) return;
      hinted.delete(key);
      if (hinted.size >= HINTS) hinted.delete(hinted.keys().next().value!);
      hinted.set(key, now);
      reply(said, UNTAKEN[why]);
    },
  };
}
