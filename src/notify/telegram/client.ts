/**
 * Calls methods of the Bot API. The URL of a call has the bot's token, so neither it nor an error of a request leaves
 * this file.
 */

import type { ApiMethods, ApiResponse } from "@grammyjs/types";
import type { Config } from "../../config.ts";
import { type Outbound, OutboundError, type OutboundFault } from "../../outbound/guard.ts";
import { VERSION } from "../../version.ts";
import { isWebPage } from "../core/web-page.ts";

type Methods = ApiMethods<never>;
/** A method of the Bot API that Relay calls. */
export type Method = keyof Methods & keyof Params;

/** The parameters of each method. */
interface Params {
  readonly getMe: object;
  readonly getWebhookInfo: object;
  readonly getUpdates: Parameters<Methods["getUpdates"]>[0];
  readonly sendMessage: Parameters<Methods["sendMessage"]>[0];
  readonly editMessageText: Parameters<Methods["editMessageText"]>[0];
  readonly editMessageReplyMarkup: Parameters<Methods["editMessageReplyMarkup"]>[0];
  readonly deleteMessage: Parameters<Methods["deleteMessage"]>[0];
  readonly answerCallbackQuery: Parameters<Methods["answerCallbackQuery"]>[0];
}

export type CallAnswer<M extends Method> =
  | { readonly kind: "ok"; readonly result: ReturnType<Methods[M]> }
  | CallFailure;

export type CallFailure =
  | {
      readonly kind: "error";
      readonly status: number;
      /** The sentence of the server. It is compared, never stored or shown. */
      readonly description: string;
      /** Seconds. */
      readonly retry_after: number | null;
    }
  /** Not an answer of a Bot API server. */
  | { readonly kind: "foreign"; readonly status: number; readonly is_page: boolean }
  | { readonly kind: "lost"; readonly fault: OutboundFault };

interface Call<M extends Method> {
  readonly token: string;
  readonly params: Params[M];
  /** Id of the account. */
  readonly owner: string;
  readonly seconds: number;
  /** Bytes of the answer, at most. */
  readonly max_bytes?: number;
  readonly signal?: AbortSignal;
}

/** Calls methods at `TELEGRAM_API_ROOT`. */
export function createCalls(
  outbound: Pick<Outbound, "request">,
  { TELEGRAM_API_ROOT: root }: Pick<Config, "TELEGRAM_API_ROOT">,
) {
  /** Makes one call. Never throws. */
  return async <M extends Method>(
    method: M,
    { token, params, ...options }: Call<M>,
  ): Promise<CallAnswer<M>> => {
    try {
      const { status, headers, body } = await outbound.request({
        ...options,
        url: `${root}/bot${token}/${method}`,
        method: "POST",
        headers: { "content-type": "application/json", "user-agent": `Relay/${VERSION}` },
        body: JSON.stringify(params),
      });
      const answer = parse<ReturnType<Methods[M]>>(body);
      if (answer === null) return { kind: "foreign", status, is_page: isWebPage(headers, body) };
      if (answer.ok) return { kind: "ok", result: answer.result };
      const { error_code, description, parameters } = answer;
      const seconds = parameters?.retry_after;
      return {
        kind: "error",
        status: error_code,
        description: String(description),
        retry_after: typeof seconds === "number" && seconds >= 0 ? seconds : null,
      };
    } catch (error) {
      return { kind: "lost", fault: error instanceof OutboundError ? error.fault : "failed" };
    }
  };
}

export type Calls = ReturnType<typeof createCalls>;

/** The body as an answer of a Bot API server; null for anything else. */
function parse<T>(body: Buffer): ApiResponse<T> | null {
  try {
    const said = JSON.parse(body.toString()) as ApiResponse<T> | null;
    if (said?.ok === true) return said;
    return said?.ok === false && Number.isInteger(said.error_code) ? said : null;
  } catch {
    return null;
  }
}

/** True if the server does not know the token: `404` for one that cannot be a token. */
export const isBadToken = (answer: CallFailure | { readonly kind: "ok" }): boolean =>
  answer.kind === "error" && (answer.status === 401 || answer.status === 404);
