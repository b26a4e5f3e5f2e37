/** What "Allow for this session" permits beyond the one use (§12.6.2(3)); pure. */

import { posix, win32 } from "node:path";
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
export function sessionGrants({ client, call, suggestions, folder }: PermissionRequest): Grants {
  if (client !== "claude_code" || call !== "hook") return NONE;
  const grants = suggestions.map((one) => grantOf(one, folder)).filter((grant) => grant !== null);
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

function grantOf(suggestion: unknown, cwd: string | null) {
  if (typeof suggestion !== "object" || suggestion === null) return null;
  const { type, destination, behavior, ...lists } = suggestion as Record<string, unknown>;
  if (destination !== "session") return null;
  if (type === "addRules" && behavior === "allow") {
    const rules = eachOf(lists.rules, (rule) => ruleOf(rule, cwd));
    return (
      rules && grant({ type, rules: rules.map(({ given }) => given), behavior, destination }, rules)
    );
  }
  if (type !== "addDirectories") return null;
  const folders = eachOf(lists.directories, (one) => folderOf(one, cwd));
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

/** Claude Code's tools whose rules name files: `//x` from the root, `~/x`, and `/x` or `x` from the agent's folder. */
const FILE_TOOL = /^(?:Read|Edit|MultiEdit|Write|NotebookEdit|Glob|Grep|LS)$/;

function ruleOf(rule: unknown, cwd: string | null): Described<object> | null {
  const { toolName, ruleContent } = (rule ?? {}) as Record<string, unknown>;
  if (typeof toolName !== "string" || isBlank(toolName) || !TOOL_NAME.test(toolName)) return null;
  if (ruleContent === undefined) return { given: { toolName }, text: allOf(toolName) };
  if (typeof ruleContent !== "string") return null;
  const rule_text = `${toolName}(${ruleContent})`;
  const path = ruleContent.replace(/^\/(?!\/)/, "");
  const led = FILE_TOOL.test(toolName) ? leadsTo(path, cwd) : null;
  const permits_all = permitsAll(ruleContent) || (led !== null && permitsAll(`/${led.path}`));
  const text = `${rule_text}${led?.note ?? ""}`;
  return {
    given: { toolName, ruleContent },
    text: permits_all ? `${allOf(toolName)}: ${text}` : text,
  };
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

function folderOf(folder: unknown, cwd: string | null): Described<string> | null {
  if (typeof folder !== "string" || isBlank(folder)) return null;
  const led = leadsTo(folder, cwd);
  const name = ROOT.test(led?.path ?? folder) ? "All folders:" : "Folder";
  return { given: folder, text: `${name} ${folder}${led?.note ?? ""}` };
}

/** A path with a part `..`. */
const UPWARD = /(?:^|[\\/])\.\.(?:[\\/]|$)/;

/**
 * Where a path with `..` leads from the agent's folder, by its names as the client resolves it, and a note that says so.
 * Null for other paths.
 */
function leadsTo(given: string, cwd: string | null) {
  if (!UPWARD.test(given)) return null;
  const paths = /^(?:[A-Z]:|\\)/i.test(cwd ?? given) ? win32 : posix;
  const is_relative = !paths.isAbsolute(given) && !given.startsWith("~");
  const path = is_relative && cwd !== null ? paths.join(cwd, given) : paths.normalize(given);
  const from = is_relative && cwd === null ? "." : cwd;
  const is_outside = from === null || UPWARD.test(paths.relative(from, path).slice(0, 3));
  const where = path === given ? "" : `: ${path}`;
  return { path, note: is_outside ? `${where}, outside the agent's folder` : where };
}
