/**
 * `approve_action`, the tool that the permission hooks of coding agents call. It is no procedure: it answers in
 * the form that its client takes, and only at `/mcp?tools=approve` (docs/interface.md §12.6).
 */

import { invalidFields } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { contentOf } from "../permission/content.ts";
import { decisionText, unaskedText } from "../permission/decision.ts";
import { reportsOtherInput } from "../permission/plan.ts";
import { type PermissionRequest, readCall } from "../permission/request.ts";
import { isGone, toServiceError } from "../rpc/errors.ts";
import { toolFailure } from "./result.ts";
import type { McpCall } from "./server.ts";

export const APPROVE = "approve_action";

/** How a client calls the tool: what its address and its headers say. */
export interface ApproveOptions {
  /** Seconds that a request waits; null: as is usual for the client. */
  readonly wait: number | null;
  /** The name that the client has for this server, whose tools are not asked about; undefined: the usual one. */
  readonly server: string | undefined;
  /** False: the client takes no stream, so it must be answered soon. */
  readonly streams: boolean;
  /** The arguments of the call, with the input of the tool as JSON text. */
  readonly arguments: Readonly<Record<string, unknown>>;
}

const text = (description?: string) => ({ type: "string", ...(description && { description }) });

/** The entry of `tools/list`. It has no schema of its result, whose text is for the client's hook. */
export const APPROVE_DEFINITION = {
  name: APPROVE,
  title: "Ask the person for permission",
  description:
    "For the permission hooks of your client. Do not call it yourself: your client asks by it when you use a tool.",
  inputSchema: {
    type: "object",
    properties: {
      event: text("Name of the hook's event"),
      client: text("claude_code, codex or other"),
      session_id: text(),
      agent_id: text(),
      prompt_id: text(),
      turn_id: text(),
      cwd: text(),
      tool_name: text(),
      tool_input: { description: "The tool's input, as a value or as JSON text" },
      input: { description: "The same from a permission prompt tool" },
      tool_use_id: text(),
      permission_suggestions: { description: "A list, as a value or as JSON text" },
    },
  },
  annotations: {
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: true,
  },
} as const;

/**
 * Answers one call. Whatever goes wrong permits nothing: a hook gets an empty text, so that its client asks by
 * itself, and a permission tool a refusal.
 */
export async function approve(
  call: McpCall,
  { wait, server, streams, arguments: given }: ApproveOptions,
  signal: AbortSignal,
): Promise<object> {
  const meaning = readCall(given, call.client?.name ?? null);
  const { caller, services, host } = call.ctx;
  if (caller?.kind !== "key") throw new Error("only a key gets here");
  switch (meaning.is) {
    case "nothing":
      call.only_waited = true;
      return textResult("");
    case "unreadable": {
      const error = invalidFields({ [meaning.field]: "cannot be read" });
      call.error = error;
      return meaning.field === "tool_input"
        ? textResult(unaskedText(meaning, "unreadable"))
        : toolFailure(error, call.modern);
    }
    case "stopped":
      call.only_waited = true;
      await quietly(call, services.permissions.stopped(caller, meaning));
      return textResult("");
    case "used": {
      call.only_waited = true;
      const { request } = meaning;
      const content = contentOf(request, host, server);
      const with_any_input = reportsOtherInput(request.tool);
      if (typeof content !== "string" || with_any_input) {
        const form = typeof content === "string" || with_any_input ? null : content.action.form;
        await quietly(call, services.permissions.used(caller, request, form));
      }
      return textResult("");
    }
  }
  const { request } = meaning;
  const content = contentOf(request, host, server);
  if (typeof content === "string") return textResult(unaskedText(request, content));
  const life = wait ?? patienceOf(request);
  try {
    const { status, answer, note } = await services.permissions.ask(caller, {
      content,
      input: request.input,
      call: request.call,
      turn: request.turn,
      session: call.session,
      life,
      // A stream lasts until the question has expired.
      wait: streams ? life + 1 : Math.min(life, LIMITS.approve_wait_json),
      signal,
    });
    const answered = status === "answered" ? answer : null;
    return textResult(decisionText(request, { answer: answered, note }));
  } catch (thrown) {
    if (isGone(thrown)) throw thrown;
    call.error = toServiceError(thrown);
    return textResult(decisionText(request, { answer: null }));
  }
}

/** The terminal of Codex cannot answer while its hook waits; of other programs it is not known. */
const patienceOf = ({ client }: PermissionRequest): number =>
  client === "claude_code" ? LIMITS.approve_wait : LIMITS.approve_wait_codex;

const textResult = (text: string) => ({ content: [{ type: "text", text }] });

/** The client need not know that it failed: its hook has nothing to do with the outcome. */
async function quietly(call: McpCall, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (thrown) {
    call.error = toServiceError(thrown);
  }
}
