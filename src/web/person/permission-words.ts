/** Permission prompts in words (docs/interface.md §2.5.5). */

import type { Question } from "../state/api.ts";

export type Action = NonNullable<Question["action"]>;

/** The one answer that grants nothing. */
export const DENY = "Deny";

/** Names of the clients; `other` has none that Relay knows. */
const CLIENTS: Readonly<Record<Action["client"], string>> = {
  claude_code: "Claude Code",
  codex: "Codex",
  other: "The agent",
};

const ASKS: Readonly<Record<Action["form"], string>> = {
  command: "asks to run a command",
  diff: "asks to change a file",
  arguments: "asks to use a tool",
};

/** What the agent asks for: nothing in it is the agent's. */
export const headlineOf = ({ client, form }: Action): string => `${CLIENTS[client]} ${ASKS[form]}`;

/** What is shown of it, as in "the whole command". */
export const FORMS: Readonly<Record<Action["form"], string>> = {
  command: "command",
  diff: "change",
  arguments: "arguments",
};

/** Characters of a session's id that tell it from the others of a person. */
const SESSION = 8;

/** A session's id in short. */
export function shortSession(session: string): string {
  const characters = [...session];
  return characters.length > SESSION + 1 ? `${characters.slice(0, SESSION).join("")}…` : session;
}

/** What prompts of one session have in common; of every other question its id. */
function sessionOf({ id, key_id, action }: Question): string {
  return typeof action?.session === "string" ? JSON.stringify([key_id, action.session]) : id;
}

/**
 * Pending questions, the next to expire first, and prompts of one session together: where the first of them
 * stands, or stood. `ranks` keeps that from call to call, so that the others stay in place when it is answered.
 */
export function bySession(
  questions: readonly Question[],
  ranks: Map<string, number>,
): readonly (readonly Question[])[] {
  const groups = new Map<string, Question[]>();
  for (const question of questions) {
    const session = sessionOf(question);
    const group = groups.get(session);
    if (group) group.push(question);
    else groups.set(session, [question]);
    ranks.set(
      session,
      Math.min(ranks.get(session) ?? Number.POSITIVE_INFINITY, question.expires_at),
    );
  }
  for (const session of ranks.keys()) if (!groups.has(session)) ranks.delete(session);
  return [...groups].sort(([a], [b]) => ranks.get(a)! - ranks.get(b)!).map(([, group]) => group);
}
