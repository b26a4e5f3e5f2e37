/** The apps of people in the stand-in for Telegram: they open links, tap, reply, write and block. */

import type { Button, MessageParams } from "./telegram-checks.ts";

/** Seconds for which a tap waits for the bot. */
export const TAP_LIFE = 150;

export interface ChatMessage {
  readonly message_id: number;
  readonly from_bot: boolean;
  readonly at: number;
  text: string;
  entities: MessageParams["entities"];
  buttons: readonly (readonly Button[])[];
  readonly silent: boolean;
  readonly reply_to: number | null;
  edits: number;
}

/** `never`: the person has not written to the bot. */
export type ChatState = "open" | "blocked" | "never" | "deactivated";

/** A private chat of a person with a bot. */
export interface Chat {
  readonly messages: ChatMessage[];
  next: number;
  state: ChatState;
}

export interface TelegramUpdate {
  readonly update_id: number;
  readonly [kind: string]: unknown;
}

/** A bot as tests hold it. */
export interface TestBot {
  readonly id: number;
  readonly token: string;
  readonly username: string;
  /** Gives it another token: the old one is `401`. */
  revoke(): string;
  setWebhook(url: string): void;
  /** Calls of `getUpdates` so far. */
  polls(): number;
  isPolled(): boolean;
  /** Updates that are not confirmed. */
  waiting(): number;
  push(update: object, life?: number): TelegramUpdate;
  /** The next update gets this id, as after a week without one. */
  jump(id: number): void;
  /** Queues updates that were already handed over once more. */
  again(...updates: TelegramUpdate[]): void;
  /** Another program polls the bot. */
  steal(): Promise<void>;
}

export interface TestUser {
  readonly id: number;
  /** Opens `https://t.me/<bot>?start=<code>` and taps Start. */
  start(bot: TestBot, code: string): TelegramUpdate;
  write(bot: TestBot, text: string, more?: object, reply_to?: number | null): TelegramUpdate;
  reply(bot: TestBot, to: ChatMessage, text: string, more?: object): TelegramUpdate;
  /** Taps a button. `data`, `by`: what a forged client could send. */
  tap(bot: TestBot, message: ChatMessage, label: string, forged?: Forged): TelegramUpdate;
  chat(bot: TestBot): ChatMessage[];
  setState(bot: TestBot, state: ChatState): void;
  /** Deletes a message from the chat. */
  remove(bot: TestBot, message: ChatMessage): void;
}

interface Forged {
  readonly data?: string;
  readonly by?: object;
}

interface UserDeps {
  now(): number;
  /** Opens the chat if there is none. */
  chatOf(bot: number, user: number): Chat;
  seen(bot: number, user: number): Chat | undefined;
  push(bot: number, update: object, life?: number): TelegramUpdate;
  /** A message as updates show it. */
  show(bot: number, user: number, message: ChatMessage): object;
  /** Makes a callback query, and returns its id. */
  query(): string;
}

interface Person {
  readonly id: number;
  /** First name. */
  readonly name: string;
  readonly username: string | null;
}

export function createUser({ id, name, username }: Person, deps: UserDeps): TestUser {
  const { now, push, show } = deps;
  const from = {
    id,
    is_bot: false,
    first_name: name,
    ...(username !== null && { username }),
  };
  const chatOf = (bot: TestBot) => deps.chatOf(bot.id, id);

  const write: TestUser["write"] = (bot, text, more = {}, reply_to = null) => {
    const chat = chatOf(bot);
    const message: ChatMessage = {
      message_id: chat.next++,
      from_bot: false,
      at: now(),
      text,
      entities: [],
      buttons: [],
      silent: false,
      reply_to,
      edits: 0,
    };
    chat.messages.push(message);
    return push(bot.id, { message: { ...show(bot.id, id, message), from, ...more } });
  };

  return {
    id,
    write,
    start: (bot, code) => write(bot, code === "" ? "/start" : `/start ${code}`),
    reply: (bot, to, text, more) => write(bot, text, more, to.message_id),
    tap(bot, message, label, { data, by = from } = {}) {
      const button = message.buttons.flat().find(({ text }) => text === label);
      if (!button && data === undefined) throw new Error(`no button ${label}`);
      const callback_query = {
        id: deps.query(),
        from: by,
        message: show(bot.id, id, message),
        chat_instance: "1",
        data: data ?? button!.callback_data,
      };
      return push(bot.id, { callback_query }, TAP_LIFE);
    },
    chat: (bot) => deps.seen(bot.id, id)?.messages ?? [],
    setState: (bot, state) => void Object.assign(chatOf(bot), { state }),
    remove(bot, message) {
      const { messages } = chatOf(bot);
      messages.splice(messages.indexOf(message), 1);
    },
  };
}
