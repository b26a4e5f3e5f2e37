/** The parameters of `/mcp?tools=approve`, and the arguments of its calls as they were sent (§12.6). */

import { APPROVE } from "../../routers/mcp-only.ts";
import { failFields } from "../errors.ts";
import { memberTexts, textOrValue } from "../exact-json.ts";
import { LIMITS } from "../limits.ts";
import type { Message } from "../mcp/message.ts";
import type { HookOptions } from "../mcp/server.ts";
import { fits, isBlank } from "../model/text.ts";
import { commasIn } from "../overload/json-bounds.ts";
import { acceptsStream } from "./answer-stream.ts";

/**
 * Reads the options of a hook's call from the query; null at any other address. Throws `422 fields.wait` for a `wait`
 * that is not a number of seconds within its bounds, `422 fields.server` for a `server` that is not a name.
 */
export function hookOptions(request: Request, message: Message): HookOptions | null {
  const at = request.url.indexOf("?");
  if (at < 0) return null;
  const query = new URLSearchParams(request.url.slice(at));
  if (query.get("tools") !== "approve") return null;
  return {
    wait: waitIn(query),
    server: serverIn(query),
    streams: callsHook(message) && message.checked && acceptsStream(request),
  };
}

const callsHook = ({ method, params }: Message): boolean =>
  method === "tools/call" && params.name === APPROVE;

/** Returns the message of a hook with its arguments as they were sent in `body`. */
export const withExactArguments = (message: Message, body: string): Message =>
  callsHook(message)
    ? {
        ...message,
        params: { ...message.params, arguments: argumentsIn(body, message.params.arguments) },
      }
    : message;

/** Arguments that hold the input of a tool. */
const INPUTS = ["tool_input", "input"];

/**
 * Reads the arguments of the call. The input of the tool stays the JSON text that was sent, since parsing would
 * round its numbers. When a name is repeated, or there are more values than a person is ever shown, the input is
 * left out, and the rest comes from `parsed`, in which the last member of a name counts.
 */
function argumentsIn(body: string, parsed: unknown): Readonly<Record<string, unknown>> {
  const is_long = commasIn(body) > LIMITS.action_text;
  const sent = is_long ? undefined : memberTexts(body, ["params", "arguments"]);
  if (sent === undefined) {
    if (typeof parsed !== "object" || parsed === null) return {};
    const { event, hook_event_name, tool_use_id, tool_name } = parsed as Record<string, unknown>;
    return { event, hook_event_name, tool_use_id, tool_name };
  }
  return Object.fromEntries(
    [...sent].map(([name, text]) => [
      name,
      INPUTS.includes(name) ? textOrValue(text) : JSON.parse(text),
    ]),
  );
}

function waitIn(query: URLSearchParams): number | null {
  const [text, ...more] = query.getAll("wait");
  if (text === undefined) return null;
  const { approve_wait_min: least, approve_wait_max: most } = LIMITS;
  const wait = /^\d{1,3}$/.test(text) && more.length === 0 ? Number(text) : NaN;
  if (wait >= least && wait <= most) return wait;
  return failFields({ wait: `must be one integer from ${least} to ${most}` });
}

function serverIn(query: URLSearchParams): string | undefined {
  const [name, ...more] = query.getAll("server");
  if (name === undefined) return undefined;
  const most = LIMITS.action_field;
  if (more.length === 0 && !isBlank(name) && fits(name, most)) return name;
  return failFields({ server: `must be one name of 1 to ${most} characters` });
}
