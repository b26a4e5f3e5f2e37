/** Keeps the account's data in the browser, so that the page can show it without the server. */

import { after, now, recallServerTime, serverAhead } from "../clock.ts";
import type { Account } from "./api.ts";
import { PATH, scoped } from "./storage.ts";
import type { Kind, Resources, Store } from "./store.ts";

const NAME = PATH === "/" ? "relay" : scoped("archive");
const KINDS: readonly Kind[] = ["keys", "tasks", "questions"];
/** Seconds between a change and saving it. */
const DELAY = 2;

export type Archive = ReturnType<typeof createArchive>;

/**
 * Saves the store to IndexedDB. Without it, as in some private windows, nothing is kept, and the
 * page is empty while offline.
 */
export function createArchive(store: Store) {
  const dirty: Record<Kind, Set<string>> = {
    keys: new Set(),
    tasks: new Set(),
    questions: new Set(),
  };
  const opened = open().catch(() => null);
  let cancel: (() => void) | undefined;
  let closed = false;

  const save = async () => {
    cancel = undefined;
    const db = await opened;
    const account = store.account();
    if (!db || !account || closed) return;
    const change = db.transaction([...KINDS, "about"], "readwrite");
    for (const kind of KINDS) {
      const table = change.objectStore(kind);
      for (const id of dirty[kind]) {
        const value = store.all[kind].get(id);
        if (value) table.put(value);
        else table.delete(id);
      }
      dirty[kind].clear();
    }
    change.objectStore("about").put({
      id: "about",
      account,
      known_at: store.connection() === "live" ? now() : store.knownAt(),
      ahead: serverAhead(),
    });
  };

  const unsubscribe = store.onChange((kind, id) => {
    dirty[kind].add(id);
    cancel ??= after(DELAY, () => void save());
  });

  return {
    /** Restores saved data into the store; false if there was none. */
    async restore(): Promise<boolean> {
      const db = await opened;
      if (!db) return false;
      const read = db.transaction([...KINDS, "about"], "readonly");
      const [keys, tasks, questions, about] = await Promise.all(
        [...KINDS, "about"].map((name) => done(read.objectStore(name).getAll())),
      );
      const [kept] = about as { account: Account; known_at: number; ahead?: number }[];
      // The server's lists may have arrived first.
      if (!kept || closed || store.connection() === "live") return false;
      recallServerTime(kept.ahead ?? 0);
      store.restore({
        ...kept,
        keys: keys as Resources["keys"][],
        tasks: tasks as Resources["tasks"][],
        questions: questions as Resources["questions"][],
      });
      return true;
    },

    /** Saves all changes now. */
    keep: save,

    /** Stops saving; saved data stays. */
    async close(): Promise<void> {
      closed = true;
      unsubscribe();
      cancel?.();
      (await opened)?.close();
    },
  };
}

/** Deletes the saved data. */
export async function forgetArchive(): Promise<void> {
  await done(indexedDB.deleteDatabase(NAME)).catch(() => null);
}

async function open(): Promise<IDBDatabase> {
  const request = indexedDB.open(NAME, 1);
  request.onupgradeneeded = () => {
    for (const name of [...KINDS, "about"]) {
      request.result.createObjectStore(name, { keyPath: "id" });
    }
  };
  const db = await done(request);
  // Another tab has signed out: do not block its deletion.
  db.onversionchange = () => db.close();
  return db;
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
