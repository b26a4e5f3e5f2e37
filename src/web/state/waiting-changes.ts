/**
 * Changes that the person can undo: shown at once, kept in this browser, and sent some seconds later or when
 * the page is left. What is kept goes only once the server has confirmed or refused it.
 */

import { createIdempotencyKey } from "../../client/idempotency.ts";
import { pause, systemTimers } from "../../client/timers.ts";
import { after, machineNow, now } from "../clock.ts";
import { createObservable } from "../observable.ts";
import { faultOf, LATER } from "./api.ts";
import { sendChange, whyNot } from "./change-sender.ts";
import {
  type ChangeAction,
  callOf,
  coversOf,
  isChange,
  isUndoable,
  isUntried,
  replacing,
  type Subject,
  type WaitingChange,
  waits,
  without,
} from "./changes.ts";
import { onLeave, sendLast } from "./last-requests.ts";
import type { Calls } from "./pace.ts";
import { local, scoped, tab, unscoped } from "./storage.ts";
import type { Store } from "./store.ts";

/** Seconds in which a change can be undone. */
const UNDO = 6;
/** Most seconds that the focus or the pointer keeps a change from being sent. */
const HELD = 60;
/** Seconds after which a change that nobody sent gets its time again when the page is opened. */
const STALE = 60;
/** Most changes that can be undone at once while connected; the oldest is sent. */
export const UNDOABLE = 3;
/** Most subjects of one change, and of all that wait. */
export const MOST_CHOSEN = 200;
const MOST = 500;
/** Requests at once. */
const AT_ONCE = 4;
/** Seconds until failed changes are sent again: doubled at each attempt, up to a minute. */
const AGAIN = 5;
const SLOWEST = 60;
/** Seconds to wait for the tab that is sending. */
const TURN = 30;
/** Most seconds that a sign-out waits for changes to be sent. */
const FLUSH = 10;
/** Without Web Locks, seconds that other tabs leave to the one in which the change was made. */
const OTHERS_WAIT = 3;

/** Name in local storage, which is cleared at sign-out. */
const NAME = "changes";
/** Name in session storage of the id of this tab. */
const TAB = "changes-of";

interface Options {
  readonly calls: Calls;
  readonly store: Store;
  /** Aborts at sign-out. */
  readonly ended: AbortSignal;
  /** Id of the account whose changes are kept; null until it is known. */
  readonly accountId: () => string | null;
  /** The token of the session now; null after its end. */
  readonly token: () => string | null;
}

export type WaitingChanges = ReturnType<typeof createWaitingChanges>;

/** The waiting changes of a session. Sends when the store is `live`; follows changes by other tabs. */
export function createWaitingChanges(options: Options) {
  const { calls, store, ended, accountId, token } = options;
  const kept = createObservable<readonly WaitingChange[]>([]);
  /** Changes that were made in this page, which is newer than its tab after a reload. */
  const own = new Set<string>();
  let tab_id = tab.get(TAB);
  /** True if the browser does not store them: then this tab alone knows them. */
  let is_unsaved = false;
  /** Attempts in a row that failed, and when the next one is made. */
  let failures = 0;
  let again_at = 0;
  let cancel: (() => void) | undefined;
  let running: Promise<void> | null = null;
  /** Ends when the requests of a page that was left have been answered. */
  let last_requests: Promise<unknown> | null = null;

  const publish = (changes: readonly WaitingChange[]) => {
    kept.set(changes);
    store.cover(coversOf(changes));
  };
  const stored = () => (is_unsaved ? kept.get() : changesOf(accountId()));
  const read = () => {
    publish(stored());
    schedule();
  };

  /** Applies a change to what is stored, which another tab may have changed. */
  const change = (by: (changes: readonly WaitingChange[]) => readonly WaitingChange[]) => {
    const account_id = accountId();
    if (ended.aborted) return;
    const changes = by(stored()).filter(({ subjects }) => subjects.length > 0);
    try {
      if (changes.length === 0) local.remove(NAME);
      else local.set(NAME, JSON.stringify({ account_id, changes }));
      is_unsaved = false;
    } catch {
      is_unsaved = true;
    }
    publish(changes);
  };
  const edit = (id: string, by: (one: WaitingChange) => WaitingChange) =>
    change((changes) => changes.map((one) => (one.id === id ? by(one) : one)));
  const editSubject = (id: string, subject_id: string, by: (one: Subject) => Subject | null) =>
    edit(id, (one) => ({
      ...one,
      subjects: one.subjects.flatMap((each) =>
        each.id === subject_id ? (by(each) ?? []) : [each],
      ),
    }));
  const find = (id: string, subject_id: string): Subject | undefined =>
    kept
      .get()
      .find((one) => one.id === id)
      ?.subjects.find((one) => one.id === subject_id && waits(one));

  /** Sends at the next due time, if the store is `live`. */
  const schedule = () => {
    cancel?.();
    cancel = undefined;
    if (ended.aborted || running || store.connection() !== "live") return;
    const times = kept
      .get()
      .filter(({ subjects }) => subjects.some(waits))
      .map((one) => dueOf(one));
    if (times.length === 0) return;
    cancel = after(Math.max(Math.min(...times), again_at) - machineNow(), () => void run());
  };
  const dueOf = ({ id, due }: WaitingChange): number =>
    // A clock that was set back must not delay it.
    Math.min(due, machineNow() + HELD) + (navigator.locks || own.has(id) ? 0 : OTHERS_WAIT);

  const run = (): Promise<void> => {
    cancel?.();
    cancel = undefined;
    running ??= inTurn(sendDue).finally(() => {
      running = null;
      if (failures > 0) again_at = machineNow() + Math.min(SLOWEST, AGAIN * 2 ** (failures - 1));
      schedule();
    });
    return running;
  };

  const sendDue = async () => {
    await last_requests;
    publish(stored());
    for (const { id } of kept.get()) {
      const due = kept.get().find((one) => one.id === id && dueOf(one) <= machineNow() + 0.05);
      if (!due || store.connection() !== "live" || ended.aborted) continue;
      const failed = await sendOne(due);
      failures = failed === null ? 0 : failures + 1;
      edit(id, ({ failed: _, ...one }) => (failed === null ? one : { ...one, failed }));
      // What comes later may depend on it.
      if (failed !== null) return;
    }
  };

  /** Sends all subjects, a few at once. Null, or why some of them still wait. */
  const sendOne = async ({ id, action, subjects }: WaitingChange): Promise<string | null> => {
    let failed: string | null = null;
    const left = subjects.filter(waits);
    const work = async () => {
      for (let next = left.shift(); next && failed === null; next = left.shift()) {
        const { id: of } = next;
        try {
          const refused = await sendChange({
            ...{ action, calls, store, ended, subject: next },
            isWaiting: () => find(id, of) !== undefined,
            onTry: (tried) => editSubject(id, of, (one) => ({ ...one, tried })),
          });
          editSubject(id, of, (one) => (refused === null ? null : { ...one, refused }));
        } catch (error) {
          const { code, message } = faultOf(error);
          if (!LATER.has(code)) editSubject(id, of, (one) => ({ ...one, refused: message }));
          else {
            failed = UNANSWERED.has(code) ? "The server can't be reached." : message;
            if (UNDONE.has(code)) editSubject(id, of, ({ tried: _, ...one }) => one);
          }
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return failed;
  };

  /** Sends everything now, without waiting for answers: the page may not live to see them. */
  const leave = () => {
    const current = token();
    if (current === null || ended.aborted || store.connection() === "offline") return;
    if (kept.get().length === 0) return;
    const calls_to_make: ReturnType<typeof callOf>[] = [];
    const begin = (action: ChangeAction, subject: Subject): Subject => {
      const task = store.held("tasks", subject.id);
      if (!isUntried(subject) || (task && whyNot(action, subject, task) !== null)) return subject;
      calls_to_make.push(callOf(action, subject.id));
      return { ...subject, tried: task?.updated_at ?? null };
    };
    change((changes) =>
      changes.map((one) => ({
        ...one,
        // Another tab may be in view, with the button for what was changed there.
        subjects: one.subjects.map((subject) =>
          one.tab === tab_id ? begin(one.action, subject) : subject,
        ),
      })),
    );
    if (calls_to_make.length === 0) return;
    const requests = sendLast(current, calls_to_make);
    last_requests = requests;
    // If the page lives on, it finds out what became of them.
    void requests.then(() => {
      if (last_requests === requests) last_requests = null;
      void run();
    });
  };

  let was_live = store.connection() === "live";
  const stop = store.subscribe(() => {
    const is_live = store.connection() === "live";
    if (is_live !== was_live) {
      failures = again_at = 0;
      was_live = is_live;
      read();
    }
  });
  ended.addEventListener("abort", () => {
    stop();
    cancel?.();
  });
  onLeave(leave, ended);
  const onStorage = ({ key }: StorageEvent) => {
    if (!is_unsaved && (key === null || unscoped(key) === NAME)) read();
  };
  window.addEventListener("storage", onStorage, { signal: ended });
  // Nobody was there to undo it.
  const is_stale = (one: WaitingChange) => isUndoable(one) && one.due < machineNow() - STALE;
  if (stored().some(is_stale)) {
    change((changes) =>
      changes.map((one) => (is_stale(one) ? { ...one, due: machineNow() + UNDO } : one)),
    );
  }
  read();

  return {
    /** The changes that wait or were refused, the oldest first; another array after each change. */
    all: kept.get,

    subscribe: kept.subscribe,

    /** The changes that the server has not confirmed, without refused subjects. */
    waiting: (): readonly WaitingChange[] =>
      kept
        .get()
        .map((one) => ({ ...one, subjects: one.subjects.filter(waits) }))
        .filter(({ subjects }) => subjects.length > 0),

    /** True if the change was made in this page. */
    isOwn: (id: string): boolean => own.has(id),

    /** Makes a change, which can be undone for {@link UNDO} seconds; false if too many wait. */
    add(action: ChangeAction, subjects: readonly Subject[]): boolean {
      if (accountId() === null) return false;
      const waiting = kept.get().flatMap((one) => one.subjects);
      if (subjects.length > MOST_CHOSEN || waiting.length + subjects.length > MOST) return false;
      const id = createIdempotencyKey();
      own.add(id);
      const of_tab = tab_id ?? newTab();
      tab_id = of_tab;
      change((changes) => [
        ...without(changes, subjects),
        {
          ...{ id, action, tab: of_tab, at: now(), due: machineNow() + UNDO },
          subjects: action === "delete" ? replacing(changes, subjects) : subjects,
        },
      ]);
      const open = kept.get().filter(isUndoable);
      for (const one of store.connection() === "live" ? open.slice(0, -UNDOABLE) : []) {
        edit(one.id, (older) => ({ ...older, due: machineNow() }));
      }
      schedule();
      return true;
    },

    /** Takes a change back, unless some of it was sent. Returns it if it was taken back. */
    undo(id: string): WaitingChange | null {
      const found = stored().find((one) => one.id === id);
      if (!found || !isUndoable(found)) return null;
      const due = machineNow() + UNDO;
      const earlier = found.subjects.flatMap(({ after: action, ...subject }) =>
        action ? [{ ...found, id: createIdempotencyKey(), action, due, subjects: [subject] }] : [],
      );
      change((changes) => [...changes.filter((one) => one.id !== id), ...earlier]);
      schedule();
      return found;
    },

    /** Takes back what waits for one task, since the person decides about it anew; false if nothing does. */
    release(task_id: string): boolean {
      const of = kept.get().flatMap(({ subjects }) => subjects);
      const found = of.some((one) => one.id === task_id && isUntried(one));
      if (found) change((changes) => without(changes, [{ id: task_id }]));
      schedule();
      return found;
    },

    /** Keeps a change from being sent while the person is at its button; afterwards its time begins again. */
    hold(id: string, is_held: boolean): void {
      const found = kept.get().find((one) => one.id === id);
      if (!found || !isUndoable(found)) return;
      edit(id, (one) => ({ ...one, due: machineNow() + (is_held ? HELD : UNDO) }));
      schedule();
    },

    /** Forgets refused subjects, which the person has seen. */
    dismiss(id: string): void {
      edit(id, (one) => ({ ...one, subjects: one.subjects.filter(waits) }));
    },

    /** Sends everything now. Resolves once that was tried, or after {@link FLUSH}. */
    async flush(): Promise<void> {
      if (kept.get().length === 0) return;
      const passed = pause(systemTimers, FLUSH);
      await Promise.race([running, passed]);
      change((changes) => changes.map((one) => ({ ...one, due: machineNow() })));
      await Promise.race([run(), passed]);
    },
  };
}

/** Codes after which it is unknown whether the server made the change. */
const UNANSWERED: ReadonlySet<string> = new Set(["offline", "unanswered", "repeatable"]);
/** Codes after which it is certain that it did not. */
const UNDONE: ReadonlySet<string> = new Set(["rate_limited", "unauthorized"]);

/** Runs the work while no other tab does. */
async function inTurn(work: () => Promise<void>): Promise<void> {
  const signal = AbortSignal.timeout(TURN * 1000);
  let has_begun = false;
  const begin = () => {
    has_begun = true;
    return work();
  };
  try {
    await (navigator.locks?.request(scoped(NAME), { signal }, begin) ?? begin());
  } catch (error) {
    if (has_begun) throw error;
    // A tab that the browser has stopped may hold the lock.
    await begin();
  }
}

/** Gives this tab an id, which a reload keeps if the browser stores it. */
function newTab(): string {
  const id = createIdempotencyKey();
  try {
    tab.set(TAB, id);
  } catch {
    // The page alone knows it.
  }
  return id;
}

function changesOf(account_id: string | null): readonly WaitingChange[] {
  try {
    const found = JSON.parse(local.get(NAME) ?? "null");
    return found?.account_id === account_id ? [found.changes].flat().filter(isChange) : [];
  } catch {
    return [];
  }
}

/** Changes that were not made because the sign-in was ended elsewhere: in the memory of this tab. */
export const unmadeChanges = createObservable<readonly WaitingChange[]>([]);
