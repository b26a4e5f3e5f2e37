/**
 * Unsent text. It survives reloads and navigation until the tab is closed. A draft is sent under an
 * idempotency key, so that a repetition is not carried out twice.
 */

import { createIdempotencyKey } from "../../client/idempotency.ts";
import { createListeners } from "../observable.ts";
import type { LateSubject, Refusal } from "./kept-answers.ts";
import { tab } from "./storage.ts";
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
  lookUp(name);
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
  const owner = tab.get(OWNER);
  if (owner !== null && owner !== account_id) tab.clear();
  tab.set(OWNER, account_id);
}

/** Name of the draft of the form that edits this task. */
export const editOf = (task_id: string): string => `edit ${task_id}`;

/** What a draft is about. `status`: null while it can still be sent. */
type Subject = LateSubject & { readonly status: Refusal | null };

const questionOf: SubjectOf = ({ all }, id) => {
  const { key_id, prompt = "", status = "gone" } = all.questions.get(id) ?? {};
  return { id, ...(key_id && { key_id }), prompt, status: status === "pending" ? null : status };
};

type SubjectOf = (store: Store, id: string) => Subject;

/** The subject of a draft, by its kind. A draft's name is its kind and the id of its subject. */
const SUBJECTS: Readonly<Record<string, SubjectOf>> = {
  answer: questionOf,
  note: questionOf,
  edit({ all }, id) {
    const { key_id, title: prompt = "" } = all.tasks.get(id) ?? {};
    return { id, ...(key_id && { key_id }), prompt, status: key_id ? null : "task" };
  },
  message({ all }, id) {
    const key = all.keys.get(id);
    return { id, prompt: key?.label ?? "", status: key ? null : "agent" };
  },
};

/** The text of a draft: as it is, or of the fields of a task that were changed. */
function textOf(value: string | { readonly changes?: Readonly<Record<string, unknown>> }): string {
  if (typeof value === "string") return value.trim();
  const { title, description, status_note } = value.changes ?? {};
  return [title, description, status_note].filter(Boolean).join("\n");
}

/** Questions that this tab has answered: what else was typed for them is not needed. */
const answered = new Set<string>();
/** Notes that the person answers the question here; with false, that it was not answered. */
export const noteAnswered = (id: string, here = true): void => {
  if (here) answered.add(id);
  else answered.delete(id);
};

/** Notes what the draft of this name is about. */
let lookUp: (name: string) => Subject | undefined = () => undefined;

/**
 * Returns a function that removes drafts whose subject has ended, once the lists are loaded. `keep` gets what the person
 * had typed; the draft stays while it returns false.
 */
export function createDraftKeeper(
  store: Store,
  keep: (subject: LateSubject, text: string, why: Refusal) => boolean,
): () => void {
  /** What is known of subjects from before they were deleted. */
  const known = new Map<string, Subject>();
  lookUp = (name) => {
    const [kind = "", id = ""] = name.split(" ");
    const subject = SUBJECTS[kind]?.(store, id);
    if (subject && (subject.status === null || !known.has(id))) known.set(id, subject);
    return subject;
  };
  return () => {
    const late = new Map<string, { texts: string[]; names: string[]; why: Refusal }>();
    for (const name of tab.names().sort()) {
      if (!name.startsWith(PREFIX)) continue;
      const draft = name.slice(PREFIX.length);
      const subject = lookUp(draft);
      if (!subject || store.loads() === 0 || subject.status === null) continue;
      const { id } = subject;
      const found = late.get(id) ?? { texts: [], names: [], why: subject.status };
      found.texts.push(textOf(draftOf<string>(draft)?.value ?? ""));
      found.names.push(name);
      late.set(id, found);
    }
    for (const [id, { texts, names, why }] of late) {
      const text = texts.filter(Boolean).join("\n");
      const { status: _, ...subject } = known.get(id)!;
      if (text !== "" && !answered.has(id) && !keep(subject, text, why)) continue;
      for (const name of names) tab.remove(name);
    }
  };
}

/** What the tab kept when its sign-in ended elsewhere: only in memory, since the browser must forget the account. */
let remembered: readonly (readonly [name: string, value: string])[] = [];

/** Remembers the tab's drafts; call it before its storage is cleared. */
export function rememberDrafts(): void {
  remembered = tab.names().map((name) => [name, tab.get(name) ?? ""]);
}

/** True if the person had typed something. */
export const hasRemembered = (): boolean =>
  remembered.some(([name]) => name.startsWith(PREFIX) && !name.startsWith(`${PREFIX}late `));

/** Call it at a sign-in: drafts of the same account are there again, others are forgotten. */
export function restoreDrafts(account_id: string | null): void {
  const is_same = remembered.some(([name, value]) => name === OWNER && value === account_id);
  for (const [name, value] of is_same ? remembered : []) tab.set(name, value);
  remembered = [];
}
