/** Takes taps, replies and `/start` from a bot by long polls (§19.9.5). */

import type { CallbackQuery, Message, Update } from "@grammyjs/types";
import { cutUnits } from "../../cut.ts";
import {
  keyOfListener,
  type Listen,
  type ListenEnd,
  type ListenEvent,
  type ListenedChannel,
  type ListenOutcome,
} from "../../listen.ts";
import { HOLD_MOST, TIME_LIMIT } from "../../requests.ts";
import { parseAddress, tokenOf } from "./address.ts";
import { type CallFailure, createCalls, isBadToken } from "./client.ts";

/**
 * Seconds of a poll, the most that Telegram permits, and of the first one, which soon says whether listening works; until
 * one without an answer is given up.
 */
const POLL = 50;
const FIRST_POLL = 5;
const POLL_LOST = 60;
/** Updates of one poll, and bytes of its answer. An update has at most some 60 KB; of more bytes, one is taken. */
const UPDATES = 20;
const ANSWER_BYTES = 2 * 1024 * 1024;
/** People whose updates are handled at once. */
const AT_ONCE = 8;
/** Channels of one person with one bot that an update is tried on. */
const OF_PERSON = 20;
/** Toasts and replies under way; more are left out. */
const SAID_AT_ONCE = 32;
/** Seconds that one of them may be put off by Telegram, at most. */
const SAY_AGAIN = 10;
/** UTF-16 units of a toast. */
const TOAST_UNITS = 200;
/** The end of a connection whose bot cannot be used until its token is replaced. */
const BAD_TOKEN: ListenEnd = { reason: "bad_token", least: 60, most: 3_600, shows: true };

const START = /^\/start ([A-Za-z0-9_-]{16,64})$/;

export const listen: Listen = {
  keyOf(address) {
    const { token, bot_id } = parseAddress(address);
    return bot_id === 0 ? null : keyOfListener("telegram", token, String(bot_id));
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
    let said = 0;

    /** Sends something that nobody waits for. */
    const say = <M extends "sendMessage" | "answerCallbackQuery">(
      method: M,
      params: Parameters<typeof call<M>>[1]["params"],
    ) => {
      if (said >= SAID_AT_ONCE) return;
      said++;
      const send = () => call(method, { ...account, params, seconds: TIME_LIMIT, signal });
      const carryOut = async () => {
        const answer = await send();
        const wait = answer.kind === "error" ? (answer.retry_after ?? 0) : 0;
        // The chat has just been sent something else.
        if (wait === 0 || wait > SAY_AGAIN) return;
        await new Promise<void>((resume) => clock.after(wait, resume));
        if (!signal.aborted) await send();
      };
      void carryOut().finally(() => said--);
    };

    /** The outcome on the first channel of the person that the event belongs to. */
    const tell = async (
      person: number,
      eventOf: (channel_id: string) => ListenEvent,
    ): Promise<ListenOutcome> => {
      for (const { channel_id } of channelsOf(person).slice(0, OF_PERSON)) {
        const outcome = await listening.took(eventOf(channel_id), null);
        if (outcome.is !== "unknown") return outcome;
      }
      return { is: "unknown" };
    };

    const tapped = async ({ id, from, data, message }: CallbackQuery) => {
      // A bot in a group, or a message that is forwarded there, has another chat.
      if (data === undefined || message?.chat.id !== from.id) return;
      const outcome = await tell(from.id, (channel_id) => ({
        kind: "code",
        channel_id,
        code: data,
      }));
      if (outcome.is === "unknown") return;
      const text = cutUnits(outcome.text, TOAST_UNITS);
      say("answerCallbackQuery", { callback_query_id: id, text });
    };

    const written = async (message: Message) => {
      const { message_id, chat, from, text, reply_to_message: to } = message;
      // Words that were forwarded are somebody else's.
      const is_own = chat.type === "private" && from?.id === chat.id && !from.is_bot;
      if (!is_own || text === undefined || message.forward_origin !== undefined) return;
      const [, code] = START.exec(text) ?? [];
      const outcome =
        code !== undefined
          ? await opened(code, from)
          : to?.from?.id === bot.bot_id
            ? await tell(chat.id, (channel_id) => {
                const handle = String(to.message_id);
                return { kind: "reply", channel_id, handle, text };
              })
            : ({ is: "unknown" } as const);
      // The message of an answered question is changed to say so.
      if (outcome.is === "unknown" || outcome.is === "answered" || outcome.is === "same") return;
      say("sendMessage", {
        chat_id: chat.id,
        text: outcome.text,
        link_preview_options: { is_disabled: true },
        reply_parameters: { message_id, allow_sending_without_reply: true },
      });
    };

    const opened = async (
      code: string,
      { id, first_name, last_name, username }: NonNullable<Message["from"]>,
    ): Promise<ListenOutcome> => {
      // The link may be newer than what `links` says.
      const name = [first_name, last_name].filter((part) => part !== undefined).join(" ");
      const from = { name, username: username ?? null };
      const address = JSON.stringify({ ...bot, chat: id });
      return listening.took({ kind: "link", code, from, address }, null);
    };

    const handleOne = async ({ callback_query, message }: Update): Promise<void> => {
      try {
        if (callback_query) await tapped(callback_query);
        else if (message) await written(message);
      } catch (error) {
        // Otherwise it lacks what Telegram documents, and would fail each time.
        if (signal.aborted) throw error;
      }
    };

    /** Handles the updates of each person in order, of several people at once. */
    const handle = async (updates: readonly Update[]): Promise<void> => {
      const of_person = Map.groupBy(updates, (update) => personOf(update));
      const queues = [...of_person.values()];
      const work = async () => {
        for (let queue = queues.pop(); queue; queue = queues.pop()) {
          for (const update of queue) await handleOne(update);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
    };

    const endAfter = (failure: CallFailure): ListenEnd => {
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
      const answer = await call("getUpdates", {
        ...account,
        params: {
          timeout,
          limit,
          allowed_updates: ["message", "callback_query"],
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
        const updates = Array.isArray(answer.result) ? answer.result : [];
        await handle(updates);
        // Said once: after a week without updates, smaller ids may follow.
        const ids = updates.map(({ update_id }) => update_id).filter(Number.isSafeInteger);
        offset = ids.length === 0 ? undefined : 1 + Math.max(...ids);
        limit = UPDATES;
        timeout = POLL;
      } else if (answer.kind === "lost" && answer.fault === "answer_too_large" && limit > 1) {
        limit = 1;
      } else {
        return endAfter(answer);
      }
    }
  },
};

const personOf = ({ message, callback_query }: Update): number =>
  message?.from?.id ?? callback_query?.from?.id ?? 0;

/** Returns a function from a person to their channels; `all` gives those of the bot as they are now. */
function createIndex(all: () => readonly ListenedChannel[]) {
  let known: readonly ListenedChannel[] = [];
  let of_person = new Map<number, readonly ListenedChannel[]>();
  return (person: number): readonly ListenedChannel[] => {
    const now = all();
    // One that was removed is still found, but `took` does not know it.
    if (now !== known) {
      known = now;
      of_person = Map.groupBy(now, ({ address }) => parseAddress(address).chat);
    }
    return of_person.get(person) ?? [];
  };
}
