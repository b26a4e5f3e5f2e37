/** Takes taps, replies and `/start` from a bot by long polls (§19.9.5). */

import type { CallbackQuery, Message, Update } from "@grammyjs/types";
import type { Clock } from "../../clock.ts";
import { HOLD_MOST } from "../core/requests.ts";
import {
  type ReplyChannel,
  type ReplyConnectionEnd,
  type ReplyEvent,
  type ReplyOutcome,
  type ReplySource,
  replyKey,
} from "../replies/source.ts";
import { parseAddress, tokenOf } from "./address.ts";
import { type CallFailure, createCalls, isBadToken } from "./client.ts";
import { type Arranged, createArrangement, isOwn } from "./parts.ts";
import { keyboardOf, openLink } from "./payload.ts";
import { createSpeech, type Said } from "./say.ts";

/**
 * Seconds of a poll, the most that Telegram permits, and of the first one, which soon says whether listening works; until
 * one without an answer is given up.
 */
const POLL = 50;
const FIRST_POLL = 5;
const POLL_LOST = 60;
/** Minimum seconds between the starts of two polls. */
const POLL_EVERY = 0.1;
/** Minimum seconds between the starts of two polls while a reply waits for its next part. */
const PART_EVERY = 0.5;
/** Minimum seconds between the starts of two polls, after one that returned at once without an update. */
const IDLE_EVERY = 1;
/** Updates of one poll, and bytes of its answer. An update has at most some 60 KB; of more bytes, fewer are taken. */
const UPDATES = 100;
const ANSWER_BYTES = 4 * 1024 * 1024;
/** People whose updates are handled at once. */
const AT_ONCE = 8;
/** Channels of one person with one bot that an update is tried on. */
const OF_PERSON = 20;
/** Links that one person opens with the updates of one poll. Each costs a look at the store. */
const LINKS_AT_ONCE = 3;
/** Buttons of a message that is replied to that are looked at. */
const BUTTONS = 100;
/** The end of a connection whose bot cannot be used until its token is replaced. */
const BAD_TOKEN: ReplyConnectionEnd = { reason: "bad_token", least: 60, most: 300, shows: true };

/** In a group, commands name their bot. */
const START = /^\/start(?:@\w+)? ([A-Za-z0-9_-]{16,64})$/;

export const replies: ReplySource = {
  keyOf(address) {
    const { token, bot_id } = parseAddress(address);
    return bot_id === 0 ? null : replyKey("telegram", token, String(bot_id));
  },

  most: null,

  async open(listening) {
    const { config, clock, outbound, signal } = listening;
    const some = listening.channels()[0] ?? listening.links()[0];
    if (!some) return { reason: "ok", least: 1, most: 1, shows: false };
    const { chat: _, ...bot } = parseAddress(some.address);
    const token = tokenOf(bot, config);
    if (token === null) return BAD_TOKEN;
    const call = createCalls(outbound, config);
    const account = { token, owner: some.account_id };
    const channelsOf = createIndex(() => listening.channels());
    const speech = createSpeech({ call, account, bot, config, clock, signal });
    const arrangement = createArrangement(bot.bot_id);
    const base_url = config.PUBLIC_URL?.replace(/\/$/, "") ?? null;

    /** The outcome on the first channel of the person that the event belongs to. */
    const tell = async (
      person: number,
      eventOf: (channel_id: string) => ReplyEvent,
    ): Promise<ReplyOutcome> => {
      for (const { channel_id } of channelsOf(person).slice(0, OF_PERSON)) {
        const outcome = await listening.handle(eventOf(channel_id), null);
        if (outcome.is !== "unknown") return outcome;
      }
      return { is: "unknown" };
    };

    const tapped = async ({ id, from, data, message }: CallbackQuery) => {
      // A bot in a group, or a message that is forwarded there, has another chat.
      if (typeof data !== "string" || message?.chat.id !== from.id) return;
      const outcome = await tell(from.id, (channel_id) => ({
        kind: "code",
        channel_id,
        code: data,
      }));
      if (outcome.is !== "unknown") speech.toast(from.id, id, outcome.text);
      // Its message should have no buttons any more: Telegram may have refused to change it.
      if (outcome.is === "ended" || outcome.is === "same") {
        speech.removeButtons({ person: from.id, message_id: message.message_id });
      }
    };

    const replied = async (said: Said, { text }: Message, to: RepliedTo, in_parts: boolean) => {
      if (typeof text !== "string") return speech.hint(said, "no_text");
      const handle = String(to.message_id);
      const codes = codesIn(to);
      const outcome = await tell(said.person, (channel_id) => ({
        kind: "reply",
        ...{ channel_id, handle, codes, text, in_parts },
      }));
      if (outcome.is === "unknown") return speech.hint(said, "no_question");
      // The message of an answered question is changed to say so.
      if (outcome.is === "answered" || outcome.is === "same") return;
      const open =
        outcome.is === "refused" ? openLink("questions", outcome.question_id, base_url) : [];
      speech.reply(said, outcome.text, keyboardOf([open]));
    };

    /** `links`: how many more the person may open. */
    const written = async (message: Message, links: number, in_parts: boolean) => {
      const { message_id, chat, from, reply_to_message: to } = message;
      const said = { person: chat.id, message_id };
      const code = codeOfStart(message);
      const is_group = chat.type === "group" || chat.type === "supergroup";
      if (is_group && code !== null && !from?.is_bot) return speech.hint(said, "group_link");
      if (!isOwn(message) || from === undefined) return;
      if (code !== null) {
        if (links <= 0) return;
        const outcome = await opened(code, from);
        if (outcome.is === "linked") speech.reply(said, outcome.text);
        else speech.hint(said, "no_link");
      } else if (channelsOf(chat.id).length > 0) {
        if (to?.from?.id === bot.bot_id) await replied(said, message, to, in_parts);
        else speech.hint(said, "no_reply");
      }
    };

    /** An edit of a message that was handled before. */
    const edited = (message: Message) => {
      const { message_id, chat, reply_to_message: to } = message;
      if (!isOwn(message) || channelsOf(chat.id).length === 0) return;
      if (to?.from?.id === bot.bot_id) speech.hint({ person: chat.id, message_id }, "edited");
    };

    const opened = async (
      code: string,
      { id, first_name, last_name, username }: NonNullable<Message["from"]>,
    ): Promise<ReplyOutcome> => {
      const names = [first_name, last_name].filter((part) => typeof part === "string");
      const from = {
        name: names.join(" "),
        username: typeof username === "string" ? username : null,
      };
      const address = JSON.stringify({ ...bot, chat: id });
      // The link may be newer than what `links` says.
      return listening.handle({ kind: "link", code, from, address }, null);
    };

    const handleOne = async ({ update, in_parts }: Arranged, links: number): Promise<void> => {
      const { callback_query, message, edited_message } = update;
      try {
        if (callback_query) await tapped(callback_query);
        else if (message) await written(message, links, in_parts);
        else if (edited_message) edited(edited_message);
      } catch (error) {
        // Otherwise it lacks what Telegram documents, and would fail each time.
        if (signal.aborted) throw error;
      }
    };

    /** Handles the updates of each person in order, of several people at once. */
    const handle = async (ready: readonly Arranged[]): Promise<void> => {
      const of_person = Map.groupBy(ready, ({ update }) => personOf(update));
      const queues = [...of_person.values()];
      const work = async () => {
        for (let queue = queues.pop(); queue; queue = queues.pop()) {
          let links = LINKS_AT_ONCE;
          for (const one of queue) {
            await handleOne(one, links);
            if (one.update.message && codeOfStart(one.update.message) !== null) links--;
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
    };

    const endAfter = (failure: CallFailure): ReplyConnectionEnd => {
      if (isBadToken(failure)) {
        // Everybody's channels of the operator's bot would end with a mistake in its token.
        if (bot.token !== null) listening.forget(listening.channels(), BAD_TOKEN.reason);
        return BAD_TOKEN;
      }
      const { kind } = failure;
      if (kind === "lost") return { reason: failure.fault, least: 1, most: 60, shows: false };
      const { status } = failure;
      if (kind === "error" && status === 409) {
        return { reason: "conflict", least: 3, most: 60, shows: false };
      }
      const least = kind === "error" ? Math.min(failure.retry_after ?? 1, HOLD_MOST) : 1;
      return { reason: `status_${status}`, least, most: Math.max(least, 60), shows: false };
    };

    let offset: number | undefined;
    let limit = UPDATES;
    let timeout = FIRST_POLL;
    for (;;) {
      const begun = clock.elapsed();
      const answer = await call("getUpdates", {
        ...account,
        params: {
          timeout,
          limit,
          allowed_updates: ["message", "edited_message", "callback_query"],
          ...(offset !== undefined && { offset }),
        },
        seconds: POLL_LOST,
        max_bytes: ANSWER_BYTES,
        signal,
      });
      if (signal.aborted) return { reason: "ok", least: 0, most: 0, shows: false };
      if (answer.kind === "ok") {
        listening.works();
        // A rejection ends this before the updates are confirmed, so they come again.
        const updates = updatesIn(answer.result);
        const full = updates.length >= limit;
        const now = clock.elapsed();
        const { ready, waiting } = arrangement.arrange(updates, { begun, now, full });
        await handle(ready);
        // Said once: after a week without updates, smaller ids may follow.
        const ids = updates.map(({ update_id }) => update_id);
        const waits = waiting.length > 0;
        if (waits) offset = Math.min(...waiting);
        else offset = ids.length === 0 ? undefined : 1 + Math.max(...ids);
        limit = UPDATES;
        timeout = waits ? 0 : POLL;
        // A server that does not wait, or does not take the offset, is not asked without a pause.
        const often = waits && !full ? PART_EVERY : POLL_EVERY;
        const every = ids.length === 0 ? IDLE_EVERY : often;
        await pause(clock, begun + every - clock.elapsed(), signal);
      } else if (answer.kind === "lost" && answer.fault === "answer_too_large" && limit > 1) {
        limit = Math.ceil(limit / 10);
      } else {
        return endAfter(answer);
      }
    }
  },
};

type RepliedTo = NonNullable<Message["reply_to_message"]>;

/** The code of a link that the message opens; null for any other message. */
function codeOfStart({ text }: Message): string | null {
  return (typeof text === "string" && START.exec(text)?.[1]) || null;
}

/** The codes of the buttons of a message, which tell its question. */
function codesIn({ reply_markup }: RepliedTo): string[] {
  const rows: unknown = reply_markup?.inline_keyboard;
  if (!Array.isArray(rows)) return [];
  return rows
    .flat()
    .slice(0, BUTTONS)
    .map((button: { callback_data?: unknown } | null) => button?.callback_data)
    .filter((data) => typeof data === "string");
}

/** What has the form of an update. Anything else could not be confirmed. */
const updatesIn = (result: unknown): Update[] =>
  Array.isArray(result)
    ? result.filter((one: Partial<Update> | null) => Number.isSafeInteger(one?.update_id))
    : [];

/** Resolves after these seconds, or once `signal` aborts. */
async function pause(clock: Clock, seconds: number, signal: AbortSignal): Promise<void> {
  if (seconds <= 0 || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(seconds, resolve);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  cancel();
}

const personOf = ({ message, edited_message, callback_query }: Update): number =>
  (message ?? edited_message ?? callback_query)?.from?.id ?? 0;

/** Returns a function from a person to their channels; `all` gives those of the bot as they are now. */
function createIndex(all: () => readonly ReplyChannel[]) {
  let known: readonly ReplyChannel[] = [];
  let of_person = new Map<number, readonly ReplyChannel[]>();
  return (person: number): readonly ReplyChannel[] => {
    const now = all();
    // One that was removed is still found, but `handle` does not know it.
    if (now !== known) {
      known = now;
      of_person = Map.groupBy(now, ({ address }) => parseAddress(address).chat);
    }
    return of_person.get(person) ?? [];
  };
}
