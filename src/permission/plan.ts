/** Claude Code's request to leave plan mode, which is a request to permit a plan; pure. */

import { isBlank } from "../model/text.ts";
import type { PermissionRequest } from "./request.ts";

const TOOL = "ExitPlanMode";

/** The plan in the input of a tool; null if the tool is another one, or the input has none. */
export function planIn(tool: string, { plan }: Readonly<Record<string, unknown>>): string | null {
  return tool === TOOL && typeof plan === "string" && !isBlank(plan) ? plan : null;
}

/** Whether it asks to leave plan mode without a plan in it: the person could not see what they permit. */
export const lacksPlan = ({ tool, input }: Pick<PermissionRequest, "tool" | "input">): boolean =>
  tool === TOOL && planIn(tool, (input ?? {}) as Readonly<Record<string, unknown>>) === null;

/**
 * Whether the client reports the use of the tool with another input than it asked with: it asks with
 * the plan, and reports without.
 */
export const reportsOtherInput = (tool: string): boolean => tool === TOOL;

/**
 * Whether the client permits the use only if its hook returns the input too. Claude Code does so for
 * tools that have a dialog of their own; for other tools it must not be returned: Codex refuses it.
 */
export const needsInput = ({ client, tool }: Pick<PermissionRequest, "client" | "tool">): boolean =>
  client !== "codex" && tool === TOOL;
