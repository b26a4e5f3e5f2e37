/** Reads what a coding agent sends by its hook or its permission tool (§12.6.2); pure. */

import { parseExactly } from "../exact-json.ts";
import { LIMITS } from "../limits.ts";
import type { QuestionAction } from "../model/question.ts";
import { fits, isStorable } from "../model/text.ts";
import { commasIn, nestingOf } from "../overload/json-bounds.ts";
import { oneVisibleLine } from "./visible.ts";

type Client = QuestionAction["client"];

/** A tool call that a client asks permission for. */
export interface PermissionRequest {
  readonly client: Client;
  /** `tool`: called in place of the client's own prompt (`--permission-prompt-tool`). */
  readonly call: "hook" | "tool";
  readonly session: string | null;
  /** The subagent that makes the request; null for the session's main agent. */
  readonly agent: string | null;
  /** The person's prompt, or the turn, that the session works on; null if the client does not say. */
  readonly turn: string | null;
  readonly tool: string;
  readonly input: unknown;
  /** The input as JSON, with numbers as the client wrote them. */
  readonly input_json: string;
  readonly folder: string | null;
  /** What the client offers to permit beyond this use, in the client's form. */
  readonly suggestions: readonly unknown[];
}

export type PermissionCall =
  | { readonly is: "request"; readonly request: PermissionRequest }
  /** The tool was used, so the request was permitted elsewhere. */
  | { readonly is: "used"; readonly request: PermissionRequest }
  /** An agent of the session has stopped, or the `whole` session, so none of its requests waits any more. */
  | {
      readonly is: "stopped";
      readonly session: string;
      readonly agent: string | null;
      readonly whole: boolean;
    }
  /** An event that has nothing to do with permissions. */
  | { readonly is: "nothing" }
  /** The field is missing, too long, nested too deep, cut, or has characters that cannot be stored. */
  | {
      readonly is: "unreadable";
      readonly field: string;
      readonly call: PermissionRequest["call"];
    };

type Arguments = Readonly<Record<string, unknown>>;

const USED = ["PostToolUse", "PostToolUseFailure"];
const STOPPED = ["Stop", "StopFailure", "SessionEnd"];
const NOTHING = { is: "nothing" } as const;

/**
 * Reads the arguments of `approve_action`, or the JSON that a command hook gets on standard input. `client_name`: what
 * the MCP client calls itself. An empty text counts as absent.
 */
export function readCall(given: Arguments, client_name: string | null): PermissionCall {
  const event = textOf(given.event) ?? textOf(given.hook_event_name);
  const session = lineOf(given.session_id);
  const agent = lineOf(given.agent_id);
  if (event !== null && STOPPED.includes(event)) {
    if (session === null) return NOTHING;
    return { is: "stopped", session, agent, whole: event === "SessionEnd" };
  }
  const used = event !== null && USED.includes(event);
  if (!used && event !== null && event !== "PermissionRequest") return NOTHING;
  const tool = lineOf(given.tool_name);
  const turn = lineOf(given.prompt_id) ?? lineOf(given.turn_id);
  const folder = lineOf(given.cwd);
  const call = event === null && textOf(given.tool_use_id) !== null ? "tool" : "hook";
  const unreadable = (field: string) => ({ is: "unreadable", field, call }) as const;
  if (tool === null || !isShort(tool)) return unreadable("tool_name");
  if (!isShort(session)) return unreadable("session_id");
  if (!isShort(agent)) return unreadable("agent_id");
  if (!isShort(turn)) return unreadable("prompt_id");
  if (!isShort(folder)) return unreadable("cwd");
  const input = inputOf(given, tool);
  if (input === UNREADABLE) return used ? NOTHING : unreadable("tool_input");
  const suggestions = parsedOf(given.permission_suggestions);
  const request: PermissionRequest = {
    client: clientOf(given, client_name),
    call,
    session,
    agent,
    turn,
    tool,
    ...input,
    folder,
    suggestions: Array.isArray(suggestions) ? suggestions : [],
  };
  return { is: used ? "used" : "request", request };
}

const CLIENTS: readonly string[] = ["claude_code", "codex", "other"] satisfies Client[];

/** The client: as the call says, else by the MCP client's name, else by fields that only one client sends. */
function clientOf(given: Arguments, name: string | null): Client {
  if (CLIENTS.includes(given.client as string)) return given.client as Client;
  if (/^claude[-_ ]?code/i.test(name ?? "")) return "claude_code";
  if (/^codex/i.test(name ?? "")) return "codex";
  if (textOf(given.turn_id) !== null) return "codex";
  const claude = textOf(given.prompt_id) ?? parsedOf(given.permission_suggestions) ?? null;
  return claude === null ? "other" : "claude_code";
}

const textOf = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? value : null;

/** A text on one line with hidden characters made visible; null if it is empty or not a text. */
function lineOf(value: unknown): string | null {
  const text = textOf(value);
  return text === null ? null : oneVisibleLine(text);
}

const isShort = (text: string | null): boolean =>
  text === null || (isStorable(text) && fits(text, LIMITS.action_field));

/** Stands for a value that is not, or may not be, what the client meant. */
const UNREADABLE = Symbol("unreadable");

/** The tool's input. A text must be JSON or a patch: any other may be cut, or a placeholder. */
function inputOf(
  given: Arguments,
  tool: string,
): Pick<PermissionRequest, "input" | "input_json"> | typeof UNREADABLE {
  const sent = [given.tool_input, given.input].find((one) => !isAbsent(one));
  const input = parsedOf(sent) ?? UNREADABLE;
  if (input === UNREADABLE) return UNREADABLE;
  if (typeof input !== "string") {
    return { input, input_json: typeof sent === "string" ? sent : JSON.stringify(sent) };
  }
  const is_patch = tool === "apply_patch" && /^\s*\*\*\* Begin Patch/.test(input);
  return is_patch ? { input, input_json: JSON.stringify(input) } : UNREADABLE;
}

const isAbsent = (given: unknown): boolean => given === undefined || given === null || given === "";

/** The value, parsed if it is a JSON text; undefined if it is absent. */
function parsedOf(given: unknown): unknown {
  if (isAbsent(given)) return undefined;
  if (typeof given !== "string" || !/^\s*[[{]/.test(given)) return given;
  if (nestingOf(given) !== "shallow") return UNREADABLE;
  // More values than a person is ever shown.
  if (commasIn(given) > LIMITS.action_text) return UNREADABLE;
  return parseExactly(given) ?? UNREADABLE;
}
