/**
 * Unsent text. It survives reloads and navigation until the tab is closed. A draft is sent under an
 * idempotency key, so that a repetition is not carried out twice.
 */

import { createIdempotencyKey } from "../../client/idempotency.ts";
import { createListeners } from "../observable.ts";
import type { Question } from "./api.ts";
import { copyShared, tab } from "./storage.ts";
import type { Store } from "./store.ts";

const PREFIX = "draft.";
/** Id of the account that the drafts belong to. */
const OWNER = "drafts-of";

interface Draft<T> {
  readonly value: T;
  /** The idempotency key it was sent under, while unconfirmed and unchanged; null: not sent. */
  readonly sent_as: string | null;
}

/** The draft of this name; null if there is none. */
export function draftOf<T>(name: string): Draft<T> | null {
  const kept = tab.get(PREFIX + name);
  return kept === null ? null : (JSON.parse(kept) as Draft<T>);
}

/** Saves a draft. A changed value must be sent under another key, so `sent_as` is then null. */
export function keepDraft<T>(name: string, value: T, sent_as: string | null = null): void {
  try {
    tab.set(PREFIX + name, JSON.stringify({ value, sent_as }));
  } catch {
    // Storage is full: the draft is lost with the tab.
  }
}

/** Removes a draft, and tells the listeners of {@link onForgotten}. */
export const forgetDraft = (name: string): void => {
  tab.remove(PREFIX + name);
  forgotten.tell(name);
};

const forgotten = createListeners<[name: string]>();

/** Calls a listener with the name of each draft that is forgotten. */
export const onForgotten = forgotten.subscribe;

/** True if the draft is unchanged since it was sent under this key. */
export const isAsSent = (name: string, key: string): boolean => draftOf(name)?.sent_as === key;

/** The key to send the draft under: the same until it is changed or forgotten. */
export function sendDraft<T>(name: string, value: T): string {
  const key = draftOf<T>(name)?.sent_as ?? createIdempotencyKey();
  keepDraft(name, value, key);
  return key;
}

/** Makes this account the owner of the tab's drafts; removes those of another account. */
export function keepDraftsOf(account_id: string): void {
  // Take over what an earlier version kept in this tab, unless it has drafts of its own.
  if (tab.get(OWNER) === null) copyShared(sessionStorage);
  const owner = tab.get(OWNER);
  if (owner !== null && owner !== account_id) tab.clear();
  tab.set(OWNER, account_id);
}

/** Name of the draft of the form that edits this task. */
export const editOf = (task_id: string): string => `edit ${task_id}`;

function isPending({ held }: Store, id: string): boolean {
  return held("questions", id)?.status === "pending";
}

/**
 * True if the subject of a draft still needs it, by the kind of draft. A draft's name is its kind
 * and the id of its subject.
 */
const FOR: Readonly<Record<string, (store: Store, id: string) => boolean>> = {
  answer: isPending,
  note: isPending,
  edit: ({ held }, id) => held("tasks", id) !== undefined,
  message: ({ held }, id) => held("keys", id) !== undefined,
};

/**
 * Called with a question that expired while its answer was being written, and with the text so far.
 */
export type OnLate = (question: Question, text: string) => void;

/** Removes drafts whose subject is gone or closed, once the lists are loaded. */
export function forgetObsoleteDrafts(store: Store, onLate: OnLate): void {
  if (store.loads() === 0) return;
  const late = new Map<Question, string>();
  for (const name of tab.names().sort()) {
    if (!name.startsWith(PREFIX)) continue;
    const [kind = "", id = ""] = name.slice(PREFIX.length).split(" ");
    if (FOR[kind]?.(store, id) !== false) continue;
    const question = store.held("questions", id);
    if ((kind === "answer" || kind === "note") && question?.status === "expired") {
      const text = draftOf<string>(name.slice(PREFIX.length))?.value.trim() ?? "";
      if (text !== "") late.set(question, [late.get(question) ?? [], text].flat().join("\n"));
    }
    tab.remove(name);
  }
  for (const [question, text] of late) onLate(question, text);
}
