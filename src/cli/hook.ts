/** `relay hook`: a coding agent's request for permission, as the command of its hook (§12.6). */

import { RelayError } from "../client/error.ts";
import { readFrames } from "../client/frames.ts";
import { memberTexts, textOrValue } from "../exact-json.ts";
import { isOwnToolOf } from "../permission/own-tools.ts";
import { VERSION } from "../version.ts";
import { oneLine } from "./escape.ts";
import type { Io } from "./io.ts";
import { openSession } from "./session.ts";

/** Whose hooks it speaks. */
export type HookClient = "claude" | "codex" | "gemini";

interface HookOptions {
  /** Seconds until the person must have answered. */
  readonly wait?: number;
  /** The name that the client has for Relay's MCP server, if it is not the usual one. */
  readonly server?: string;
}

type Given = Readonly<Record<string, unknown>>;

/** Seconds that a question lives unless an option says otherwise: less than the time-out of a hook. */
const PATIENCE: Readonly<Record<HookClient, number>> = {
  claude: 590,
  // Its terminal cannot answer meanwhile.
  codex: 120,
  // A hook that ends by its time-out permits the tool: 60 seconds where the settings name none.
  gemini: 50,
};

/** Seconds after which a server that has not ended the question counts as lost. */
const LATE = 5;

/** Seconds in which the client must have written its JSON and closed the standard input. */
const READ_WITHIN = 10;

/**
 * Reads the JSON of the client's hook from the standard input, asks the person, and prints what the client
 * takes as the answer. Without an answer it prints what leaves the decision to the client's own prompt, for
 * whatever reason; it never permits what nobody permitted. It has no exit code of its own: others than 0
 * mean different things to each client.
 */
export async function hook(io: Io, client: HookClient, options: HookOptions): Promise<void> {
  const text = await decide(io, client, options).catch((error: unknown) => {
    // Clients take what is on the standard error for a fault or an answer.
    if (io.err_is_terminal) io.err(`relay: ${oneLine(String((error as Error).message))}\n`);
    return "";
  });
  if (text !== "") io.out(`${text}\n`);
  // It permits a tool on silence, as far as its policy does; this brings its own prompt.
  else if (client === "gemini") io.out(`${JSON.stringify({ decision: "ask" })}\n`);
}

/** The decision in the form of the client; empty if there is none. */
async function decide(
  io: Io,
  client: HookClient,
  { wait = PATIENCE[client], server }: HookOptions,
) {
  const late = new AbortController();
  // From before the input is read, so that the whole stays below the client's time-out.
  const cancel = io.timers.after(wait + LATE, () => late.abort(new Error("nobody answered")));
  // Closing the connection cancels the question.
  const signal = AbortSignal.any([io.signal, late.signal]);
  try {
    const text = await readInput(io, signal);
    const given = argumentsIn(client, text);
    if (given === null) return "";
    // Its hook runs before every use: Gemini CLI itself decides about tools that nobody is asked about.
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

/** All of the standard input; rejects after {@link READ_WITHIN}, and once the signal aborts. */
async function readInput(io: Io, signal: AbortSignal): Promise<string> {
  const late = new AbortController();
  const cancel = io.timers.after(READ_WITHIN, () => late.abort(new Error("the input has no end")));
  try {
    return await io.input(AbortSignal.any([signal, late.signal]), { fatal: true });
  } finally {
    cancel();
  }
}

/** What the server reads of a hook's input: the result of a tool, for one, stays here. */
const FIELDS = [
  ...["hook_event_name", "session_id", "agent_id", "prompt_id", "turn_id", "cwd", "tool_use_id"],
  ...["tool_name", "tool_input", "permission_suggestions"],
] as const;

/**
 * The arguments of `approve_action` from the text of the client; null for an event that asks for nothing. The
 * input of the tool stays the text that the client wrote, since parsing it would round its numbers. Throws for a
 * text that is not one JSON object with each name once.
 */
function argumentsIn(client: HookClient, text: string): Given | null {
  const sent = memberTexts(text);
  if (sent === undefined) throw new Error("the input is not a JSON object, or has a name twice");
  const given = Object.fromEntries(
    FIELDS.map((name) => {
      const value = sent.get(name);
      if (value === undefined) return [name, undefined];
      return [name, name === "tool_input" ? textOrValue(value) : JSON.parse(value)];
    }),
  );
  const { hook_event_name: event, ...fields } = given;
  if (client === "claude") return { ...fields, event, client: "claude_code" };
  if (client === "codex") return { ...fields, event, client };
  if (event !== "BeforeTool") return null;
  // Its tools may run at once, and each waits for its hook: none of them makes another's question out of date.
  return { ...fields, event: "PermissionRequest", client: "other", turn_id: "any" };
}

/**
 * Whether Gemini CLI is about to use one of Relay's own tools. It tells the server of a tool apart from its name,
 * which is `mcp_<server>_<tool>`, and may be of another server.
 */
function usesRelay(text: string, server?: string): boolean {
  const context = memberTexts(text, ["mcp_context"]);
  const textIn = (name: string): string => String(JSON.parse(context?.get(name) ?? "null"));
  return isOwnToolOf(textIn("server_name"), textIn("tool_name"), server);
}

/** A call of the tool by MCP of 2026-07-28. */
function requestOf(given: Given) {
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

/** The message of a frame, or of a response that is no stream; none in a comment. */
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
