/** Makes the question for a request for permission (docs/interface.md §2.5.5); pure. */

import { LIMITS } from "../limits.ts";
import type { QuestionAction } from "../model/question.ts";
import { fits, isBlank, isStorable } from "../plain-text.ts";
import { showInput } from "./commands.ts";
import { sessionGrants } from "./grants.ts";
import { OWN_TOOLS } from "./own-tools.ts";
import type { PermissionRequest } from "./request.ts";
import { makeCompact, oneVisibleLine } from "./visible.ts";

/** What the person can answer. */
export const ANSWERS = {
  allow: "Allow",
  deny: "Deny",
  session: "Allow for this session",
} as const;

/** A question of the kind `choice`. */
export interface PermissionContent {
  readonly prompt: string;
  readonly options: readonly string[];
  /** The agent's own words. */
  readonly context: string | null;
  readonly action: QuestionAction & { readonly text: string };
}

/** Why the person is not asked. */
export type Unasked = "own_tool" | "too_long";

/** Tools of the client that the person must answer in the client itself. */
const LOCAL = ["AskUserQuestion"];

/**
 * The question for a request, or why the person is not asked. `host`: the name of the agent's
 * machine. Nothing is cut: a request that does not fit, or cannot be stored unchanged, is not
 * asked.
 */
export function contentOf(
  request: PermissionRequest,
  host: string | null,
): PermissionContent | Unasked {
  const { client, tool, session } = request;
  if (isOwn(tool) || LOCAL.includes(tool)) return "own_tool";
  const { form, text, words, folder: at } = showInput(tool, request.input);
  const folder = placeOf(request.folder, at === undefined ? "" : oneVisibleLine(at));
  const context = words === undefined || isBlank(words) ? null : words;
  if (isBlank(text) || !isKept(text, LIMITS.action_text)) return "too_long";
  if (folder !== null && !isKept(folder, LIMITS.action_field)) return "too_long";
  if (context !== null && !isKept(context, LIMITS.context)) return "too_long";
  const { described: grants } = sessionGrants(request);
  const granting = grants.length > 0;
  return {
    prompt: promptOf({ tool, folder, form, text }),
    options: [ANSWERS.allow, ANSWERS.deny, ...(granting ? [ANSWERS.session] : [])],
    context,
    action: {
      client,
      tool,
      form,
      folder,
      session,
      host,
      ...(granting && { grants: [...grants] }),
      text,
    },
  };
}

/** Where a command runs: `at`, which may be relative to the folder of the agent. */
const placeOf = (folder: string | null, at: string): string | null =>
  at === "" ? folder : folder === null || /^([/\\~]|[A-Z]:)/i.test(at) ? at : `${folder}/${at}`;

const isKept = (text: string, max: number): boolean => isStorable(text) && fits(text, max);

/** Whether a tool is Relay's own, whatever name the client has for the server. */
function isOwn(tool: string): boolean {
  const [prefix, ...rest] = tool.split("__");
  return prefix === "mcp" && rest.length > 1 && OWN_TOOLS.has(rest.at(-1)!);
}

const NAMES = { command: "The command", diff: "The change", arguments: "The list of arguments" };

/** Characters shown of a text that is too long for a prompt. */
const BEGINNING = 300;

type Prompted = Pick<PermissionContent["action"], "tool" | "folder" | "form" | "text">;

/**
 * The prompt, for notifications and for clients that do not know `action`. It says so if it does
 * not show the whole request.
 */
function promptOf({ tool, folder, form, text }: Prompted): string {
  const place = folder === null ? "" : ` in ${shortFolder(folder)}`;
  const head = `${tool}${place}:${form === "command" ? " " : "\n"}`;
  const whole = makeCompact(head + text);
  if (fits(whole, LIMITS.prompt)) return whole;
  const points = [...text];
  const beginning = makeCompact(head + points.slice(0, BEGINNING).join(""));
  const count = points.length.toLocaleString("en");
  const notice = `${NAMES[form]} is longer than shown here (${count} characters). Read it in Relay before you answer.`;
  const cut = `${beginning}…\n\n${notice}`;
  return fits(cut, LIMITS.prompt) ? cut : `${makeCompact(tool)}:\n${notice}`;
}

/** With `~` for the home folder, as a shell shows it. */
const shortFolder = (folder: string): string =>
  folder.replace(/^(\/home\/[^/]+|\/Users\/[^/]+|\/root|[A-Z]:\\Users\\[^\\]+)(?=[/\\]|$)/, "~");
