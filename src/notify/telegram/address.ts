/** The address of a target in Telegram: a bot, and the private chat that it has with one person (§19.9). */

import type { Config } from "../../config.ts";

/** A bot, as a link knows it before its person came. */
export interface TelegramBot {
  /** Null: the bot of the operator. */
  readonly token: string | null;
  readonly bot_id: number;
  /** Its user name, without `@`. */
  readonly username: string;
}

export interface TelegramAddress extends TelegramBot {
  /** Id of the person, which is also the id of the private chat. */
  readonly chat: number;
}

/** An address that no bot can send to, in place of one that cannot be read. */
const NOWHERE: TelegramAddress = { token: null, bot_id: 0, username: "", chat: 0 };

/** Parses the address of a channel or, without a chat (0), of a link. */
export function parseAddress(address: string): TelegramAddress {
  try {
    return { ...NOWHERE, ...(JSON.parse(address) as Partial<TelegramAddress>) };
  } catch {
    return NOWHERE;
  }
}

/** The id of the bot that a token is of. */
export const botIdOf = (token: string): number => Number(token.split(":")[0]);

/**
 * The token to use now: the account's own, or the operator's if that is still of the bot that the person talks to. Null
 * if there is none.
 */
export function tokenOf(
  { token, bot_id }: TelegramBot,
  { TELEGRAM_BOT_TOKEN }: Pick<Config, "TELEGRAM_BOT_TOKEN">,
): string | null {
  if (token !== null) return token;
  if (TELEGRAM_BOT_TOKEN === undefined || botIdOf(TELEGRAM_BOT_TOKEN) !== bot_id) return null;
  return TELEGRAM_BOT_TOKEN;
}
