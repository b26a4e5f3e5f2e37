/** Words and order of permission prompts (§2.5.5). */

import type { Question } from "../../state/api.ts";

export type Action = NonNullable<Question["action"]>;

/** The one answer that grants nothing. */
export const DENY = "Deny";

/** Names of the clients; `other` is one that Relay does not know. */
const CLIENTS: Readonly<Record<Action["client"], string>> = {
  claude_code: "Claude Code",
  codex: "Codex",
  other: "The agent",
};

const ASKS: Readonly<Record<Action["form"], string>> = {
  command: "wants to run a command",
  diff: "wants to change a file",
  arguments: "wants to use a tool",
};

/** What the agent asks for, in Relay's words only, none of the agent's. */
export const headlineOf = ({ client, form }: Action): string => `${CLIENTS[client]} ${ASKS[form]}`;

/** Nouns for the forms, as in "the whole command". */
export const FORMS: Readonly<Record<Action["form"], string>> = {
  command: "command",
  diff: "change",
  arguments: "list of arguments",
};

/** Characters of a session's id that are shown: enough to tell a person's sessions apart. */
const SESSION = 8;

/** A session's id in short. */
export function shortSession(session: string): string {
  const characters = [...session];
  return characters.length > SESSION + 1 ? `${characters.slice(0, SESSION).join("")}…` : session;
}

/** A name that all prompts of one session share; for any other question, its id. */
function sessionOf({ id, key_id, action }: Question): string {
  return typeof action?.session === "string" ? JSON.stringify([key_id, action.session]) : id;
}

/**
 * Groups pending questions: the prompts of one session together, any other question alone. Groups
 * are sorted by the earliest expiry that the group has had. `ranks` keeps that from call to call,
 * so that a group stays in place when its first prompt is answered.
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
