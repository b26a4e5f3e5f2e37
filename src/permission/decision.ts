/** Formats a decision for the client that asked (§12.6.5); pure. */

import { formatJson } from "../exact-json.ts";
import { ANSWERS, type NotAskedReason } from "./content.ts";
import { needsInput } from "./plan-mode.ts";
import type { PermissionRequest } from "./request.ts";
import { sessionGrants } from "./session-grants.ts";

/** How a request ended. */
interface RequestOutcome {
  /** Null when nobody answered: nothing is permitted. */
  readonly answer: string | null;
  readonly note?: string | undefined;
}

type Caller = Pick<PermissionRequest, "call">;
type Reason = NotAskedReason | "unreadable";

const REASONS: Readonly<Record<Reason, string>> = {
  own_tool: "Relay does not ask about this tool: permit it in the client's settings.",
  local_tool: "Relay does not ask about this tool: only the client itself can show its dialog.",
  no_plan: "The request has no plan that the person could read.",
  too_long: "The request is too long to show in full.",
  unreadable: "The input of the tool cannot be read.",
};

/** The response to a request that has ended. */
export function decisionText(request: PermissionRequest, { answer, note }: RequestOutcome): string {
  const allows = answer === ANSWERS.allow || answer === ANSWERS.session;
  if (!allows && answer !== ANSWERS.deny) return withoutAnswer(request, "Nobody answered.");
  const message = note ?? "The person denied this.";
  const denial = JSON.stringify({ behavior: "deny", message });
  // Formatted as text: parsing would change how its numbers are written.
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

/** The response to a request that the person was not asked about. */
export const unaskedText = (request: Caller, reason: Reason): string =>
  withoutAnswer(request, REASONS[reason]);

/** For a hook, an empty text leaves the decision to the client's own prompt. */
const withoutAnswer = ({ call }: Caller, message: string): string =>
  call === "hook" ? "" : JSON.stringify({ behavior: "deny", message });

/** `decision`: the JSON of one. */
const hookText = (decision: string): string =>
  `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":${decision}}}`;
