/** Claude Code's request to leave plan mode, by which it asks to permit a plan; pure. */

import { isBlank } from "../model/text.ts";
import type { PermissionRequest } from "./request.ts";

const TOOL = "ExitPlanMode";

/** The plan in a tool's input; null if the tool is another one, or there is no plan. */
export function planIn(tool: string, { plan }: Readonly<Record<string, unknown>>): string | null {
  return tool === TOOL && typeof plan === "string" && !isBlank(plan) ? plan : null;
}

/** True if the request has no plan, so that the person could not see what they permit. */
export const lacksPlan = ({ tool, input }: Pick<PermissionRequest, "tool" | "input">): boolean =>
  tool === TOOL && planIn(tool, (input ?? {}) as Readonly<Record<string, unknown>>) === null;

/** True if the client reports the tool's use with another input than in its request: without the plan. */
export const reportsOtherInput = (tool: string): boolean => tool === TOOL;

/**
 * True if the hook must also return the input. Claude Code requires it for tools with a dialog of their own; Codex
 * rejects it.
 */
export const needsInput = ({ client, tool }: Pick<PermissionRequest, "client" | "tool">): boolean =>
  client !== "codex" && tool === TOOL;
