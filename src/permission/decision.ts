/** Formats a decision for the client that asked (§12.6.5); pure. */

import { formatJson } from "../exact-json.ts";
import { ANSWERS, type Unasked } from "./content.ts";
import { sessionGrants } from "./grants.ts";
import { needsInput } from "./plan.ts";
import type { PermissionRequest } from "./request.ts";

/** How a request ended; `answer` is null when nobody answered, and then nothing is permitted. */
export interface RequestOutcome {
  readonly answer: string | null;
  readonly note?: string | undefined;
}

type Caller = Pick<PermissionRequest, "call">;
type Why = Unasked | "unreadable";

const WHY: Readonly<Record<Why, string>> = {
  own_tool: "Relay does not ask about this tool: permit it in the settings of the client.",
  local_tool: "Relay does not ask about this tool: only the client itself can show its dialog.",
  no_plan: "The request has no plan that the person could read.",
  too_long: "The request is too long to be asked.",
  unreadable: "The input of the tool cannot be read.",
};

/** The text for a request that was answered, or that nobody answered. */
export function decisionText(request: PermissionRequest, { answer, note }: RequestOutcome): string {
  const allows = answer === ANSWERS.allow || answer === ANSWERS.session;
  if (!allows && answer !== ANSWERS.deny) return withoutAnswer(request, "Nobody answered.");
  const message = note ?? "The person denied this.";
  const denial = JSON.stringify({ behavior: "deny", message });
  // Not by way of a value: its numbers would be written in another way.
  const input = `"updatedInput":${formatJson(request.input_json)}`;
  if (request.call === "tool") return allows ? `{"behavior":"allow",${input}}` : denial;
  if (!allows) return hookText(denial);
  const { updates } = sessionGrants(request);
  const grants = answer === ANSWERS.session && updates.length > 0;
  const members = [
    '"behavior":"allow"',
    ...(needsInput(request) ? [input] : []),
    ...(grants ? [`"updatedPermissions":${JSON.stringify(updates)}`] : []),
  ];
  return hookText(`{${members.join()}}`);
}

/** The text for a request that the person was not asked about. */
export const unaskedText = (request: Caller, why: Why): string => withoutAnswer(request, WHY[why]);

/** For a hook, an empty text leaves the decision to the client's own prompt. */
const withoutAnswer = ({ call }: Caller, message: string): string =>
  call === "hook" ? "" : JSON.stringify({ behavior: "deny", message });

/** `decision`: the JSON of one. */
const hookText = (decision: string): string =>
  `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":${decision}}}`;
