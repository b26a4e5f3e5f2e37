/** What "Allow for this session" permits beyond the one use (§12.6.2(3)); pure. */

import { LIMITS } from "../limits.ts";
import { fits, isBlank, isStorable } from "../model/text.ts";
import type { PermissionRequest } from "./request.ts";
import { oneVisibleLine } from "./visible.ts";

interface Grants {
  /** Permission updates for the client: its own suggestions, with only the members that are described. */
  readonly updates: readonly unknown[];
  /** What the updates permit, for the person to read. */
  readonly described: readonly string[];
}

const NONE: Grants = { updates: [], described: [] };

/**
 * The client's suggestions that add rules or folders for this session; never one that changes the mode, removes a rule
 * or lasts longer. None of them if they cannot all be shown in full.
 */
export function sessionGrants({ client, call, suggestions }: PermissionRequest): Grants {
  if (client !== "claude_code" || call !== "hook") return NONE;
  const grants = suggestions.map(grantOf).filter((grant) => grant !== null);
  const described = grants.flatMap((one) => one.described).map(oneVisibleLine);
  const can_be_shown = described.every(
    (text) => isStorable(text) && fits(text, LIMITS.action_field),
  );
  if (!can_be_shown || described.length > LIMITS.action_grants) return NONE;
  return { updates: grants.map(({ update }) => update), described };
}

/** A part of an update, and the text that says what it permits. */
interface Described<T> {
  readonly given: T;
  readonly text: string;
}

function grantOf(suggestion: unknown) {
  if (typeof suggestion !== "object" || suggestion === null) return null;
  const { type, destination, behavior, ...lists } = suggestion as Record<string, unknown>;
  if (destination !== "session") return null;
  if (type === "addRules" && behavior === "allow") {
    const rules = eachOf(lists.rules, ruleOf);
    return (
      rules && grant({ type, rules: rules.map(({ given }) => given), behavior, destination }, rules)
    );
  }
  if (type !== "addDirectories") return null;
  const folders = eachOf(lists.directories, folderOf);
  return (
    folders && grant({ type, directories: folders.map(({ given }) => given), destination }, folders)
  );
}

const grant = (update: object, parts: readonly Described<unknown>[]) => ({
  update,
  described: parts.map(({ text }) => text),
});

/** Describes each element; null if the list is empty or an element cannot be described. */
function eachOf<T>(
  list: unknown,
  describe: (one: unknown) => Described<T> | null,
): Described<T>[] | null {
  if (!Array.isArray(list) || list.length === 0) return null;
  const described = list.map(describe);
  return described.every((one) => one !== null) ? described : null;
}

/** Claude Code's names of tools, with wildcards. A parenthesis could make a rule look narrower. */
const TOOL_NAME = /^[^()]+$/;

function ruleOf(rule: unknown): Described<object> | null {
  const { toolName, ruleContent } = (rule ?? {}) as Record<string, unknown>;
  if (typeof toolName !== "string" || isBlank(toolName) || !TOOL_NAME.test(toolName)) return null;
  if (ruleContent === undefined) return { given: { toolName }, text: allOf(toolName) };
  if (typeof ruleContent !== "string") return null;
  const rule_text = `${toolName}(${ruleContent})`;
  const text = permitsAll(ruleContent) ? `${allOf(toolName)}: ${rule_text}` : rule_text;
  return { given: { toolName, ruleContent }, text };
}

/** Says what a rule without content permits. `mcp__server` stands for all tools of that server. */
function allOf(tool: string): string {
  if (tool.includes("*")) return `All tools that match ${tool}`;
  return /^mcp__(?!.*__)/.test(tool) ? `All tools of ${tool}` : `All of ${tool}`;
}

/**
 * True if the content of a rule restricts nothing although it looks narrow: it is empty or has only wildcards, such as
 * `*`, `:*`, `domain:*`, `//**`, or `**` followed by a slash and more wildcards.
 */
const permitsAll = (content: string): boolean =>
  isBlank(content.replace(/^domain:/, "").replace(/[*:]|^\/\/|(?<=\*\*)\/(?=\*)/g, ""));

/** Folders that contain all others. */
const ROOT = /^(?:[A-Z]:[\\/.]*|[\\/][\\/.]*)$/i;

function folderOf(folder: unknown): Described<string> | null {
  if (typeof folder !== "string" || isBlank(folder)) return null;
  return { given: folder, text: ROOT.test(folder) ? `All folders: ${folder}` : `Folder ${folder}` };
}
