/** Puts together what belongs together among updates: the parts of a long reply, and edits with what they edit (§19.9.5). */

import type { Message, Update } from "@grammyjs/types";

/**
 * UTF-16 units from which a reply may be the first part of a longer text. The apps cut at 4,096, but go back to the end of
 * a line or sentence: Telegram Desktop by half, on iOS as far as there is one.
 */
const LONG = 1_000;
/** UTF-16 units that two parts have together, at least: more than a message holds, but for blanks at the cut. */
const CUT = 3_500;
/** Seconds in which the next part comes, or an edit still counts. */
const MOMENT = 5;

/** An update to handle. */
export interface Arranged {
  /** With the text of the last edit. */
  readonly update: Update;
  /** True: it is the first part of a text that came in several messages, or may be. */
  readonly in_parts: boolean;
}

interface Item {
  /** The updates that it consists of. */
  readonly ids: number[];
  update: Update;
  /** Its last part, and the id of that update. */
  last: { readonly id: number; readonly message: Message } | null;
  in_parts: boolean;
}

/**
 * Arranges the updates of each poll of the bot. A reply that may go on stays unconfirmed for a moment, so that each poll
 * returns it with what follows: a process that stops meanwhile leaves all of it to the next one.
 */
export function createArrangement(bot_id: number) {
  /** When the updates that wait were first seen. */
  let seen = new Map<number, number>();
  /** Handled updates that the polls still return. */
  let done: ReadonlySet<number> = new Set();

  return {
    /**
     * `updates`: all that are unconfirmed, unless there are more (`full`). `begun`: when the poll began, and `now`, in
     * seconds of `elapsed`. Returns what to handle now, and the updates that must stay unconfirmed.
     */
    arrange(
      updates: readonly Update[],
      { begun, now, full }: { begun: number; now: number; full: boolean },
    ): { ready: Arranged[]; waiting: number[] } {
      const fresh = updates.filter(({ update_id }) => !done.has(update_id));
      const items = joinParts(withEdits(fresh), bot_id);
      const seen_before = seen;
      seen = new Map();
      const waits = (item: Item): boolean => {
        if (!item.last || textOf(item.last.message).length < LONG) return false;
        const since = seen_before.get(item.last.id) ?? now;
        // A poll that began before could have missed the next part.
        if (begun >= since + MOMENT) return false;
        // Others would wait for room: it is refused, since more of it may follow.
        if (full && item.ids[0] === updates[0]!.update_id) {
          item.in_parts = true;
          return false;
        }
        seen.set(item.last.id, since);
        return true;
      };
      const { waiting = [], ready = [] } = Object.groupBy(items, (item) =>
        waits(item) ? "waiting" : "ready",
      );
      const ids = waiting.flatMap((item) => item.ids);
      const handled = updates.filter(({ update_id }) => !ids.includes(update_id));
      done = new Set(ids.length === 0 ? [] : handled.map(({ update_id }) => update_id));
      return { ready, waiting: ids };
    },
  };
}

/** The text of a message, or what a picture says. */
function textOf({ text, caption }: Message): string {
  const said: unknown = text ?? caption;
  return typeof said === "string" ? said : "";
}

/** Applies edits to messages that are not handled yet. Others are items of their own. */
function withEdits(updates: readonly Update[]): Item[] {
  const items: Item[] = [];
  const of_message = new Map<string, Item>();
  const nameOf = ({ chat, message_id }: Message) => `${chat?.id} ${message_id}`;
  for (const update of updates) {
    const { update_id: id, message, edited_message: edit } = update;
    const original = edit && of_message.get(nameOf(edit));
    if (original) {
      original.update = { ...original.update, message: edit as NonNullable<Update["message"]> };
      original.ids.push(id);
      continue;
    }
    const item: Item = { ids: [id], update, last: null, in_parts: false };
    if (message) of_message.set(nameOf(message), item);
    items.push(item);
  }
  return items;
}

/** Joins the parts of a reply to the bot. They follow each other in the chat, and the later ones may be no replies. */
function joinParts(items: readonly Item[], bot_id: number): readonly Item[] {
  const joined = new Set<Item>();
  const replies = new Map<number, Item>();
  const messages = items.flatMap((item) => {
    const { message } = item.update;
    return message && isOwn(message) ? [{ item, message }] : [];
  });
  messages.sort((a, b) => a.message.message_id - b.message.message_id);
  for (const { item, message } of messages) {
    const reply = replies.get(message.chat.id);
    const last = { id: item.ids[0]!, message };
    if (reply?.last && isNext(reply.last.message, message, reply.update.message!)) {
      reply.ids.push(...item.ids);
      Object.assign(reply, { last, in_parts: true });
      joined.add(item);
    } else if (message.reply_to_message?.from?.id === bot_id) {
      replies.set(message.chat.id, Object.assign(item, { last }));
    } else replies.delete(message.chat.id);
  }
  return items.filter((item) => !joined.has(item));
}

/** True if the message goes on where `last` was cut, of the text that begins with `first`. */
function isNext(last: Message, message: Message, first: Message): boolean {
  const { date, reply_to_message: to } = message;
  return (
    date - last.date <= MOMENT &&
    textOf(last).length + textOf(message).length >= CUT &&
    (to === undefined || to.message_id === first.reply_to_message?.message_id)
  );
}

/** True for the person's own words in their chat with the bot: what was forwarded is somebody else's. */
export const isOwn = ({ chat, from, forward_origin }: Message): boolean =>
  chat?.type === "private" &&
  Number.isSafeInteger(chat.id) &&
  from?.id === chat.id &&
  !from.is_bot &&
  forward_origin === undefined;
