/** Telegram as a channel: private chats with a bot of the account or of the operator (§19.9). */

import type { Channel } from "../core/channel.ts";
import { classify, type TelegramAnswer } from "./classify.ts";
import { createLinks } from "./links.ts";
import { render, type TelegramRequest } from "./payload.ts";
import { replies } from "./replies.ts";
import { createTelegramSender } from "./sender.ts";

const LANE = "telegram";

export const telegram: Channel<TelegramRequest, TelegramAnswer> = {
  name: "telegram",
  lanes: [LANE],
  supports: (kind) => kind === "question" || kind === "task",
  replaces: "always",
  pageOf: (_url, { TELEGRAM_API_ROOT }) => `${TELEGRAM_API_ROOT}/`,
  register: () => ({ fields: { type: "is added by a link: POST /v1/channels/links" } }),
  render,
  classify,
  replies,
  async connect(config, clock, network) {
    const links = createLinks(config, network);
    return [{ lane: LANE, ...createTelegramSender(config, clock, network), links }];
  },
};
