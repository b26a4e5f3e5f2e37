/** The official SDK's server, created for each request, over tools that are prepared once. */

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
import type { SignedTokens } from "../signer.ts";
import { parseText } from "./arguments.ts";
import { instructionsFor } from "./instructions.ts";
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

/** One request, and what came of it. */
export interface McpCall {
  readonly ctx: Context;
  readonly key_id: string;
  /** True: spec 2026-07-28 or later; false: the versions that begin with `initialize`. */
  readonly modern: boolean;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly client: ClientInfo | null;
  readonly session: McpSession | null;
  /** True: the client goes on with `requestState` by itself (docs/interface.md 12.4.4). */
  readonly rounds: boolean;
  /** The address and headers of a permission hook; null unless it came to `/mcp?tools=approve`. */
  readonly hook: HookOptions | null;
  /** Settles with the handler; undefined when the SDK answered by itself. */
  work?: Promise<unknown>;
  error: ServiceError | null;
  /** True: it only waited, which has no activity entry (docs/interface.md 15.1.2). */
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
  readonly report: (error: ServiceError, tool: string) => void;
}

type Handle = (call: McpCall, extra: ServerContext) => Promise<object>;

/** The revision that needs no session. */
export const NEW_ERA = "2026-07-28";

/** Seconds that a client may keep a list which changes with a new version of Relay alone. */
const LIST_TTL = 300;

export type McpServers = ReturnType<typeof createMcpServers>;

/** Makes the server of one request; only the handler of its method is put in. */
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

  /** Lists have one page, so no cursor is valid. */
  const list =
    (whole: object): Handle =>
    async ({ params, modern }) => {
      if (params.cursor !== undefined && params.cursor !== "")
        failFields({ cursor: "is not a cursor of this list" });
      return modern ? { ...whole, ...keep } : whole;
    };

  /** Runs a tool, or the call that goes on for it, and tells the client of the time it waits. */
  const run = async (call: McpCall, extra: ServerContext, { tool, given, asking }: Run) => {
    const ctx: Context = {
      ...call.ctx,
      connection: extra.mcpReq,
      asking,
      session: call.session,
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

  const callTool: Handle = async (call, extra) => {
    const { key_id, modern, params } = call;
    const named = tools.get(params.name as string);
    if (!named || (named.for_hooks && !call.hook)) return unknownName("tool");
    const { given: asked, left_unchanged } = named.read(argumentsIn(params));
    const begun = readRound(options.rounds, { key_id, params, asked, modern, tool: named });
    const tool = begun ? tools.get(begun.name)! : named;
    const given = begun?.arguments ?? asked;
    const started = clock.elapsed();
    try {
      const result = await run(call, extra, { tool, given, asking: named.rounds });
      if (typeof result === "string") return textResult(result);
      const next = tool.next(result, given);
      const wait = given.wait_seconds;
      const round = (begun?.round ?? 1) + 1;
      // A wait that ended early did so because the server stops: then the agent should know the id.
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
      const notes = [unchangedNote(left_unchanged, whole as Given), tool.note(whole, clock.now())];
      return toolResult(whole, next, notes.filter((note) => note !== null).join(" ") || null);
    } catch (thrown) {
      if (isGone(thrown)) throw thrown;
      const error = toServiceError(thrown);
      call.error = error;
      if (error.code === "internal") report(error, named.definition.name);
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
    /** Whether Relay has a method in the era of the call. */
    has: ({ method, modern }: Pick<McpCall, "method" | "modern">): boolean =>
      Object.hasOwn(handlers, method) || (modern ? MODERN : LEGACY).has(method),

    create(call: McpCall): Server {
      const server = new Server(info, server_options);
      const { method } = call;
      const handle = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
      if (!handle) return server;
      // Not by `setRequestHandler`, which checks by schema what our own schemas check already.
      server.fallbackRequestHandler = (_, extra) => {
        const work = handle(call, extra).catch((thrown: unknown) => {
          if (isGone(thrown)) throw thrown;
          const error = toServiceError(thrown);
          call.error = error;
          if (error.code === "internal") report(error, method);
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

/** Methods that the SDK itself answers. */
const MODERN: ReadonlySet<string> = new Set(["server/discover", "subscriptions/listen"]);
const LEGACY: ReadonlySet<string> = new Set(["initialize", "ping"]);

type Given = Readonly<Record<string, unknown>>;

/** The signed state with which a client repeats a call to go on waiting. */
interface Round {
  /** The number of this round; the first call was 1. */
  readonly round: number;
  /** The tool that the client calls, and a digest of the arguments that it calls it with. */
  readonly of: string;
  readonly asked: string;
  readonly name: string;
  readonly arguments: Given;
}

interface Run {
  readonly tool: Tool;
  readonly given: Given;
  /** True: it asks, or goes on waiting for what was asked, and has not returned the question's id yet. */
  readonly asking: boolean;
}

interface RoundOptions {
  readonly key_id: string;
  readonly params: Given;
  readonly asked: Given;
  readonly modern: boolean;
  readonly tool: Tool;
}

/**
 * The arguments as an object. Some models send the text of the object; for none, some clients send null or an
 * empty text, and those in PHP an empty list.
 */
function argumentsIn({ arguments: sent }: Given): Given {
  const text = typeof sent === "string" ? sent.trim() : "";
  const value = text === "" ? sent : parseText(text);
  const is_unset =
    sent === undefined || value === null || (typeof sent === "string" && text === "");
  const given = is_unset || (Array.isArray(value) && value.length === 0) ? {} : value;
  const fits = typeof given === "object" && given !== null && !Array.isArray(given);
  return fits ? (cutMembers(given) as Given) : failFields({ arguments: "must be of type object" });
}

const AND = new Intl.ListFormat("en-GB");

/** What an agent reads when an empty value was taken as not set (docs/interface.md 12.3.8). */
function unchangedNote(names: readonly string[], task: Given): string | null {
  // Nothing was to be cleared in a field that is empty.
  const kept = names.filter((name) => task[name] !== null && task[name] !== "");
  if (kept.length === 0) return null;
  const fields = AND.format(kept.map((name) => `\`${name}\``));
  return `Not cleared: ${fields}. An empty value counts as not set in a call that fills in its other arguments. To clear a field, send only \`task_id\` and that field as null, or as "" for \`description\`.`;
}

/** The round that a call goes on with; undefined for a first call. */
function readRound(seal: SignedTokens, { key_id, params, asked, modern, tool }: RoundOptions) {
  const { requestState: state } = params;
  // The old era knows no such parameter.
  if (!modern || state === undefined) return undefined;
  const found = typeof state === "string" ? seal.read(key_id, state) : undefined;
  const round = found as Round | undefined;
  return round?.of === tool.definition.name && round.asked === digestOf(asked)
    ? round
    : failFields({ requestState: "is not one of this tool, arguments and key" });
}

/** A digest of the arguments that does not depend on their order. */
const digestOf = (given: Given): string =>
  createHash("sha256").update(canonicalJson(given)).digest("base64url");

/** Notifies a client that asked for it while a call waits. */
function tellProgress(clock: Clock, { mcpReq }: ServerContext, wait: unknown): Cancel {
  const progressToken: unknown = mcpReq._meta?.progressToken;
  if (typeof progressToken !== "string" && typeof progressToken !== "number") return () => {};
  if (typeof wait !== "number" || wait <= 0) return () => {};
  let waited = 0;
  let cancel: Cancel = () => {};
  const next = () => {
    if (waited + LIMITS.mcp_progress_every > wait) return;
    cancel = clock.after(LIMITS.mcp_progress_every, () => {
      waited += LIMITS.mcp_progress_every;
      const params = { progressToken, progress: waited, total: wait, message: "Waiting" };
      // If the client is gone, its signal ends the call.
      mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
      next();
    });
  };
  next();
  return () => cancel();
}
