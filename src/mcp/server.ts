/** Creates a server of the official SDK for each request, over tools that are prepared once. */

import { createHash } from "node:crypto";
import {
  ProtocolError,
  type Result,
  Server,
  type ServerContext,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/server";
import type { Context, HookCall } from "../../routers/context.ts";
import { canonicalJson } from "../canonical-json.ts";
import type { Cancel, Clock } from "../clock.ts";
import { failFields, type ServiceError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { ClientInfo } from "../model/client.ts";
import type { McpSession } from "../model/mcp-session.ts";
import { cutMembers } from "../overload/json-bounds.ts";
import { isGone, toServiceError } from "../rpc/errors.ts";
import type { Arguments } from "../rpc/meta.ts";
import type { SignedTokens } from "../signer.ts";
import { parseText } from "./arguments.ts";
import { instructionsFor } from "./instructions.ts";
import type { Message, RefusedMessage } from "./message.ts";
import {
  checkResources,
  PROMPT_LIST,
  promptNamed,
  RESOURCE_LIST,
  readResource,
  TEMPLATE_LIST,
} from "./resources.ts";
import { rpcCodeOf, rpcError, textResult, toolFailure, toolResult, unknownName } from "./result.ts";
import type { Tool, Tools } from "./tools.ts";

/** One request and its outcome. */
export interface McpCall {
  readonly ctx: Context;
  readonly key_id: string;
  /** True: spec 2026-07-28 or later; false: the versions before, which begin with `initialize`. */
  readonly modern: boolean;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly client: ClientInfo | null;
  readonly session: McpSession | null;
  /** True: the client repeats a call with `requestState` by itself (§12.4.4). */
  readonly rounds: boolean;
  /** True: the client accepts an event stream. */
  readonly streams: boolean;
  /** The address and headers of a permission hook; null unless it came to `/mcp?tools=approve`. */
  readonly hook: HookOptions | null;
  /** Settles with the handler; undefined if the SDK answered by itself. */
  work?: Promise<unknown>;
  error: ServiceError | null;
  /** True: the call only waited, so the request log has no entry of it (§15.1.2). */
  only_waited: boolean;
}

export type HookOptions = Pick<HookCall, "wait" | "server" | "streams">;

interface McpServersOptions {
  readonly tools: Tools;
  readonly version: string;
  readonly clock: Clock;
  /** Signs the state that a client sends back to go on waiting. */
  readonly rounds: SignedTokens;
  /** Called with an unexpected error. */
  readonly report: (error: ServiceError, tool: string, call: McpCall) => void;
}

type Handle = (call: McpCall, extra: ServerContext) => Promise<object>;

/** The `action` of a request that was refused before its method was read. */
export const REFUSED = "POST /mcp";

/** The revision that needs no session. */
export const NEW_ERA = "2026-07-28";

/** Seconds for which a client may cache a list. Lists change only with Relay's version. */
const LIST_TTL = 300;

/** Each server gets only the handler of its request's method. */
export function createMcpServers(options: McpServersOptions) {
  const { tools, version, clock, report } = options;
  checkResources(tools);
  const listOf = (some: readonly Tool[]) => ({ tools: some.map(({ definition }) => definition) });
  const all = [...tools.values()];
  const tool_list = listOf(all.filter(({ for_hooks }) => !for_hooks));
  const hooks_list = listOf(all);
  const instructions = instructionsFor(tools);
  const keep = { ttlMs: LIST_TTL * 1000, cacheScope: "public" as const };
  const server_options = {
    capabilities: { tools: {}, resources: {}, prompts: {} },
    instructions,
    supportedProtocolVersions: [...SUPPORTED_PROTOCOL_VERSIONS, NEW_ERA],
    cacheHints: { "server/discover": keep },
  };
  const info = { name: "relay", title: "Relay", version };

  /** Every list is one page, so no cursor is valid. */
  const list =
    (whole: object): Handle =>
    async ({ params, modern }) => {
      if (params.cursor !== undefined && params.cursor !== "")
        failFields({ cursor: "is not a cursor of this list" });
      return modern ? { ...whole, ...keep } : whole;
    };

  /** Runs a tool, and reports progress to the client while it waits. */
  const run = async (
    call: McpCall,
    extra: ServerContext,
    { tool, given, asking }: { tool: Tool; given: Arguments; asking: boolean },
  ) => {
    const ctx: Context = {
      ...call.ctx,
      connection: extra.mcpReq,
      // The agent does not have the question's id yet.
      asking,
      session: call.session,
      streams: call.streams,
      hook: call.hook && { ...call.hook, client_name: call.client?.name ?? null, outcome: call },
    };
    const stop = tool.waits ? tellProgress(clock, extra, given.wait_seconds) : () => {};
    try {
      const result = await tool.call(ctx, given);
      call.only_waited ||= tool.only_waited(given, result);
      return result;
    } catch (error) {
      call.only_waited = isGone(error) && tool.only_waited(given, null);
      throw error;
    } finally {
      stop();
    }
  };

  /** The round that a repeated call continues; undefined for a first call. */
  const readRound = ({ key_id, params, modern }: McpCall, asked: Arguments, name: string) => {
    const { requestState: state } = params;
    // The old era has no such parameter.
    if (!modern || state === undefined) return undefined;
    const found = typeof state === "string" ? options.rounds.read(key_id, state) : undefined;
    const round = found as Round | undefined;
    return round?.of === name && round.asked === digestOf(asked)
      ? round
      : failFields({ requestState: "is not one of this tool, arguments and key" });
  };

  const callTool: Handle = async (call, extra) => {
    const { key_id, modern, params } = call;
    const named = tools.get(params.name as string);
    if (!named || (named.for_hooks && !call.hook)) return unknownName("tool");
    const { given: asked, left_unchanged } = named.read(argumentsIn(params));
    const begun = readRound(call, asked, named.definition.name);
    const tool = begun ? tools.get(begun.name)! : named;
    const given = begun?.arguments ?? asked;
    const started = clock.elapsed();
    try {
      const result = await run(call, extra, { tool, given, asking: named.rounds });
      if (typeof result === "string") return textResult(result);
      const next = tool.next(result, given);
      const wait = given.wait_seconds;
      const round = (begun?.round ?? 1) + 1;
      // A wait ends early only when the server stops. The agent then needs the id.
      const waited = typeof wait === "number" && wait > 0 && clock.elapsed() - started > wait - 0.1;
      if (next && waited && call.rounds && named.rounds && round <= LIMITS.mcp_rounds) {
        const state: Round = {
          round,
          of: named.definition.name,
          asked: digestOf(asked),
          name: next.name,
          arguments: { ...next.arguments, wait_seconds: wait },
        };
        return { resultType: "input_required", requestState: options.rounds.write(key_id, state) };
      }
      const whole = await tool.complete(call.ctx, result);
      const notes = [
        unchangedNote(left_unchanged, whole as Arguments),
        tool.note(whole, clock.now()),
      ];
      return toolResult(whole, next, notes.filter((note) => note !== null).join(" ") || null);
    } catch (thrown) {
      if (isGone(thrown)) throw thrown;
      const error = toServiceError(thrown);
      call.error = error;
      if (error.code === "internal") report(error, named.definition.name, call);
      return toolFailure(error, modern);
    }
  };

  const handlers: Readonly<Record<string, Handle>> = {
    "tools/list": (call, extra) => list(call.hook ? hooks_list : tool_list)(call, extra),
    "tools/call": callTool,
    "resources/list": list(RESOURCE_LIST),
    "resources/templates/list": list(TEMPLATE_LIST),
    async "resources/read"({ ctx, params }) {
      const { uri } = params;
      if (typeof uri !== "string") return failFields({ uri: "must be of type string" });
      const text = await readResource(tools, ctx, uri);
      return { contents: [{ uri, mimeType: "application/json", text }] };
    },
    "prompts/list": list(PROMPT_LIST),
    "prompts/get": async ({ params }) => promptNamed(params.name) ?? unknownName("prompt"),
  };

  return {
    /** The `action` of a request in the request log (§15.2): one of our own names, never text that was sent. */
    actionOf(request: Pick<Message, "method" | "modern" | "params"> | RefusedMessage): string {
      if (!("method" in request)) return REFUSED;
      const { method, modern, params } = request;
      const known = Object.hasOwn(handlers, method) || (modern ? MODERN : LEGACY).has(method);
      if (!known) return "unknown method";
      const name = params.name as string;
      return method === "tools/call" && tools.has(name) ? name : method;
    },

    /** True for a tool call that waits for nothing, and awaits `ctx.confirmed` before its first effect. */
    readsFirst({ method, params }: Pick<Message, "method" | "params">): boolean {
      const tool = method === "tools/call" ? tools.get(params.name as string) : undefined;
      if (!tool?.reads_first || params.requestState !== undefined) return false;
      const { arguments: given = {} } = params;
      return typeof given === "object" && given !== null && !("wait_seconds" in given);
    },

    /** True for a call that may wait, and whose client accepts a stream but no progress notifications. */
    isSilent({ method, params, streams }: McpCall): boolean {
      const tool = method === "tools/call" ? tools.get(params.name as string) : undefined;
      return streams && tool?.waits === true && !isToken(tokenOf(params._meta));
    },

    create(call: McpCall): Server {
      const server = new Server(info, server_options);
      const { method } = call;
      const handle = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
      if (!handle) return server;
      // `setRequestHandler` would validate what our own schemas validate already.
      server.fallbackRequestHandler = (_, extra) => {
        const work = handle(call, extra).catch((thrown: unknown) => {
          if (isGone(thrown)) throw thrown;
          const error = toServiceError(thrown);
          call.error = error;
          if (error.code === "internal") report(error, method, call);
          const asked = error.code === "not_found" ? { uri: call.params.uri } : {};
          const { code, message, data } = rpcError(rpcCodeOf(error), error, asked);
          throw new ProtocolError(code, message, data);
        });
        call.work = work;
        return work as Promise<Result>;
      };
      return server;
    },
  };
}

/** Methods that the SDK answers. */
const MODERN: ReadonlySet<string> = new Set(["server/discover", "subscriptions/listen"]);
const LEGACY: ReadonlySet<string> = new Set(["initialize", "ping"]);

/** The signed state with which a client repeats a call to go on waiting. */
interface Round {
  /** Number of this round; the first call was 1. */
  readonly round: number;
  /** The tool that the client calls, and the digest of its arguments. */
  readonly of: string;
  readonly asked: string;
  /** The tool that goes on waiting, and its arguments. */
  readonly name: string;
  readonly arguments: Arguments;
}

/**
 * The arguments as an object. Some models send the object as text. Without arguments, some clients send null or an
 * empty text, and those in PHP an empty list.
 */
function argumentsIn({ arguments: sent }: Arguments): Arguments {
  const text = typeof sent === "string" ? sent.trim() : "";
  const value = text === "" ? sent : parseText(text);
  const is_unset =
    sent === undefined || value === null || (typeof sent === "string" && text === "");
  const given = is_unset || (Array.isArray(value) && value.length === 0) ? {} : value;
  const fits = typeof given === "object" && given !== null && !Array.isArray(given);
  return fits
    ? (cutMembers(given) as Arguments)
    : failFields({ arguments: "must be of type object" });
}

const AND = new Intl.ListFormat("en-GB");

/** Tells the agent which fields were not cleared, since an empty value counted as not set (§12.3.8). */
function unchangedNote(names: readonly string[], task: Arguments): string | null {
  // An empty field had nothing to clear.
  const kept = names.filter((name) => task[name] !== null && task[name] !== "");
  if (kept.length === 0) return null;
  const fields = AND.format(kept.map((name) => `\`${name}\``));
  return `Not cleared: ${fields}. An empty value counts as not set in a call that fills in its other arguments. To clear a field, send only \`task_id\` and that field as null, or as "" for \`description\`.`;
}

/** A digest of the arguments that does not depend on their order. */
const digestOf = (given: Arguments): string =>
  createHash("sha256").update(canonicalJson(given)).digest("base64url");

const tokenOf = (meta: unknown): unknown =>
  (meta as { readonly progressToken?: unknown } | undefined)?.progressToken;
const isToken = (token: unknown): token is string | number =>
  typeof token === "string" || typeof token === "number";

/** Sends progress notifications while a call waits, if the client asked for them. */
function tellProgress(clock: Clock, { mcpReq }: ServerContext, wait: unknown): Cancel {
  const progressToken = tokenOf(mcpReq._meta);
  if (!isToken(progressToken)) return () => {};
  if (typeof wait !== "number" || wait <= 0) return () => {};
  let waited = 0;
  let cancel: Cancel = () => {};
  const next = () => {
    if (waited + LIMITS.sign_of_life > wait) return;
    cancel = clock.after(LIMITS.sign_of_life, () => {
      waited += LIMITS.sign_of_life;
      const params = { progressToken, progress: waited, total: wait, message: "Waiting" };
      // Its signal ends the call of a client that is gone.
      mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
      next();
    });
  };
  next();
  return () => cancel();
}
