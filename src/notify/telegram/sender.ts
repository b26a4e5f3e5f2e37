/** Sends, edits and replaces messages, within the rates that Telegram permits (§19.9.3). */

import type { Clock } from "../../clock.ts";
import type { Config } from "../../config.ts";
import type { Network, RequestOrigin } from "../core/channel.ts";
import { createTimedRequests, TIME_LIMIT } from "../core/requests.ts";
import { tokenOf } from "./address.ts";
import { isGone, isRefused, type TelegramAnswer } from "./classify.ts";
import { type Calls, createCalls } from "./client.ts";
import { paceOf } from "./pace.ts";
import type { TelegramRequest } from "./payload.ts";

/** Requests under way at once, per process. */
const IN_FLIGHT = 64;

/** The connection of the lane. */
export function createTelegramSender(config: Config, clock: Clock, { outbound }: Network) {
  const call = createCalls(outbound, config);
  const requests = createTimedRequests(clock);
  const pace = paceOf(config, clock);
  const stop = new AbortController();

  /** Sends the message, or changes the one that is there. */
  const carryOut = async (
    request: TelegramRequest,
    options: Pick<Parameters<Calls>[1], "token" | "owner" | "seconds" | "signal">,
  ): Promise<TelegramAnswer> => {
    const own = request.address.token !== null;
    const { chat: chat_id } = request.address;
    const { message, edit, replaces, or_send } = request;
    if (edit !== null) {
      const params = { chat_id, message_id: edit, ...message };
      const { disable_notification: _, ...edited } = params;
      const answer = await call("editMessageText", { ...options, params: edited });
      if (answer.kind === "ok") return { kind: "ok", message_id: edit };
      if (isRefused(answer) && !message.reply_markup) {
        // The buttons go without the text, so that none is left that answers nothing.
        const bare = { chat_id, message_id: edit };
        const removed = await call("editMessageReplyMarkup", { ...options, params: bare });
        const again =
          removed.kind !== "ok" && !(removed.kind === "error" && removed.status === 400);
        if (again) return { ...removed, own, edit };
      }
      if (!isGone(answer) || !or_send) return { ...answer, own, edit };
    }
    const answer = await call("sendMessage", { ...options, params: { chat_id, ...message } });
    if (answer.kind !== "ok") return { ...answer, own, edit: null };
    // The one that it replaces may be gone already, or be too old.
    if (replaces !== null) {
      await call("deleteMessage", { ...options, params: { chat_id, message_id: replaces } });
    }
    return { kind: "ok", message_id: Number(answer.result?.message_id) };
  };

  return {
    own_sockets: IN_FLIGHT,

    abort() {
      stop.abort();
      requests.abort();
    },

    /** Makes one request. Never throws. */
    async send(request: TelegramRequest, { owner }: RequestOrigin): Promise<TelegramAnswer> {
      const { address } = request;
      const token = tokenOf(address, config);
      if (token === null) return { kind: "no_token" };
      const { bot_id: bot, chat } = address;
      const turn = await pace.take({ bot, chat, owner }, stop.signal);
      if (!turn.taken) return { kind: "busy", wait: turn.wait };
      if (stop.signal.aborted) {
        turn.end();
        return { kind: "busy", wait: 0 };
      }
      const { signal, isLate, end } = requests.begin();
      const options = { token, owner, seconds: TIME_LIMIT, signal };
      const answer = await carryOut(request, options).finally(() => {
        end();
        turn.end();
      });
      return answer.kind === "lost" && isLate() ? { ...answer, fault: "timed_out" } : answer;
    },
  };
}
