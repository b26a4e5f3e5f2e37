/** What "Allow for this session" permits beyond the one use (docs/interface.md §12.6.2(3)); pure. */

import { LIMITS } from "../limits.ts";
import { fits, isBlank, isStorable } from "../plain-text.ts";
import type { PermissionRequest } from "./request.ts";
import { oneVisibleLine } from "./visible.ts";

interface Grants {
  /** The updates of permissions that the client takes, as it suggested them. */
  readonly updates: readonly unknown[];
  /** The same for a person to read. */
  readonly described: readonly string[];
}

const NONE: Grants = { updates: [], described: [] };

/**
 * The suggestions that end with the session and add rules or folders; never a mode, a rule that is
 * removed, or anything that is kept. None at all when they cannot be shown in full.
 */
export function sessionGrants({ client, call, suggestions }: PermissionRequest): Grants {
  if (client !== "claude_code" || call !== "hook") return NONE;
  const found = suggestions.flatMap((update) => {
    const described = describe(update);
    return described === null ? [] : [{ update, described }];
  });
  const described = found.flatMap((one) => one.described).map(oneVisibleLine);
  const shows = described.every((text) => isStorable(text) && fits(text, LIMITS.action_field));
  if (!shows || described.length > LIMITS.action_grants) return NONE;
  return { updates: found.map(({ update }) => update), described };
}

function describe(update: unknown): string[] | null {
  if (typeof update !== "object" || update === null) return null;
  const { type, destination, behavior, rules, directories } = update as Record<string, unknown>;
  if (destination !== "session") return null;
  if (type === "addRules" && behavior === "allow") return eachOf(rules, ruleOf);
  return type === "addDirectories" ? eachOf(directories, folderOf) : null;
}

/** Null when there is none, or one that cannot be described. */
function eachOf(list: unknown, describeOne: (one: unknown) => string | null): string[] | null {
  if (!Array.isArray(list) || list.length === 0) return null;
  const described = list.map(describeOne);
  return described.every((text) => text !== null) ? described : null;
}

function ruleOf(rule: unknown): string | null {
  const { toolName, ruleContent } = (rule ?? {}) as Record<string, unknown>;
  if (typeof toolName !== "string" || isBlank(toolName)) return null;
  if (ruleContent === undefined) return toolName;
  return typeof ruleContent === "string" ? `${toolName}(${ruleContent})` : null;
}

const folderOf = (folder: unknown): string | null =>
  typeof folder === "string" && !isBlank(folder) ? `Folder ${folder}` : null;
