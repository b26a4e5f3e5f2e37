/** Begins a link: checks the bot that the account gives, or takes the operator's (§19.9.1). */

import type { Config } from "../../config.ts";
import type { ChannelLinks, Network } from "../core/channel.ts";
import { TIME_LIMIT } from "../core/requests.ts";
import { botIdOf, parseAddress, type TelegramBot } from "./address.ts";
import { type CallFailure, createCalls, isBadToken } from "./client.ts";

const TOKEN = /^\d{1,20}:[A-Za-z0-9_-]{10,100}$/;
/** What the web addresses of bots may have. */
const USERNAME = /^[A-Za-z0-9_]{1,64}$/;

export function createLinks(config: Config, { outbound }: Pick<Network, "outbound">): ChannelLinks {
  const call = createCalls(outbound, config);
  const { TELEGRAM_BOT_TOKEN: shared, TELEGRAM_API_ROOT: root } = config;

  return {
    host: new URL(root).host,

    async begin(given, owner) {
      const token = given ?? shared;
      const wrong = (why: string) => ({ fields: { token: why } });
      if (token === undefined) return wrong("is required: this server has no bot of its own");
      if (!TOKEN.test(token)) return wrong("must be the token of a bot");
      const options = { token, owner, seconds: TIME_LIMIT, params: {} };
      const me = await call("getMe", options);
      const unknown = given === null ? "of this server does not work" : "is not the token of a bot";
      if (me.kind !== "ok") return wrong(isBadToken(me) ? unknown : unchecked(me));
      const hook = await call("getWebhookInfo", options);
      if (hook.kind !== "ok") return wrong(unchecked(hook));
      // A server that is none of the Bot API may answer anything.
      const url: unknown = hook.result?.url;
      if (typeof url !== "string") return wrong("could not be checked: unexpected_answer");
      if (url !== "") return wrong("belongs to a bot that another program uses (webhook)");
      const username: unknown = me.result?.username;
      const bot_id = botIdOf(token);
      const is_bot = me.result?.id === bot_id;
      if (!is_bot || typeof username !== "string" || !USERNAME.test(username))
        return wrong(unknown);
      // A token that is the operator's stays the operator's when it is replaced.
      const bot: TelegramBot = { token: token === shared ? null : token, bot_id, username };
      return { address: JSON.stringify(bot) };
    },

    linkOf: (address, code) => `${urlOf(address)}?start=${code}`,
    urlOf,
  };
}

const urlOf = (address: string): string => `https://t.me/${parseAddress(address).username}`;

const unchecked = (failure: CallFailure): string =>
  `could not be checked: ${failure.kind === "lost" ? failure.fault : `status_${failure.status}`}`;
