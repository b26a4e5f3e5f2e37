/**
 * The account's data in the page: loaded from the lists after each connect, then updated by events.
 * Subscribers are notified at most once per frame.
 */

import { after, now } from "../clock.ts";
import { createListeners } from "../observable.ts";
import type { Account, Fault, Key, Question, Status, Task } from "./api.ts";
import { createTaskOrder } from "./task-order.ts";

/**
 * Whether the data is current. `live`: up to date. `connecting`: unknown. `offline`: stale.
 * `resting`: the page is hidden, and another open page of this browser has the stream.
 */
export type Connection = "connecting" | "live" | "offline" | "resting";

export interface Resources {
  readonly keys: Key;
  readonly tasks: Task;
  readonly questions: Question;
}
export type Kind = keyof Resources;

const KINDS: readonly Kind[] = ["keys", "tasks", "questions"];

/**
 * Seconds after which subscribers are notified without an animation frame: hidden pages have none.
 */
const NO_FRAME = 0.25;

export type Store = ReturnType<typeof createStore>;

/**
 * The store of one session. `all` has the resources by id; only the functions of the store change
 * them.
 */
export function createStore() {
  const all = {
    keys: new Map<string, Key>(),
    tasks: new Map<string, Task>(),
    questions: new Map<string, Question>(),
  };
  const versions = { keys: 0, tasks: 0, questions: 0 };
  const order = createTaskOrder();
  /** By key, the number of items that its agent has neither read nor received (§5.9.6). */
  const unread = new Map<string, number>();
  /** How often the inbox of each key has changed. */
  const inboxes = new Map<string, number>();
  /** How often the grants of each key have changed. */
  const grants = new Map<string, number>();
  let account: Account | null = null;
  let connection: Connection = "connecting";
  /** Why the connection is `offline`, if the server or another program refused it; null if nothing answered. */
  let trouble: Fault | null = null;
  /** When the data was last complete and current; null before the first load. */
  let known_at: number | null = null;
  let loads = 0;
  /** Ids deleted since the last load: responses and lists in flight may still contain them. */
  const gone = new Set<string>();
  /** During a load: ids that events updated, and ids that the lists contained. */
  let loading: { updated: Set<string>; listed: Set<string> } | null = null;

  const { subscribe, tell } = createListeners();
  const changes = createListeners<[kind: Kind, id: string]>();
  let cancel: (() => void) | null = null;

  const notify = () => {
    cancel?.();
    cancel = null;
    tell();
  };
  const changed = () => {
    if (cancel) return;
    const frame = requestAnimationFrame(notify);
    const cancel_timer = after(NO_FRAME, notify);
    cancel = () => {
      cancelAnimationFrame(frame);
      cancel_timer();
    };
  };

  /** Whether the resource, or the key that it belongs to, was deleted. */
  const isGone = (value: Key | Task | Question): boolean =>
    gone.has(value.id) || ("key_id" in value && gone.has(value.key_id));

  const put = <K extends Kind>(kind: K, value: Resources[K]) => {
    const map = all[kind] as Map<string, Resources[K]>;
    const before = map.get(value.id);
    if (before && isOlder(kind, value, before)) return;
    map.set(value.id, value);
    if (kind === "tasks") order.put(value as Task, before as Task | undefined);
    noteChange(kind, value.id);
  };

  const drop = (kind: Kind, id: string) => {
    const before = all[kind].get(id);
    if (!before) return;
    all[kind].delete(id);
    if (kind === "tasks") order.remove(before as Task);
    noteChange(kind, id);
  };

  const noteChange = (kind: Kind, id: string) => {
    versions[kind]++;
    changes.tell(kind, id);
    changed();
  };

  const dropKey = (key_id: string) => {
    drop("keys", key_id);
    for (const kind of ["tasks", "questions"] as const) {
      for (const one of [...all[kind].values()]) if (one.key_id === key_id) drop(kind, one.id);
    }
  };

  return {
    all,
    order,
    versions,
    account: () => account,
    connection: () => connection,
    trouble: () => trouble,
    knownAt: () => known_at,
    /** Number of loads: events may have been missed between two of them. */
    loads: () => loads,
    /** Changes with each event of the inbox. */
    inboxVersion: (key_id: string): number => inboxes.get(key_id) ?? 0,
    unreadOf: (key_id: string): number | undefined => unread.get(key_id),

    /** Calls a listener after changes, at most once per frame. */
    subscribe,

    /** Calls a listener at each change of a resource, which is gone from `all` if it was removed. */
    onChange: changes.subscribe,

    /** Stores a resource from an event, or from the response to a mutation. */
    put<K extends Kind>(kind: K, value: Resources[K]): void {
      if (isGone(value)) return;
      loading?.updated.add(value.id);
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

    /** Changes when a client gets or loses access to the key. */
    grantsVersion: (key_id: string): number => grants.get(key_id) ?? 0,

    grantsChanged(key_id: string): void {
      grants.set(key_id, (grants.get(key_id) ?? 0) + 1);
      changed();
    },

    inboxChanged(key_id: string, count: number): void {
      inboxes.set(key_id, (inboxes.get(key_id) ?? 0) + 1);
      unread.set(key_id, count);
      changed();
    },

    setUnread(key_id: string, count: number): void {
      unread.set(key_id, count);
      changed();
    },

    /** `why`: who refused the connection; null if nothing answered. */
    setConnection(value: Connection, why: Fault | null = null): void {
      if (connection === "live") known_at = now();
      if (connection === value && trouble?.message === why?.message) return;
      connection = value;
      trouble = why;
      changed();
    },

    /** Adds data from the archive; what is in the store already is newer. */
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

    /**
     * Begins a load: events that arrive during it are newer than its lists
     * (§7.4.1).
     */
    beginLoad(): void {
      gone.clear();
      loading = { updated: new Set(), listed: new Set() };
    },

    /** Adds a list page. */
    listed<K extends Kind>(kind: K, values: readonly Resources[K][]): void {
      for (const value of values) {
        if (loading?.updated.has(value.id) || isGone(value)) continue;
        loading?.listed.add(value.id);
        put(kind, value);
      }
    },

    /** Ends a load: resources that were in none of its lists are gone. */
    endLoad(): void {
      if (!loading) return;
      const { updated, listed } = loading;
      loading = null;
      for (const kind of KINDS) {
        for (const { id } of [...all[kind].values()]) {
          if (!updated.has(id) && !listed.has(id)) drop(kind, id);
        }
      }
      known_at = now();
      loads++;
      changed();
    },

    /** Tasks of each key by status, counted here, since events do not carry the server's counts. */
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

    /** Keys of agents that are silent in a task. */
    silent: memo(
      () => versions.tasks,
      () =>
        new Set(
          [...all.tasks.values()]
            // A task from an older version's archive lacks the field.
            .filter(({ silent_since }) => silent_since)
            .map(({ key_id }) => key_id),
        ),
    ),

    /** Keys, newest first. */
    keys: memo(
      () => versions.keys,
      () => [...all.keys.values()].sort((a, b) => b.created_at - a.created_at),
    ),

    /** Pending questions, the next to expire first. */
    pending: memo(
      () => versions.questions,
      () =>
        [...all.questions.values()]
          .filter(({ status }) => status === "pending")
          .sort((a, b) => a.expires_at - b.expires_at || (a.id < b.id ? -1 : 1)),
    ),

    /** Closed questions, the last closed first. */
    history: memo(
      () => versions.questions,
      () =>
        [...all.questions.values()]
          .filter(({ status }) => status !== "pending")
          .sort((a, b) => closedAt(b) - closedAt(a)),
    ),
  };
}

/** When the question left `pending`, epoch seconds; of a cancelled one, when it was asked. */
export function closedAt({ answered_at, status, expires_at, created_at }: Question): number {
  return answered_at ?? (status === "expired" ? expires_at : created_at);
}

/**
 * Whether `value` is older than `before`: `updated_at` only grows, and a question leaves `pending`
 * once.
 */
function isOlder(kind: Kind, value: object, before: object): boolean {
  if (kind === "tasks") return (value as Task).updated_at < (before as Task).updated_at;
  const pending = (question: object) => (question as Question).status === "pending";
  return kind === "questions" && pending(value) && !pending(before);
}

/** Caches the result until the version changes. */
function memo<T>(version: () => number, make: () => T): () => T {
  let made: { version: number; value: T } | undefined;
  return () => {
    if (made?.version !== version()) made = { version: version(), value: make() };
    return made.value;
  };
}
