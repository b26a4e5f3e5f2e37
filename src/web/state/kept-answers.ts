/**
 * Answers that the server has not confirmed: kept in this browser, sent when the server can be
 * reached, each under one idempotency key (§5.7.4, §8).
 */

import { createIdempotencyKey } from "../../client/idempotency.ts";
import { createListeners, createObservable } from "../observable.ts";
import { faultOf, LATER, type Question, UNKNOWN_SIGN_IN, withIdempotencyKey } from "./api.ts";
import type { Calls } from "./pace.ts";
import { createSender } from "./sender.ts";
import { local, scoped, unscoped } from "./storage.ts";
import type { Store } from "./store.ts";

/** An answer, and the note that the person adds to it. */
export interface GivenAnswer {
  readonly answer: string;
  readonly note?: string;
}

/** An answer that waits for the server, or that it refused. */
export interface KeptAnswer extends GivenAnswer {
  readonly question_id: string;
  /** The agent that asked; absent if that is not known. */
  readonly key_id?: string;
  /** The beginning of the prompt, for the person: the question itself may be gone by then. */
  readonly prompt: string;
  /** The idempotency key that it is sent under. */
  readonly key: string;
  /** It was still being written when the question ended. */
  readonly draft?: true;
  /** Why it can no longer be given; null while it waits. */
  readonly refused: Refusal | null;
  /** Who refused it and why, or why it still waits: a message for the person. */
  readonly reason?: string;
}

/**
 * How the question ended, or `gone`; `task` and `agent`: a text for one that was deleted; `invalid` if the server, or a program on the way to it, does not accept
 * this answer.
 */
export type Refusal =
  | Exclude<Question["status"], "pending">
  | "gone"
  | "task"
  | "agent"
  | "invalid";

/** Name in local storage, which is cleared at sign-out. */
const NAME = "answers";
/** Most answers that are kept. */
const MOST = 200;
/** Characters kept of a prompt. */
const PROMPT = 120;

/** The beginning of a prompt. It stays the same if it is shortened again. */
export const beginningOf = (prompt: string): string =>
  prompt.length > PROMPT ? `${prompt.slice(0, PROMPT).toWellFormed()}…` : prompt;

/** Seconds until unconfirmed answers are sent again: doubled at each attempt, up to a minute. */
const AGAIN = 5;
const SLOWEST = 60;

/** Codes of {@link LATER} whose message the person sees with the waiting answer. */
const TELLING: ReadonlySet<string> = new Set(["unauthorized", "store_unavailable", "internal"]);

interface KeptAnswersOptions {
  readonly calls: Calls;
  readonly store: Store;
  /** Aborts at sign-out. */
  readonly ended: AbortSignal;
  /** Id of the account whose answers are kept; null until it is known. */
  readonly accountId: () => string | null;
}

/** What a text was about: a question, a task or an agent. `prompt`: its text, title or name; empty if not known. */
export interface LateSubject extends Pick<KeptAnswer, "key_id" | "prompt"> {
  readonly id: string;
}

export type KeptAnswers = ReturnType<typeof createKeptAnswers>;

/** The kept answers of a session. Sends when the store is `live`; follows changes by other tabs. */
export function createKeptAnswers({ calls, store, ended, accountId }: KeptAnswersOptions) {
  const kept = createObservable<readonly KeptAnswer[]>([]);
  const sent = createListeners();
  /** Attempts in a row that the server did not accept. */
  let failures = 0;

  const read = () => kept.set(answersOf(accountId()));

  /**
   * Applies a change to the stored answers, which another tab may have changed; false if they
   * cannot be stored.
   */
  const change = (by: (answers: readonly KeptAnswer[]) => readonly KeptAnswer[]): boolean => {
    const account_id = accountId();
    if (ended.aborted || account_id === null) return false;
    const answers = by(answersOf(account_id));
    try {
      keep({ account_id, answers });
    } catch {
      return false;
    }
    read();
    return true;
  };
  const drop = (question_id: string) =>
    change((answers) => answers.filter((one) => one.question_id !== question_id));
  /** The server has the answer that was sent under this key. */
  const confirm = (key: string) => {
    change((answers) => answers.filter((one) => one.key !== key));
    sent.tell();
  };
  /** Notes why an answer was refused; null: it still waits. */
  const refuse = (key: string, refused: Refusal | null, reason?: string) =>
    change((answers) =>
      answers.map((one) =>
        one.key === key ? { ...one, refused, ...(reason !== undefined && { reason }) } : one,
      ),
    );

  const send = async () => {
    for (const one of kept.get()) {
      if (store.connection() !== "live" || ended.aborted) break;
      // Another tab may have sent it, and the person may have taken it back.
      if (one.refused !== null || !kept.get().some(({ key }) => key === one.key)) continue;
      const code = await sendOne(one);
      const waits = code !== null && LATER.has(code);
      failures = waits ? failures + 1 : 0;
      if (waits) break;
    }
    return Math.min(SLOWEST, AGAIN * 2 ** Math.max(0, failures - 1));
  };

  /** Sends one answer. Null if the server has accepted it, else the fault's code. */
  const sendOne = async (one: KeptAnswer): Promise<string | null> => {
    const { question_id, answer, note, key } = one;
    try {
      const given = { question_id, answer, ...(note !== undefined && { note }) };
      const answered = await calls.pace.call(ended, () =>
        calls.api.questions.answer.mutate(given, withIdempotencyKey(key)),
      );
      confirm(key);
      store.put("questions", answered);
      return null;
    } catch (error) {
      const { code, message } = faultOf(error);
      if (LATER.has(code)) {
        const reason = code === "unauthorized" ? UNKNOWN_SIGN_IN : message;
        if (TELLING.has(code) && one.reason !== reason) refuse(key, null, reason);
        return code;
      }
      const found = await calls.api.questions.get.query({ question_id }).catch(faultOf);
      if ("message" in found) {
        if (code === "question_not_pending" && LATER.has(found.code)) return found.code;
        if (found.code === "not_found") refuse(key, "gone");
        // Whatever refused the answer may refuse this request too.
        else refuse(key, "invalid", message);
      } else if (found.status === "answered" && found.answer === answer) {
        // The server has forgotten the key of the attempt whose response was lost.
        confirm(key);
      } else if (found.status === "pending") refuse(key, "invalid", message);
      else refuse(key, found.status);
      if (!("message" in found)) store.put("questions", found);
      return code;
    }
  };

  const { arm } = createSender({
    ...{ store, ended, send },
    isWaiting: () => kept.get().some(({ refused }) => refused === null),
    onLive: () => {
      read();
      return 0;
    },
  });
  const onStorage = ({ key }: StorageEvent) => {
    if (key === null || unscoped(key) === NAME) read();
  };
  window.addEventListener("storage", onStorage, { signal: ended });
  read();

  return {
    /** The kept answers; another array after each change. */
    all: kept.get,

    subscribe: kept.subscribe,

    /** Calls a listener when the server has accepted an answer that waited. */
    onSent: sent.subscribe,

    /**
     * Keeps an answer to send it later, or to show why it was `refused`; false if it cannot be
     * kept. Answers to permission prompts never are, to be sent: what they allow may have changed by then.
     */
    add(
      { id, key_id, prompt, action }: Question,
      given: GivenAnswer & Pick<KeptAnswer, "key" | "draft">,
      refused: Refusal | null = null,
    ): boolean {
      const others = kept.get().filter(({ question_id }) => question_id !== id);
      if ((action && refused === null) || others.length >= MOST) return false;
      const one = { ...given, question_id: id, key_id, prompt: beginningOf(prompt), refused };
      const added = change((answers) => [
        ...answers.filter(({ question_id }) => question_id !== id),
        one,
      ]);
      if (added && store.connection() === "live") arm(AGAIN);
      return added;
    },

    /**
     * Keeps a text that was still being written when its `subject` ended, below another one that is kept; false if it
     * cannot be kept now.
     */
    addLate(subject: LateSubject, text: string, why: Refusal): boolean {
      const { id, key_id, prompt } = subject;
      const before = kept.get().find(({ question_id }) => question_id === id);
      // Its own answer still waits.
      if (before?.refused === null) return false;
      if (before && `${before.answer}\n${before.note}`.includes(text)) return true;
      const answer = before ? `${before.answer}\n${text}` : text;
      const one: KeptAnswer = {
        question_id: id,
        ...(key_id !== undefined && { key_id }),
        prompt: beginningOf(prompt),
        answer,
        key: createIdempotencyKey(),
        refused: why,
        draft: true,
      };
      if (!before && kept.get().length >= MOST) return false;
      return change((answers) => [...answers.filter((other) => other.question_id !== id), one]);
    },

    /** Sends a refused answer once more: the person asks for it. */
    retry(question_id: string): void {
      change((answers) =>
        answers.map((one) =>
          one.question_id === question_id ? withoutReason({ ...one, refused: null }) : one,
        ),
      );
      arm(0);
    },

    /** Forgets an answer: the person takes it back, or has seen that it was refused. */
    drop: (question_id: string): void => void drop(question_id),
  };
}

function answersOf(account_id: string | null): readonly KeptAnswer[] {
  try {
    const stored: StoredAnswers | null = JSON.parse(local.get(NAME) ?? "null");
    return stored?.account_id === account_id ? stored.answers : [];
  } catch {
    return [];
  }
}

const withoutReason = ({ reason: _, ...rest }: KeptAnswer): KeptAnswer => rest;

interface StoredAnswers {
  readonly account_id: string | null;
  readonly answers: readonly KeptAnswer[];
}

function keep({ account_id, answers }: StoredAnswers): void {
  if (answers.length === 0) local.remove(NAME);
  else local.set(NAME, JSON.stringify({ account_id, answers }));
}

const NONE: readonly KeptAnswer[] = [];
/**
 * Answers that had not been sent when their sign-in was ended elsewhere: only in the memory of the
 * open tabs, since the browser must forget the account.
 */
const unsent = createObservable<StoredAnswers | null>(null);
/** The tab that learns of the end first tells the others: the person may look at any. */
const tabs = new BroadcastChannel(scoped("unsent"));
tabs.addEventListener("message", ({ data }: MessageEvent<StoredAnswers>) => unsent.set(data));

export const unsentAnswers = (): readonly KeptAnswer[] => unsent.get()?.answers ?? NONE;
export const onUnsent = unsent.subscribe;

/** Remembers them; call it before local storage is cleared. */
export function rememberUnsent(account_id: string | null): void {
  const answers = answersOf(account_id).filter(({ refused }) => refused === null);
  // Another tab may have been first.
  if (answers.length === 0) return;
  const stored = { account_id, answers };
  unsent.set(stored);
  tabs.postMessage(stored);
}

/**
 * Call it at a sign-in, in this tab or another: answers of the same account are sent then, others
 * are forgotten.
 */
export function restoreUnsent(account_id: string | null): void {
  const remembered = unsent.get();
  if (remembered?.account_id === account_id) {
    const kept = answersOf(account_id);
    const ids = new Set(kept.map(({ question_id }) => question_id));
    const restored = remembered.answers.filter(({ question_id }) => !ids.has(question_id));
    keep({ account_id, answers: [...kept, ...restored] });
  }
  unsent.set(null);
}
