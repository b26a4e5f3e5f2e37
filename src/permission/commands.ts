/** Formats a tool's input for the person, as a command, a diff or all arguments; pure. */

import { formatJson, memberTexts } from "../exact-json.ts";
import { LIMITS } from "../limits.ts";
import type { QuestionAction } from "../model/question.ts";
import { fits, isBlank } from "../model/text.ts";
import { planIn } from "./plan-mode.ts";
import type { PermissionRequest } from "./request.ts";
import { oneVisibleLine } from "./visible.ts";

/** The whole input of a tool call, as the person sees it. */
export interface ShownInput {
  readonly form: QuestionAction["form"];
  readonly text: string;
  /** The agent's own words about it. */
  readonly words?: string | undefined;
  /** Where a command runs, if its arguments say. */
  readonly folder?: string | undefined;
  /** The other arguments of a command, each in one line such as `timeout: 5`. */
  readonly others?: readonly string[];
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Formats a tool's input. Claude Code: `Bash` as a command; `Edit`, `Write` and `MultiEdit` as a diff; `ExitPlanMode` as
 * its plan. Codex: `shell` and similar tools as a command, `apply_patch` as a diff. Any other tool, or an unknown form of
 * input, is shown as its arguments: nothing is left out.
 */
export function showInput({
  tool,
  input,
  input_json,
}: Pick<PermissionRequest, "tool" | "input" | "input_json">): ShownInput {
  const patch = tool === "apply_patch" ? patchIn(input) : null;
  if (patch !== null) return { form: "diff", text: patch };
  const members = isObject(input) ? input : {};
  const change = editIn(tool, members);
  if (change !== null) return { form: "diff", text: change };
  const plan = planIn(tool, members);
  if (plan !== null) return { form: "arguments", text: planText(plan, input_json) };
  const command = tool.startsWith("mcp__") ? null : commandIn(tool, members, input_json);
  if (command !== null) return command;
  const text = typeof input === "string" ? input : formatJson(input_json, 2);
  return { form: "arguments", text };
}

/** The plan as it was written, below the other arguments, since a plan could contain what looks like them. */
function planText(plan: string, input_json: string): string {
  const others = [...(memberTexts(input_json) ?? [])].filter(([name]) => name !== "plan");
  if (others.length === 0) return plan;
  const json = `{${others.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`;
  return `${formatJson(json, 2)}\n\nplan:\n${plan}`;
}

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Tools of Claude Code, Codex and Gemini CLI that run a command. */
const SHELLS: ReadonlySet<string> = new Set([
  ...["Bash", "PowerShell"],
  ...["shell", "shell_command", "local_shell", "container.exec", "exec_command", "unified_exec"],
  "run_shell_command",
]);

/** Members in which these tools have the agent's own words about a command. */
const WORDS = ["description", "justification"];

/** Members in which Codex and Gemini CLI have the folder where a command runs. */
const FOLDERS = ["workdir", "dir_path"];

/** Members of an input that is shown as a command. Any other member makes it a list of arguments. */
const BESIDE: ReadonlySet<string> = new Set([
  ...["command", "cmd", ...WORDS, ...FOLDERS],
  ...["timeout", "timeout_ms", "yield_time_ms", "max_output_tokens"],
  ...["run_in_background", "is_background", "wait_for_previous", "login", "tty"],
  ...["prefix_rule", "with_escalated_permissions", "sandbox_permissions"],
  "dangerouslyDisableSandbox",
]);

function commandIn(tool: string, members: Members, input_json: string): ShownInput | null {
  const names = Object.keys(members);
  const [name = "", ...more] = names.filter((one) => one === "command" || one === "cmd");
  if (more.length > 0 || !names.every((one) => BESIDE.has(one))) return null;
  if (members.dangerouslyDisableSandbox ?? false) return null;
  if (!WORDS.every((one) => isTextOrAbsent(members[one]))) return null;
  const given = members[name];
  const line: CommandLine | null = typeof given === "string" ? { text: given } : lineOf(given);
  const [at, ...others_at] = names.filter((one) => FOLDERS.includes(one));
  const folder = at === undefined ? "" : members[at];
  if (line === null || others_at.length > 0 || typeof folder !== "string") return null;
  const said = SHELLS.has(tool) ? WORDS.find((one) => hasText(members[one])) : undefined;
  const shown = [name, said, folder === "" ? undefined : at];
  const texts = memberTexts(input_json) ?? new Map<string, string>();
  const others = [
    ...(line.shell ? [`${name}: [${line.shell.map((part) => JSON.stringify(part))},…]`] : []),
    ...[...texts]
      .filter(([one]) => !shown.includes(one))
      .map(([one, text]) => `${one}: ${formatJson(text)}`),
  ].map(oneVisibleLine);
  if (!fits(others.join(), LIMITS.action_field)) return null;
  return {
    form: "command",
    text: line.text,
    others,
    ...(said !== undefined && { words: members[said] as string }),
    ...(folder !== "" && { folder }),
  };
}

const isTextOrAbsent = (value: unknown): boolean =>
  value === undefined || typeof value === "string";

const hasText = (value: unknown): boolean => typeof value === "string" && !isBlank(value);

interface CommandLine {
  readonly text: string;
  /** The shell that runs it, if it is not the tool itself. */
  readonly shell?: readonly string[];
}

/** Writes a list of arguments as a shell command line; for `bash -lc <script>`, the script. */
function lineOf(given: unknown): CommandLine | null {
  if (!Array.isArray(given) || given.length === 0) return null;
  if (!given.every((part): part is string => typeof part === "string")) return null;
  const [shell = "", flag = "", script] = given;
  const runs = /^(\/(usr\/)?bin\/)?(ba|z)?sh$/.test(shell) && /^-l?c$/.test(flag);
  if (runs && given.length === 3) return { text: script!, shell: [shell, flag] };
  return { text: given.map(quoted).join(" ") };
}

const quoted = (part: string): string =>
  /^[\w@%+=:,./-]+$/.test(part) ? part : `'${part.replaceAll("'", `'\\''`)}'`;

/** Finds the patch: the input itself, its only member, or the argument of `apply_patch`; null for another form. */
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

/** The change that a tool of Claude Code makes; null for any other tool or form of input. */
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

/** Names the file. A path with control characters or a leading quote is quoted, so that no two paths look alike. */
const pathLine = (path: string): string =>
  `*** ${/^"|[\p{Cc}\p{Zl}\p{Zp}]/u.test(path) ? JSON.stringify(path) : path}`;

/** The diff of two texts: keeps the lines that both begin or end with, and replaces all lines between. */
function diffOf(before: string, after: string): string[] {
  const [old_lines, new_lines] = [linesOf(before), linesOf(after)];
  const most = Math.min(old_lines.length, new_lines.length);
  let head = 0;
  while (head < most && old_lines[head] === new_lines[head]) head++;
  let tail = 0;
  while (tail < most - head && old_lines.at(-1 - tail) === new_lines.at(-1 - tail)) tail++;
  const old_end = old_lines.length - tail;
  return [
    ...marked(" ", old_lines.slice(0, head)),
    ...marked("-", old_lines.slice(head, old_end)),
    ...marked("+", new_lines.slice(head, new_lines.length - tail)),
    ...marked(" ", old_lines.slice(old_end)),
  ];
}

const linesOf = (text: string): string[] => (text === "" ? [] : text.split("\n"));

const marked = (mark: string, lines: readonly string[]): string[] =>
  lines.map((line) => mark + line);
