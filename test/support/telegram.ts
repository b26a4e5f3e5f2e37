/**
 * A stand-in for the Bot API and the apps of its users: checks what Telegram documents, keeps chats, and queues updates
 * of taps, replies and `/start` for the bot's `getUpdates` (https://core.telegram.org/bots/api).
 */

import { afterAll } from "bun:test";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "../../src/clock.ts";
import {
  type Answer,
  badRequest,
  brokenPromises,
  give,
  isToast,
  type MessageParams,
  type Refusal,
  refusalOfChat,
  refusalOfKeyboard,
  refusalOfText,
  refuse,
  send,
  type TelegramTreatment,
} from "./telegram-checks.ts";
import {
  type Chat,
  type ChatMessage,
  createUser,
  TAP_LIFE,
  type TelegramUpdate,
  type TestBot,
  type TestUser,
} from "./telegram-users.ts";

/** Seconds for which an update other than a tap waits for the bot. */
const UPDATE_LIFE = 86_400;
const ALLOWED = ["message", "edited_message", "callback_query"];
/** Seconds after which a message cannot be deleted. */
const DELETABLE = 48 * 3_600;

interface Bot {
  readonly id: number;
  token: string;
  readonly username: string;
  webhook: string;
  next_update: number;
  updates: { readonly update: TelegramUpdate; readonly until: number }[];
  /** The long poll under way. */
  poll: { readonly params: PollParams; end(answer: Answer): void } | null;
  polls: number;
  /** When messages were sent, in all chats and by chat. */
  sent: { readonly at: number; readonly chat: number }[];
}

interface PollParams {
  readonly offset?: number;
  readonly limit?: number;
  readonly timeout?: number;
  readonly allowed_updates?: readonly string[];
}

interface TelegramOptions {
  /** Its time: polls end by it, and rates are counted by it. Without one, a poll ends only with an update. */
  readonly clock?: Pick<Clock, "now" | "after">;
  /** True: more than one message a second in a chat or 30 a second of a bot is `429`. */
  readonly strict?: boolean;
}

export async function startTelegram({ clock, strict = true }: TelegramOptions = {}) {
  const now = clock?.now ?? (() => 0);
  const bots: Bot[] = [];
  const chats = new Map<string, Chat>();
  /** When the callback queries that wait for their answer were made. */
  const queries = new Map<string, number>();
  const faults: string[] = [];
  const calls: { readonly method: string; readonly params: object }[] = [];
  const toasts: string[] = [];
  const treatments = new Map<string, TelegramTreatment>();
  let refused = 0;
  let accepted = 0;
  let next_user = 5_000_000_001;
  let next_query = 1;

  const chatOf = (bot: Pick<Bot, "id">, user: number) => chats.get(`${bot.id}:${user}`);
  const find = (id: number) => bots.find((one) => one.id === id)!;
  /** Opens the chat. */
  const openChat = (id: number, user: number): Chat => {
    const chat = chatOf({ id }, user) ?? { messages: [], next: 1, state: "open" };
    chats.set(`${id}:${user}`, chat);
    return chat;
  };
  const query = (): string => {
    const id = String(next_query++);
    queries.set(id, now());
    return id;
  };

  const push = (bot: Bot, update: object, life = UPDATE_LIFE): TelegramUpdate => {
    const made = { update_id: bot.next_update++, ...update };
    bot.updates.push({ update: made, until: now() + life });
    answerPoll(bot);
    return made;
  };

  const due = (bot: Bot, { limit = 100 }: PollParams) => {
    bot.updates = bot.updates.filter(({ until }) => until > now());
    return bot.updates.slice(0, limit).map(({ update }) => update);
  };

  const answerPoll = (bot: Bot) => {
    const { poll } = bot;
    if (!poll) return;
    const found = due(bot, poll.params);
    if (found.length === 0) return;
    bot.poll = null;
    poll.end({ result: found });
  };

  const getUpdates = (bot: Bot, params: PollParams, end: (answer: Answer) => void) => {
    const { offset = 0, limit = 100, timeout = 0, allowed_updates } = params;
    bot.polls++;
    if (limit < 1 || limit > 100) faults.push("getUpdates: limit");
    if (timeout > 50) faults.push("getUpdates: timeout of more than 50 s");
    if (JSON.stringify(allowed_updates) !== JSON.stringify(ALLOWED)) {
      faults.push("getUpdates: allowed_updates");
    }
    if (bot.webhook !== "") {
      const how = "use deleteWebhook to delete the webhook first";
      const what = `can't use getUpdates method while webhook is active; ${how}`;
      return end(refuse(409, `Conflict: ${what}`));
    }
    const other = "terminated by other getUpdates request";
    const only = "make sure that only one bot instance is running";
    bot.poll?.end(refuse(409, `Conflict: ${other}; ${only}`));
    bot.poll = null;
    if (offset > 0) bot.updates = bot.updates.filter(({ update }) => update.update_id >= offset);
    const found = due(bot, params);
    if (found.length > 0 || timeout === 0) return end({ result: found });
    const poll = { params, end };
    bot.poll = poll;
    clock?.after(timeout, () => {
      if (bot.poll !== poll) return;
      bot.poll = null;
      end({ result: [] });
    });
  };

  /** The `429` of a message beyond the limits that Telegram documents. */
  const flood = (bot: Bot, chat: number): Refusal | null => {
    if (!strict) return null;
    bot.sent = bot.sent.filter(({ at }) => at > now() - 0.999);
    const many = bot.sent.length >= 30 || bot.sent.some((one) => one.chat === chat);
    bot.sent.push({ at: now(), chat });
    if (!many) return null;
    refused++;
    return {
      ...refuse(429, "Too Many Requests: retry after 3"),
      parameters: { retry_after: 3 },
    };
  };

  const methods: Record<
    string,
    (bot: Bot, params: MessageParams & Record<string, unknown>) => Answer
  > = {
    getMe: (bot) => ({
      result: { id: bot.id, is_bot: true, first_name: "Relay", username: bot.username },
    }),
    getWebhookInfo: ({ webhook, updates }) => ({
      result: {
        url: webhook,
        has_custom_certificate: false,
        pending_update_count: updates.length,
      },
    }),
    sendMessage(bot, params) {
      const { chat_id = 0, text = "", entities, reply_markup, disable_notification } = params;
      const chat = chatOf(bot, chat_id);
      const refusal = refusalOfChat(chat?.state) ?? flood(bot, chat_id);
      if (refusal || !chat) return refusal!;
      const wrong = refusalOfText(params) ?? refusalOfKeyboard(params);
      if (wrong !== null) return badRequest(wrong);
      const to = params.reply_parameters;
      if (to && !chat.messages.some(({ message_id }) => message_id === to.message_id)) {
        if (!to.allow_sending_without_reply) {
          return badRequest("message to be replied not found");
        }
      }
      const message: ChatMessage = {
        message_id: chat.next++,
        from_bot: true,
        at: now(),
        text,
        entities,
        buttons: reply_markup?.inline_keyboard ?? [],
        silent: disable_notification === true,
        reply_to: to?.message_id ?? null,
        edits: 0,
      };
      chat.messages.push(message);
      accepted++;
      return { result: shown(bot, chat_id, message) };
    },
    editMessageText: (bot, params) => edit(bot, params, true),
    editMessageReplyMarkup: (bot, params) => edit(bot, params, false),
    deleteMessage(bot, { chat_id = 0, message_id }) {
      const chat = chatOf(bot, chat_id);
      const at = chat?.messages.findIndex((one) => one.message_id === message_id) ?? -1;
      if (!chat || at < 0) return badRequest("message to delete not found");
      if (chat.messages[at]!.at < now() - DELETABLE) return badRequest("message can't be deleted");
      chat.messages.splice(at, 1);
      return { result: true };
    },
    answerCallbackQuery(_bot, { callback_query_id, text }) {
      if (!isToast(text)) return badRequest("MESSAGE_TOO_LONG");
      const at = queries.get(String(callback_query_id));
      if (at === undefined || at < now() - TAP_LIFE) {
        return badRequest("query is too old and response timeout expired or query ID is invalid");
      }
      queries.delete(String(callback_query_id));
      toasts.push(String(text ?? ""));
      return { result: true };
    },
  };

  const edit = (bot: Bot, params: MessageParams, with_text: boolean): Answer => {
    const { chat_id = 0, message_id, reply_markup } = params;
    const chat = chatOf(bot, chat_id);
    const refusal = refusalOfChat(chat?.state);
    if (refusal || !chat) return refusal!;
    const message = chat.messages.find((one) => one.message_id === message_id);
    if (!message) return badRequest("message to edit not found");
    if (!message.from_bot) return badRequest("message can't be edited");
    const wrong = (with_text ? refusalOfText(params) : null) ?? refusalOfKeyboard(params);
    if (wrong !== null) return badRequest(wrong);
    const buttons = reply_markup?.inline_keyboard ?? [];
    const text = with_text ? params.text! : message.text;
    if (text === message.text && JSON.stringify(buttons) === JSON.stringify(message.buttons)) {
      return badRequest(
        "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
      );
    }
    const too_fast = flood(bot, chat_id);
    if (too_fast) return too_fast;
    Object.assign(message, { text, buttons, entities: params.entities, edits: message.edits + 1 });
    return { result: shown(bot, chat_id, message) };
  };

  /** A message as updates and answers show it. */
  const shown = (
    bot: Bot,
    user: number,
    { message_id, text, at, from_bot, reply_to, buttons }: ChatMessage,
  ): object => {
    const replied = chatOf(bot, user)?.messages.find((one) => one.message_id === reply_to);
    return {
      message_id,
      date: Math.floor(at),
      chat: { id: user, type: "private", first_name: "User" },
      from: from_bot
        ? { id: bot.id, is_bot: true, first_name: "Relay" }
        : { id: user, is_bot: false, first_name: "User" },
      text,
      ...(buttons.length > 0 && { reply_markup: { inline_keyboard: buttons } }),
      ...(replied && { reply_to_message: shown(bot, user, { ...replied, reply_to: null }) }),
    };
  };

  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    // No method of the Bot API: Telegram leads to its documentation.
    if (request.url === "/") return send(response, 302, "");
    const [, token = "", method = ""] = /^\/bot([^/]*)\/(\w+)$/.exec(request.url ?? "") ?? [];
    const params = body === "" ? {} : JSON.parse(body);
    if (method !== "getUpdates") calls.push({ method, params });
    const treatment = treatments.get(method) ?? treatments.get("*") ?? "ok";
    if (treatment === "hang") return;
    if (treatment === "drop") return void request.socket.destroy();
    if (treatment === "junk") return send(response, 599, "x".repeat(3_000_000));
    if (typeof treatment === "number") {
      return send(response, treatment, "<!doctype html><title>Bad gateway</title>");
    }
    if (typeof treatment === "object" && "refuse" in treatment) {
      return give(response, refuse(...treatment.refuse));
    }
    if (typeof treatment === "object" && "answer" in treatment) {
      return send(response, 200, JSON.stringify(treatment.answer()));
    }
    if (typeof treatment === "object" && "late" in treatment) {
      await new Promise<void>((arrive) => clock?.after(treatment.late, arrive));
    } else if (typeof treatment === "object") {
      const { flood: retry_after } = treatment;
      const description = `Too Many Requests: retry after ${retry_after}`;
      return give(response, { ...refuse(429, description), parameters: { retry_after } });
    }
    if (!/^\d+:[\w-]{10,}$/.test(token)) return give(response, refuse(404, "Not Found"));
    const bot = bots.find((one) => one.token === token);
    if (!bot) return give(response, refuse(401, "Unauthorized"));
    if (
      request.method !== "POST" ||
      !/^application\/json/.test(request.headers["content-type"] ?? "")
    ) {
      faults.push(`${request.method} ${method}`);
    }
    faults.push(...brokenPromises(method, params));
    const end = (answer: Answer) => {
      if (treatment === "lost") request.socket.destroy();
      else give(response, answer);
    };
    if (method === "getUpdates") {
      response.on("close", () => {
        if (bot.poll?.end === end) bot.poll = null;
      });
      return getUpdates(bot, params, end);
    }
    end(methods[method]?.(bot, params) ?? refuse(404, "Not Found: method not found"));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const stop = async () => {
    server.closeAllConnections();
    await new Promise<void>((closed) => server.close(() => closed()));
  };
  afterAll(stop);

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    faults,
    calls,
    toasts,
    /** Requests that were refused as a flood. */
    floods: () => refused,
    /** Messages that bots have sent. */
    accepted: () => accepted,
    /** How requests of a method are treated from now on; `*`: of all others. */
    behave: (how: TelegramTreatment, method = "*") => void treatments.set(method, how),
    stop,

    /** Makes a bot as BotFather does. */
    newBot(username = `relay_${bots.length + 1}_bot`): TestBot {
      const id = 700_000_001 + bots.length;
      const token = `${id}:${"A".repeat(24)}_${String(bots.length).padStart(10, "0")}`;
      const bot: Bot = {
        id,
        token,
        username,
        webhook: "",
        next_update: 9_000,
        updates: [],
        poll: null,
        polls: 0,
        sent: [],
      };
      bots.push(bot);
      return {
        id,
        token,
        username,
        revoke() {
          bot.token = `${id}:${"B".repeat(24)}_${bots.length}`;
          return bot.token;
        },
        setWebhook: (url) => void Object.assign(bot, { webhook: url }),
        polls: () => bot.polls,
        isPolled: () => bot.poll !== null,
        waiting: () => bot.updates.length,
        push: (update, life) => push(bot, update, life),
        jump: (id) => void Object.assign(bot, { next_update: id }),
        again(...updates) {
          for (const update of updates) bot.updates.push({ update, until: now() + UPDATE_LIFE });
          answerPoll(bot);
        },
        steal: () =>
          new Promise((end) =>
            getUpdates(bot, { timeout: 0, allowed_updates: ALLOWED }, () => end()),
          ),
      };
    },

    /** A person with the app. `name`: what the app shows. */
    newUser: (name = "Anna", username: string | null = null, id = next_user++): TestUser =>
      createUser(
        { id, name, username },
        {
          now,
          query,
          chatOf: openChat,
          seen: (bot, user) => chatOf({ id: bot }, user),
          push: (bot, update, life) => push(find(bot), update, life),
          show: (bot, user, message) => shown(find(bot), user, message),
        },
      ),
  };
}
