/** Procedures that are tools of `/mcp` alone: they have no route, and tRPC does not serve them. */

import { z } from "zod";
import { invalidFields } from "../src/errors.ts";
import { LIMITS } from "../src/limits.ts";
import type { KeyCaller } from "../src/model/caller.ts";
import { contentOf } from "../src/permission/content.ts";
import { decisionText, unaskedText } from "../src/permission/decision.ts";
import { reportsOtherInput } from "../src/permission/plan-mode.ts";
import { type PermissionRequest, readCall } from "../src/permission/request.ts";
import { isGone, toServiceError } from "../src/rpc/errors.ts";
import { proceduresOf } from "../src/rpc/trpc-internals.ts";
import type { Context } from "./context.ts";
import { hints } from "./tool.ts";
import { key, router } from "./trpc.ts";

export const APPROVE = "approve_action";

/** An argument that clients send as text. A value of another type is for `readCall` to judge. */
const text = z.unknown().optional().meta({ type: "string" });
/** A value, or its JSON text. */
const value = z.unknown().optional();

const mcpOnlyRouter = router({
  /** Called by the permission hooks of coding agents; the text is in the form that the client takes (§12.6). */
  approveAction: key
    .meta({
      may_be_slow: true,
      mcp: {
        name: APPROVE,
        for_hooks: true,
        title: "Ask the person for permission",
        description:
          "For the permission hooks of your client. Do not call it yourself: your client asks by it when you use a tool.",
        fields: {
          event: "Name of the hook's event",
          client: "claude_code, codex or other",
          tool_input: "The tool's input, as a value or as JSON text",
          input: "The same from a permission prompt tool",
          permission_suggestions: "A list, as a value or as JSON text",
        },
        annotations: hints({ person: true }),
      },
    })
    .input(
      // Open: hooks send more than what is listed here.
      z.looseObject({
        event: text,
        client: text,
        session_id: text,
        agent_id: text,
        prompt_id: text,
        turn_id: text,
        cwd: text,
        tool_name: text,
        tool_input: value,
        input: value,
        tool_use_id: text,
        permission_suggestions: value,
      }),
    )
    .output(z.string())
    .mutation(({ ctx, input }) => approve(ctx, input)),
});

/** The procedures by name, to be made tools beside those of the routes. */
export const mcpOnlyProcedures = proceduresOf<Context>(mcpOnlyRouter);

/**
 * Answers one call of a hook. Whatever goes wrong permits nothing: a hook gets an empty text, so that its client
 * asks by itself, and a permission tool a refusal.
 */
async function approve(
  { services, host, hook, session, connection, caller }: Context & { readonly caller: KeyCaller },
  given: Readonly<Record<string, unknown>>,
): Promise<string> {
  if (!hook) throw new Error("only a hook gets here");
  const { wait, server, streams, client_name, outcome } = hook;
  /** The hook has nothing to do with the result, so a failure is only logged. */
  const quietly = (work: Promise<void>): Promise<void> =>
    work.catch((thrown) => {
      outcome.error = toServiceError(thrown);
    });
  const meaning = readCall(given, client_name);
  switch (meaning.is) {
    case "nothing":
      outcome.only_waited = true;
      return "";
    case "unreadable": {
      const error = invalidFields({ [meaning.field]: "cannot be read" });
      if (meaning.field !== "tool_input") throw error;
      outcome.error = error;
      return unaskedText(meaning, "unreadable");
    }
    case "stopped":
      outcome.only_waited = true;
      await quietly(services.permissions.stopped(caller, meaning));
      return "";
    case "used": {
      outcome.only_waited = true;
      const { request } = meaning;
      const content = contentOf(request, host, server);
      const with_any_input = reportsOtherInput(request.tool);
      if (typeof content !== "string" || with_any_input) {
        const form = typeof content === "string" || with_any_input ? null : content.action.form;
        await quietly(services.permissions.used(caller, request, form));
      }
      return "";
    }
  }
  const { request } = meaning;
  const content = contentOf(request, host, server);
  if (typeof content === "string") return unaskedText(request, content);
  const life = wait ?? usualWait(request);
  try {
    const { status, answer, note } = await services.permissions.ask(caller, {
      content,
      input: request.input,
      call: request.call,
      turn: request.turn,
      session,
      life,
      // A stream lasts until the question has expired.
      wait: streams ? life + 1 : Math.min(life, LIMITS.approve_wait_json),
      signal: connection.signal,
    });
    return decisionText(request, { answer: status === "answered" ? answer : null, note });
  } catch (thrown) {
    if (isGone(thrown)) throw thrown;
    outcome.error = toServiceError(thrown);
    return decisionText(request, { answer: null });
  }
}

/** Seconds. The terminal of Codex takes no answer while its hook waits; other programs may be like it. */
const usualWait = ({ client }: PermissionRequest): number =>
  client === "claude_code" ? LIMITS.approve_wait : LIMITS.approve_wait_codex;
