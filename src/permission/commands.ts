/** Formats a tool's input for the person: as a command, a diff, or all arguments; pure. */

import type { QuestionAction } from "../model/question.ts";
import { diffOf, pathLine } from "./diff.ts";

/** What a tool call does, in full. */
interface Shown {
  readonly form: QuestionAction["form"];
  readonly text: string;
  /** What the agent says about it in its own words. */
  readonly words?: string | undefined;
  /** Where a command runs, if its arguments say so. */
  readonly folder?: string | undefined;
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Formats a tool's input. Claude Code: `Bash` as a command; `Edit`, `Write` and `MultiEdit` as a
 * diff. Codex: `shell` and its kin as a command, `apply_patch` as a diff. Everything else is shown
 * as its arguments, and so is input in another form than these tools have: nothing is left out.
 */
export function showInput(tool: string, input: unknown): Shown {
  const patch = tool === "apply_patch" ? patchIn(input) : null;
  if (patch !== null) return { form: "diff", text: patch };
  const members = isObject(input) ? input : {};
  const change = editIn(tool, members);
  if (change !== null) return { form: "diff", text: change };
  const command = tool.startsWith("mcp__") ? null : commandIn(members);
  if (command !== null) return command;
  const text = typeof input === "string" ? input : JSON.stringify(input, null, 2);
  return { form: "arguments", text };
}

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Members beside the command that are not shown: they do not change what it does. */
const BESIDE: ReadonlySet<string> = new Set([
  "command",
  "cmd",
  "description",
  "justification",
  "timeout",
  "timeout_ms",
  "run_in_background",
  "login",
  "tty",
  "yield_time_ms",
  "max_output_tokens",
  "prefix_rule",
  // Codex asks because of these two.
  "with_escalated_permissions",
  "sandbox_permissions",
  "workdir",
]);

function commandIn(members: Members): Shown | null {
  const { command = members.cmd, description, justification, workdir } = members;
  const text = typeof command === "string" ? command : lineOf(command);
  if (text === null || ("command" in members && "cmd" in members)) return null;
  const others = Object.keys(members).filter(
    (name) => !BESIDE.has(name) && !(name === "dangerouslyDisableSandbox" && !members[name]),
  );
  if (others.length > 0 || !isTextOrAbsent(workdir)) return null;
  const words = description ?? justification;
  if (!isTextOrAbsent(words)) return null;
  return { form: "command", text, words, folder: workdir };
}

const isTextOrAbsent = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === "string";

/** A list of arguments as a shell command line; for `bash -lc <script>`, the script. */
function lineOf(given: unknown): string | null {
  if (!Array.isArray(given) || given.length === 0) return null;
  if (!given.every((part): part is string => typeof part === "string")) return null;
  const [shell = "", flag = "", script] = given;
  const runs = /^(\/(usr\/)?bin\/)?(ba|z)?sh$/.test(shell) && /^-l?c$/.test(flag);
  if (runs && given.length === 3) return script!;
  return given.map(quoted).join(" ");
}

const quoted = (part: string): string =>
  /^[\w@%+=:,./-]+$/.test(part) ? part : `'${part.replaceAll("'", `'\\''`)}'`;

/**
 * The patch: the input itself, its only member, or the argument of `apply_patch`; null for another
 * form.
 */
function patchIn(input: unknown): string | null {
  if (typeof input === "string") return input;
  if (!isObject(input)) return null;
  const [[name, value] = ["", null], ...more] = Object.entries(input);
  if (more.length > 0 || !["command", "patch", "input"].includes(name)) return null;
  if (typeof value === "string") return value;
  const [command, patch, ...rest] = Array.isArray(value) ? value : [];
  return command === "apply_patch" && typeof patch === "string" && rest.length === 0 ? patch : null;
}

const EDIT = ["file_path", "old_string", "new_string", "replace_all"];

/** The change that one of Claude Code's tools makes; null for any other tool or form of input. */
function editIn(tool: string, members: Members): string | null {
  const { file_path: path, content, edits } = members;
  if (typeof path !== "string") return null;
  const has = (...names: string[]) => Object.keys(members).every((name) => names.includes(name));
  if (tool === "Write" && typeof content === "string" && has("file_path", "content")) {
    return [pathLine(path), "@@ the whole file @@", ...diffOf("", content)].join("\n");
  }
  if (tool === "Edit" && has(...EDIT)) {
    const change = replacementIn(members);
    return change && [pathLine(path), ...change].join("\n");
  }
  if (tool === "MultiEdit" && Array.isArray(edits) && has("file_path", "edits")) {
    const changes = edits.map((edit) => (isObject(edit) ? replacementIn(edit) : null));
    if (!changes.every((change) => change !== null)) return null;
    return [pathLine(path), ...changes.flat()].join("\n");
  }
  return null;
}

/** The diff of one replacement; null for an unknown form of input. */
function replacementIn(edit: Members): string[] | null {
  const { old_string: before, new_string: after, replace_all: everywhere = false } = edit;
  if (typeof before !== "string" || typeof after !== "string") return null;
  if (typeof everywhere !== "boolean") return null;
  if (!Object.keys(edit).every((name) => EDIT.includes(name))) return null;
  return [everywhere ? "@@ every occurrence @@" : "@@", ...diffOf(before, after)];
}
