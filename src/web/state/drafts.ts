/**
 * What was typed and not sent: as long as its tab lives, neither a reload nor going elsewhere loses
 * it. Each has a key to send it under, so that what the server may have done is not done twice.
 */

import { createIdempotencyKey } from "../../client/idempotency.ts";
import type { Store } from "./store.ts";

const PREFIX = "relay.draft.";
/** Id of the account whose drafts these are. */
const OWNER = "relay.drafts-of";

export interface Draft<T> {
  readonly value: T;
  /** Once it was sent as it is, and the server did not say that it has it. */
  readonly sent_as: string | null;
}

/** What was kept under this name; null for nothing. */
export function draftOf<T>(name: string): Draft<T> | null {
  const kept = sessionStorage.getItem(PREFIX + name);
  return kept === null ? null : (JSON.parse(kept) as Draft<T>);
}

/** Keeps it as it is now; a change of it is something else to be sent. */
export function keepDraft<T>(name: string, value: T, sent_as: string | null = null): void {
  try {
    sessionStorage.setItem(PREFIX + name, JSON.stringify({ value, sent_as }));
  } catch {
    // The browser has no room: then it is lost with the tab, as it would be without this.
  }
}

export const forgetDraft = (name: string): void => {
  sessionStorage.removeItem(PREFIX + name);
  for (const listener of [...listeners]) listener(name);
};

const listeners = new Set<(name: string) => void>();

/** Called with the name of each draft that is forgotten. */
export function onForgotten(listener: (name: string) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether it is still as it was sent under this key. */
export const isAsSent = (name: string, key: string): boolean => draftOf(name)?.sent_as === key;

/** The key to send it under: the same again until it is changed or forgotten. */
export function sendDraft<T>(name: string, value: T): string {
  const key = draftOf<T>(name)?.sent_as ?? createIdempotencyKey();
  keepDraft(name, value, key);
  return key;
}

/** Takes away what another account left in this tab. */
export function keepDraftsOf(account_id: string): void {
  const owner = sessionStorage.getItem(OWNER);
  if (owner !== null && owner !== account_id) sessionStorage.clear();
  sessionStorage.setItem(OWNER, account_id);
}

/** What the form for the changes to this task keeps its draft under. */
export const editOf = (task_id: string): string => `edit ${task_id}`;

/** What a draft is for, by the first word of its name; the second is an id. */
const FOR: Readonly<Record<string, (store: Store, id: string) => boolean>> = {
  answer: ({ all }, id) => all.questions.get(id)?.status === "pending",
  edit: ({ all }, id) => all.tasks.has(id),
  message: ({ all }, id) => all.keys.has(id),
};

/** Forgets what was typed for what is gone or over, once it is known what there is. */
export function forgetPointless(store: Store): void {
  if (store.loads() === 0) return;
  for (const name of Object.keys(sessionStorage)) {
    if (!name.startsWith(PREFIX)) continue;
    const [kind = "", id = ""] = name.slice(PREFIX.length).split(" ");
    if (FOR[kind]?.(store, id) === false) sessionStorage.removeItem(name);
  }
}
