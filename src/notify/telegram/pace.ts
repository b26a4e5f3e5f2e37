/** Spreads messages over time, so that Telegram refuses none as a flood (§19.9.3). In the memory of this process. */

import type { Clock } from "../../clock.ts";
import type { Config } from "../../config.ts";

/** Seconds for which a message waits for its turn. With its request, it ends before its lease. */
const WAIT_MOST = 4;
/** Messages that Telegram may see within any second: of a bot, of an account that uses it, and in a chat. */
const PER_BOT = 30;
const PER_ACCOUNT = 5;
const PER_CHAT = 1;

interface Message {
  /** Ids of the bot and of the chat. */
  readonly bot: number;
  readonly chat: number;
  /** Id of the account. */
  readonly owner: string;
}

/** A turn to send. `end` must be called once Telegram has answered, or nobody waits for its answer any more. */
export type Turn =
  | { readonly taken: true; end(): void }
  /** There is none soon. `wait`: seconds after which there may be one. */
  | { readonly taken: false; readonly wait: number };

interface Waiter {
  readonly message: Message;
  begin(): void;
}

interface Bot {
  /** Messages under way, and those that were answered less than a second ago. */
  readonly recent: Set<Message>;
  readonly waiting: Set<Waiter>;
}

type Pace = ReturnType<typeof createPace>;

/**
 * Keeps the turns of all chats and bots. A message counts until a second after its answer: how long a request is on its
 * way differs, and Telegram counts what arrives.
 */
function createPace(clock: Pick<Clock, "after">) {
  const bots = new Map<number, Bot>();

  /** Seconds after which the message could have a turn if each answer took no time; 0: now. */
  const waitOf = ({ chat, owner }: Message, messages: Iterable<Message>): number => {
    let all = 0;
    let of_owner = 0;
    let of_chat = 0;
    for (const one of messages) {
      all++;
      if (one.owner === owner) of_owner++;
      if (one.chat === chat) of_chat++;
    }
    return Math.max(
      Math.floor(all / PER_BOT),
      Math.floor(of_owner / PER_ACCOUNT),
      Math.floor(of_chat / PER_CHAT),
    );
  };

  const begin = (id: number, bot: Bot, message: Message): Turn => {
    bot.recent.add(message);
    let ended = false;
    return {
      taken: true,
      end() {
        if (ended) return;
        ended = true;
        clock.after(1, () => {
          bot.recent.delete(message);
          for (const waiter of bot.waiting) {
            if (bot.recent.size >= PER_BOT) break;
            if (waitOf(waiter.message, bot.recent) === 0) waiter.begin();
          }
          if (bot.recent.size === 0 && bot.waiting.size === 0) bots.delete(id);
        });
      },
    };
  };

  return {
    /** Resolves with a turn, or without one: at once if there is none within `WAIT_MOST`, and once `signal` aborts. */
    async take({ bot: id, chat, owner }: Message, signal: AbortSignal): Promise<Turn> {
      const message = { bot: id, chat, owner };
      const bot = bots.get(id) ?? { recent: new Set(), waiting: new Set() };
      bots.set(id, bot);
      // Each turn that ends is given at once, so nothing that waits could go first.
      if (waitOf(message, bot.recent) === 0) return begin(id, bot, message);
      const wait = waitOf(message, [...bot.recent, ...[...bot.waiting].map((one) => one.message)]);
      if (wait > WAIT_MOST || signal.aborted) return { taken: false, wait };
      const { promise, resolve } = Promise.withResolvers<Turn>();
      const waiter: Waiter = {
        message,
        begin() {
          // At once: the waiters after this one are looked at in the same turn of the event loop.
          bot.waiting.delete(waiter);
          resolve(begin(id, bot, message));
        },
      };
      const giveUp = () => {
        // A turn that was given in the same moment is taken.
        bot.waiting.delete(waiter);
        resolve({ taken: false, wait: 1 });
      };
      bot.waiting.add(waiter);
      const cancel = clock.after(WAIT_MOST, giveUp);
      signal.addEventListener("abort", giveUp, { once: true });
      return promise.finally(() => {
        cancel();
        signal.removeEventListener("abort", giveUp);
      });
    },
  };
}

const paces = new WeakMap<Pick<Config, "TELEGRAM_API_ROOT">, Pace>();

/** The pace that everything of a process shares: what it sends, and what it says to people who wrote. */
export function paceOf(config: Pick<Config, "TELEGRAM_API_ROOT">, clock: Pick<Clock, "after">) {
  const pace = paces.get(config) ?? createPace(clock);
  paces.set(config, pace);
  return pace;
}
