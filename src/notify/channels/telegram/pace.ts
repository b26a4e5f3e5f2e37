/** Spreads messages over time, so that Telegram refuses none as a flood (§19.9.3). In the memory of this process. */

import type { Clock } from "../../../clock.ts";

/** Seconds for which a message waits for its turn. With its request, it ends before its lease. */
const WAIT_MOST = 4;
/** Seconds between messages, and how many may come at once. In any second, a bot sends at most 30. */
const CHAT = { every: 1, at_once: 1 };
const BOT = { every: 1 / 25, at_once: 5 };
/** The share of an account in a bot that many use. */
const ACCOUNT = { every: 1 / 5, at_once: 5 };
/** Chats, bots and accounts that are remembered; of more, the one that was used least recently is forgotten. */
const REMEMBERED = 20_000;

interface Message {
  readonly bot: number;
  readonly chat: number;
  /** Id of the account. */
  readonly owner: string;
}

/** Keeps the turns of all chats and bots. */
export function createPace(clock: Pick<Clock, "elapsed">) {
  /** When the next message would come if they were spread evenly, by {@link Clock.elapsed}. */
  const next = new Map<string, number>();

  const gatesOf = ({ bot, chat, owner }: Message) =>
    [
      [`chat ${bot} ${chat}`, CHAT],
      [`bot ${bot}`, BOT],
      [`account ${bot} ${owner}`, ACCOUNT],
    ] as const;

  return {
    /** Seconds until the message may be sent. Up to `WAIT_MOST`, its turn is taken, and the caller waits. */
    take(message: Message): { readonly wait: number; readonly taken: boolean } {
      const now = clock.elapsed();
      const gates = gatesOf(message).map(([name, { every, at_once }]) => {
        const due = Math.max(next.get(name) ?? 0, now);
        return { name, every, begin: due - every * (at_once - 1) };
      });
      const begin = Math.max(now, ...gates.map((gate) => gate.begin));
      const wait = begin - now;
      if (wait > WAIT_MOST) return { wait, taken: false };
      for (const { name, every } of gates) {
        const due = Math.max(next.get(name) ?? 0, begin) + every;
        next.delete(name);
        if (next.size >= REMEMBERED) next.delete(next.keys().next().value!);
        next.set(name, due);
      }
      return { wait, taken: true };
    },
  };
}
