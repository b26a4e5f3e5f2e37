/**
 * What the page knows of the account: filled from the lists after each connect, changed by events
 * after that. Whoever shows it is told once a frame at the most.
 */

import { after, now } from "../clock.ts";
import type { Account, Key, Question, Status, Task } from "./api.ts";
import { createTaskOrder } from "./order.ts";

/**
 * `live`: what is shown is what is. `connecting`: not known for now. `offline`: it is not. `resting`:
 * nobody looks, and another page of this browser has the stream.
 */
export type Link = "connecting" | "live" | "offline" | "resting";

export interface Resources {
  readonly keys: Key;
  readonly tasks: Task;
  readonly questions: Question;
}
export type Kind = keyof Resources;

/** Seconds after which a change is told though no frame came: a hidden page draws none. */
const NO_FRAME = 0.25;

export type Store = ReturnType<typeof createStore>;

export function createStore() {
  const all = {
    keys: new Map<string, Key>(),
    tasks: new Map<string, Task>(),
    questions: new Map<string, Question>(),
  };
  const versions = { keys: 0, tasks: 0, questions: 0 };
  const order = createTaskOrder();
  const unread = new Map<string, number>();
  let account: Account | null = null;
  let link: Link = "connecting";
  /** When the page last knew everything; null before it did. */
  let known_at: number | null = null;
  let loads = 0;
  /** Deleted since the last lists: an answer or a list that is still on its way may hold it. */
  const gone = new Set<string>();
  /** While lists come: what events told of meanwhile, and what the lists held. */
  let loading: { told: Set<string>; listed: Set<string> } | null = null;

  const listeners = new Set<() => void>();
  const changes = new Set<(kind: Kind, id: string) => void>();
  let cancel: (() => void) | null = null;

  const tell = () => {
    cancel?.();
    cancel = null;
    for (const listener of [...listeners]) listener();
  };
  const changed = () => {
    if (cancel) return;
    const frame = requestAnimationFrame(tell);
    const cancel_timer = after(NO_FRAME, tell);
    cancel = () => {
      cancelAnimationFrame(frame);
      cancel_timer();
    };
  };

  /** Whether it, or the key that it belongs to, was deleted. */
  const isGone = (value: Key | Task | Question): boolean =>
    gone.has(value.id) || ("key_id" in value && gone.has(value.key_id));

  const put = <K extends Kind>(kind: K, value: Resources[K]) => {
    const map = all[kind] as Map<string, Resources[K]>;
    const before = map.get(value.id);
    if (before && isOlder(kind, value, before)) return;
    map.set(value.id, value);
    if (kind === "tasks") order.put(value as Task, before as Task | undefined);
    versions[kind]++;
    for (const change of changes) change(kind, value.id);
    changed();
  };

  const drop = (kind: Kind, id: string) => {
    const before = all[kind].get(id);
    if (!before) return;
    all[kind].delete(id);
    if (kind === "tasks") order.remove(before as Task);
    versions[kind]++;
    for (const change of changes) change(kind, id);
    changed();
  };

  const dropKey = (key_id: string) => {
    drop("keys", key_id);
    for (const { id, key_id: of } of [...all.tasks.values()]) if (of === key_id) drop("tasks", id);
    for (const question of [...all.questions.values()]) {
      if (question.key_id === key_id) drop("questions", question.id);
    }
  };

  return {
    all,
    order,
    versions,
    account: () => account,
    link: () => link,
    knownAt: () => known_at,
    /** How often everything came anew: between two times no event tells of what happened. */
    loads: () => loads,
    unreadOf: (key_id: string): number | undefined => unread.get(key_id),

    /** Called after changes, once a frame. */
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    /** Called at each change, with what changed. */
    onChange(change: (kind: Kind, id: string) => void): () => void {
      changes.add(change);
      return () => changes.delete(change);
    },

    /** What the server answered to a change of one's own, or an event told. */
    put<K extends Kind>(kind: K, value: Resources[K]): void {
      if (isGone(value)) return;
      loading?.told.add(value.id);
      put(kind, value);
    },

    drop(kind: Kind, id: string): void {
      gone.add(id);
      if (kind === "keys") dropKey(id);
      else drop(kind, id);
    },

    setAccount(value: Account): void {
      account = value;
      changed();
    },

    setUnread(key_id: string, count: number): void {
      unread.set(key_id, count);
      changed();
    },

    setLink(value: Link): void {
      if (link === "live") known_at = now();
      if (link === value) return;
      link = value;
      changed();
    },

    /** What was kept from the last visit; what is known already is newer. */
    restore(kept: { [K in Kind]: Resources[K][] } & { account: Account; known_at: number }): void {
      account ??= kept.account;
      const fill = <K extends Kind>(kind: K, values: readonly Resources[K][]) => {
        for (const value of values) {
          if (!all[kind].has(value.id) && !isGone(value)) put(kind, value);
        }
      };
      fill("keys", kept.keys);
      fill("tasks", kept.tasks);
      fill("questions", kept.questions);
      known_at ??= kept.known_at;
      changed();
    },

    /** The lists are going to come; an event of meanwhile is newer than they (docs/interface.md 7). */
    beginLoad(): void {
      gone.clear();
      loading = { told: new Set(), listed: new Set() };
    },

    /** A part of a list. */
    listed<K extends Kind>(kind: K, values: readonly Resources[K][]): void {
      for (const value of values) {
        if (loading?.told.has(value.id) || isGone(value)) continue;
        loading?.listed.add(value.id);
        put(kind, value);
      }
    },

    /** All lists came: what none of them held is gone. */
    endLoad(): void {
      if (!loading) return;
      const { told, listed } = loading;
      loading = null;
      for (const kind of Object.keys(all) as Kind[]) {
        for (const id of [...all[kind].keys()]) {
          if (!told.has(id) && !listed.has(id)) drop(kind, id);
        }
      }
      known_at = now();
      loads++;
      changed();
    },

    /** Tasks of a key by status, counted here: events do not tell the server's counts. */
    counts: memo(
      () => versions.tasks,
      () => {
        const counts = new Map<string, Record<Status, number>>();
        for (const { key_id, status } of all.tasks.values()) {
          let of = counts.get(key_id);
          if (!of) {
            of = { todo: 0, in_progress: 0, done: 0, cancelled: 0 };
            counts.set(key_id, of);
          }
          of[status]++;
        }
        return counts;
      },
    ),

    /** Keys, newest first. */
    keys: memo(
      () => versions.keys,
      () => [...all.keys.values()].sort((a, b) => b.created_at - a.created_at),
    ),

    /** Pending questions, the one that runs out first on top. */
    pending: memo(
      () => versions.questions,
      () =>
        [...all.questions.values()]
          .filter(({ status }) => status === "pending")
          .sort((a, b) => a.expires_at - b.expires_at || (a.id < b.id ? -1 : 1)),
    ),

    /** Questions that are settled, the last one first. */
    settled: memo(
      () => versions.questions,
      () =>
        [...all.questions.values()]
          .filter(({ status }) => status !== "pending")
          .sort((a, b) => settledAt(b) - settledAt(a)),
    ),
  };
}

/** When it left `pending`, as far as its fields tell. */
export function settledAt({ answered_at, status, expires_at, created_at }: Question): number {
  return answered_at ?? (status === "expired" ? expires_at : created_at);
}

/** A task never goes back, and a question leaves `pending` once. */
function isOlder(kind: Kind, value: object, before: object): boolean {
  if (kind === "tasks") return (value as Task).updated_at < (before as Task).updated_at;
  const pending = (question: object) => (question as Question).status === "pending";
  return kind === "questions" && pending(value) && !pending(before);
}

/** The same result while the version is the same. */
function memo<T>(version: () => number, make: () => T): () => T {
  let made: { version: number; value: T } | undefined;
  return () => {
    if (made?.version !== version()) made = { version: version(), value: make() };
    return made.value;
  };
}
