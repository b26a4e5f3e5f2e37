/** Makes the question for a permission request (§2.5.5); pure. */

import { LIMITS } from "../limits.ts";
import type { QuestionAction } from "../model/question.ts";
import { fits, isBlank, isStorable } from "../model/text.ts";
import { type ShownInput, showInput } from "./commands.ts";
import { isOwnTool, USUAL_SERVER } from "./own-tools.ts";
import { lacksPlan } from "./plan-mode.ts";
import type { PermissionRequest } from "./request.ts";
import { sessionGrants } from "./session-grants.ts";
import { makeCompact, oneVisibleLine } from "./visible.ts";

/** The answers that the person can choose. */
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
export type NotAskedReason = "own_tool" | "local_tool" | "no_plan" | "too_long";

/** Tools that open a dialog of Claude Code whatever a hook answers, so an Allow would have no effect. */
const LOCAL: ReadonlySet<string> = new Set([
  "AskUserQuestion",
  "OfferChromeSetup",
  "PublishPlugin",
  "ShowOnboardingRolePicker",
]);

/**
 * The question for a request, or why the person is not asked. `host`: name of the agent's machine; `server`: the
 * client's name for Relay's MCP server. Nothing is cut: a request that does not fit, or cannot be stored unchanged, is
 * not asked.
 */
export function contentOf(
  request: PermissionRequest,
  host: string | null,
  server: string = USUAL_SERVER,
): PermissionContent | NotAskedReason {
  const { client, tool, session, agent } = request;
  if (isOwnTool(tool, server)) return "own_tool";
  if (LOCAL.has(tool)) return "local_tool";
  if (lacksPlan(request)) return "no_plan";
  const { form, text, words: context = null, folder: at, others = [] } = showInput(request);
  const folder = placeOf(request.folder, at === undefined ? "" : oneVisibleLine(at));
  if (isBlank(text) || !isKept(text, LIMITS.action_text)) return "too_long";
  if (folder !== null && !isKept(folder, LIMITS.action_field)) return "too_long";
  if (context !== null && !isKept(context, LIMITS.context)) return "too_long";
  const { described: grants } = sessionGrants(request);
  const granting = grants.length > 0;
  // The home folder is shortened only in the client's own folder, not in one that the arguments name.
  const place = folder !== null && at === undefined ? shortFolder(folder) : folder;
  const { prompt, is_whole } = promptOf({ tool, place, form, text, others });
  return {
    prompt,
    options: [ANSWERS.allow, ANSWERS.deny, ...(granting ? [ANSWERS.session] : [])],
    context,
    action: {
      client,
      tool,
      form,
      folder,
      session,
      host,
      ...(is_whole && { prompt_is_whole: true }),
      ...(others.length > 0 && { other_arguments: [...others] }),
      ...(agent !== null && { agent }),
      ...(granting && { grants: [...grants] }),
      text,
    },
  };
}

/** The folder where a command runs: `at`, which may be relative to the agent's folder. */
const placeOf = (folder: string | null, at: string): string | null =>
  at === "" ? folder : folder === null || /^([/\\~]|[A-Z]:)/i.test(at) ? at : `${folder}/${at}`;

const isKept = (text: string, max: number): boolean => isStorable(text) && fits(text, max);

const NAMES = { command: "The command", diff: "The change", arguments: "The list of arguments" };

/** Characters shown of each part of a request that is too long for a prompt. */
const BEGINNING = { tool: 100, place: 200, others: 200, text: 300 };

/** Marks where a part was cut. No part can contain it, since `⟨` is escaped. */
const CUT = "⟨…⟩";

interface Prompted
  extends Pick<PermissionContent["action"], "tool">,
    Pick<ShownInput, "form" | "text"> {
  /** The folder as it is shown. */
  readonly place: string | null;
  readonly others: readonly string[];
}

/**
 * The prompt, for notifications and for clients that do not know `action`. It says if it does not show the whole
 * request. `is_whole`: nothing was cut, and no run of characters was replaced by its length.
 */
function promptOf({ tool, place, form, text, others }: Prompted) {
  const parts = {
    tool: makeCompact(setOff(tool)),
    place: place === null ? "" : makeCompact(setOff(place)),
    others: makeCompact(others.join(", ")),
    // Otherwise a text could contain what looks like an escaped character.
    text: makeCompact(text.replace(/\\(?=u\{)/g, "\\u{5c}")),
  };
  const join = (shown: typeof parts) => {
    const head = `${shown.tool}${shown.place && ` in ${shown.place}`}${shown.others && ` (${shown.others})`}`;
    return `${head}:${form === "command" ? " " : "\n"}${shown.text}`;
  };
  const whole = join(parts);
  if (fits(whole, LIMITS.prompt)) return { prompt: whole, is_whole: !whole.includes("⟨") };
  const cut = {
    tool: beginningOf(parts.tool, BEGINNING.tool),
    place: beginningOf(parts.place, BEGINNING.place),
    others: beginningOf(parts.others, BEGINNING.others),
    text: beginningOf(parts.text, BEGINNING.text),
  };
  const count = [...text].length.toLocaleString("en");
  const longer =
    cut.text === parts.text
      ? "The request is longer than shown here."
      : `${NAMES[form]} is longer than shown here (${count} characters).`;
  return {
    prompt: `${join(cut)}\n\n${longer} Read it in Relay before you answer.`,
    is_whole: false,
  };
}

/** Quotes a name that could be mistaken for the next part of the prompt. */
const setOff = (name: string): string =>
  /[:"()]/.test(name.replace(/^[A-Z]:/i, "")) ? JSON.stringify(name) : name;

/** Cuts a text to `max` characters, but not within an escape or a mark. */
function beginningOf(text: string, max: number): string {
  if (fits(text, max)) return text;
  const beginning = [...text.slice(0, 2 * max)].slice(0, max).join("");
  return `${beginning.replace(/\\u\{[0-9a-f]*$|⟨[^⟩]*$/, "")}${CUT}`;
}

/** Writes `~` for the home folder, as a shell does. */
const shortFolder = (folder: string): string =>
  folder.replace(/^(\/home\/[^/]+|\/Users\/[^/]+|\/root|[A-Z]:\\Users\\[^\\]+)(?=[/\\]|$)/, "~");
