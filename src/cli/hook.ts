/** `relay hook`: the hook command of a coding agent, which asks the person for permission (§12.6). */

import { RelayError } from "../client/error.ts";
import { readFrames } from "../client/frames.ts";
import { memberTexts, textOrValue } from "../exact-json.ts";
import { isOwnToolOf } from "../permission/own-tools.ts";
import { VERSION } from "../version.ts";
import { oneLine } from "./escape.ts";
import type { Io } from "./io.ts";
import { openSession } from "./session.ts";

/** The coding agent that runs the hook. */
type HookClient = "claude" | "codex" | "gemini";

interface HookOptions {
  /** Seconds within which the person must answer. */
  readonly wait?: number;
  /** The client's name for Relay's MCP server; `relay` when absent. */
  readonly server?: string;
}

type Arguments = Readonly<Record<string, unknown>>;

/** Seconds within which the person must answer without `--wait`: less than the time-out of the hook. */
const WAIT: Readonly<Record<HookClient, number>> = {
  claude: 590,
  // Its terminal cannot answer meanwhile.
  codex: 120,
  // A hook that ends by its time-out permits the tool. The time-out is 60 seconds unless the settings say otherwise.
  gemini: 50,
};

/** Seconds after the wait by which the server must have ended the question. */
const LATE = 5;

/** Seconds within which the client must write its JSON and close standard input. */
const READ_WITHIN = 10;

/**
 * Reads the JSON of the client's hook from standard input, asks the person, and prints the answer as the client's
 * JSON. Without an answer, for whatever reason, it prints what leaves the decision to the client's own prompt: it never
 * permits what nobody permitted. The exit code is always 0, since each client gives others a meaning of its own.
 */
export async function hook(io: Io, client: HookClient, options: HookOptions): Promise<void> {
  const text = await decide(io, client, options).catch((error: unknown) => {
    // Clients treat output on standard error as a failure or an answer.
    if (io.err_is_terminal) io.err(`relay: ${oneLine(String((error as Error).message))}\n`);
    return "";
  });
  if (text !== "") io.out(`${text}\n`);
  // Gemini CLI takes silence for a permission; this makes it show its own prompt.
  else if (client === "gemini") io.out(`${JSON.stringify({ decision: "ask" })}\n`);
}

/** Asks the person. Returns the decision as the client's JSON; empty if there is none. */
async function decide(io: Io, client: HookClient, { wait = WAIT[client], server }: HookOptions) {
  const late = new AbortController();
  // Started before the input is read, so that everything ends before the client's time-out.
  const cancel = io.timers.after(wait + LATE, () => late.abort(new Error("nobody answered")));
  // Closing the connection cancels the question.
  const signal = AbortSignal.any([io.signal, late.signal]);
  try {
    const text = await readInput(io, signal);
    const given = argumentsIn(client, text);
    if (given === null) return "";
    // Gemini CLI's hook runs before every use of a tool. It decides about Relay's own tools by itself.
    if (client === "gemini" && usesRelay(text, server)) return "{}";
    const { connection } = await openSession(io);
    const named = server === undefined ? "" : `&server=${encodeURIComponent(server)}`;
    const path = `/mcp?tools=approve&wait=${wait}${named}`;
    for await (const frame of readFrames(connection, path, { init: requestOf(given), signal })) {
      const message = messageIn(frame);
      if ("id" in message)
        return client === "gemini" ? geminiText(textOf(message)) : textOf(message);
    }
    throw new RelayError("no_response", "The server ended the connection");
  } finally {
    cancel();
  }
}

/** Bytes of a client's JSON, which may have the whole result of a tool. */
const INPUT_BYTES = 32 * 1024 * 1024;

/** Reads all of standard input. Rejects after {@link READ_WITHIN}, and once the signal aborts. */
async function readInput(io: Io, signal: AbortSignal): Promise<string> {
  const late = new AbortController();
  const cancel = io.timers.after(READ_WITHIN, () => late.abort(new Error("the input has no end")));
  try {
    return await io.input({
      most: INPUT_BYTES,
      signal: AbortSignal.any([signal, late.signal]),
      fatal: true,
    });
  } finally {
    cancel();
  }
}

/** The members of a hook's input that are sent. The result of a tool, for example, stays here. */
const FIELDS = [
  ...["hook_event_name", "session_id", "agent_id", "prompt_id", "turn_id", "cwd", "tool_use_id"],
  ...["tool_name", "tool_input", "permission_suggestions"],
] as const;

/**
 * Makes the arguments of `approve_action` from the client's JSON; null for an event that asks for nothing. The tool's
 * input stays the text that the client wrote, since parsing would round its numbers. Throws if the text is not a JSON
 * object, or has a name twice.
 */
function argumentsIn(client: HookClient, text: string): Arguments | null {
  const members = memberTexts(text);
  if (members === undefined) throw new Error("the input is not a JSON object, or has a name twice");
  const given = Object.fromEntries(
    FIELDS.map((name) => {
      const value = members.get(name);
      if (value === undefined) return [name, undefined];
      return [name, name === "tool_input" ? textOrValue(value) : JSON.parse(value)];
    }),
  );
  const { hook_event_name: event, ...fields } = given;
  if (client === "claude") return { ...fields, event, client: "claude_code" };
  if (client === "codex") return { ...fields, event, client };
  if (event !== "BeforeTool") return null;
  // Its tools may run side by side, so one request does not make the question of another one obsolete.
  return { ...fields, event: "PermissionRequest", client: "other", turn_id: "any" };
}

/**
 * True if Gemini CLI is about to use one of Relay's own tools. The server is read from `mcp_context`, since the tool's
 * name, `mcp_<server>_<tool>`, is ambiguous.
 */
function usesRelay(text: string, server?: string): boolean {
  const context = memberTexts(text, ["mcp_context"]);
  const textIn = (name: string): string => String(JSON.parse(context?.get(name) ?? "null"));
  return isOwnToolOf(textIn("server_name"), textIn("tool_name"), server);
}

/** The HTTP request that calls the tool by MCP 2026-07-28. */
function requestOf(given: Arguments) {
  const version = "2026-07-28";
  const meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "relay", version: VERSION },
  };
  const name = "approve_action";
  const params = { name, arguments: given, _meta: meta };
  return {
    method: "POST",
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": version,
      "mcp-method": "tools/call",
      "mcp-name": name,
    },
  };
}

interface Answer {
  readonly result?: { readonly isError?: boolean; readonly content: readonly { text?: string }[] };
  readonly error?: { readonly message: string };
}

/** The message in a frame, or in a response that is not a stream; empty for a comment. */
function messageIn(frame: string): Answer {
  const data = frame.startsWith("{") ? frame : /^data: ?(.*)$/m.exec(frame)?.[1];
  return data === undefined ? {} : JSON.parse(data);
}

function textOf({ result, error }: Answer): string {
  const text = result?.content[0]?.text ?? "";
  if (result === undefined || result.isError) throw new Error(error?.message ?? text);
  return text;
}

function geminiText(text: string): string {
  if (text === "") return "";
  const { behavior, message } = JSON.parse(text).hookSpecificOutput.decision;
  return JSON.stringify(
    behavior === "allow" ? { decision: "allow" } : { decision: "deny", reason: message },
  );
}
