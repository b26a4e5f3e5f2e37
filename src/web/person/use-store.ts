/** Hooks that give views the session and its store. */

import { createContext, useContext, useMemo, useSyncExternalStore } from "react";
import type { Key, SignIn, Task } from "../state/api.ts";
import type { KeptAnswer } from "../state/kept-answers.ts";
import type { Session } from "../state/session.ts";
import type { Store } from "../state/store.ts";
import type { Undoable } from "../state/undo.ts";

export const SessionContext = createContext<Session | null>(null);

/** The session of this browser. Throws outside of a {@link SessionContext}. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("there is a session wherever this is shown");
  return session;
}

/**
 * Renders again when the result of `select` changes. The result must stay identical while the store
 * does not change.
 */
export function useStore<T>(select: (store: Store) => T): T {
  const { store } = useSession();
  return useSyncExternalStore(store.subscribe, () => select(store));
}

export const useKey = (id: string): Key | undefined => useStore(({ all }) => all.keys.get(id));
export const useTask = (id: string): Task | undefined => useStore(({ all }) => all.tasks.get(id));

/** Answers that wait to be sent, or that were refused. */
export function useKeptAnswers(): readonly KeptAnswer[] {
  const { keptAnswers } = useSession();
  return useSyncExternalStore(keptAnswers.subscribe, keptAnswers.all);
}

/** The account's sign-ins, newest first; null before they are loaded. */
export function useSignIns(): readonly SignIn[] | null {
  const { signIns } = useSession();
  return useSyncExternalStore(signIns.subscribe, signIns.all);
}

/** Changes that can be undone, and those that are being made. */
export function useUndoable(): readonly Undoable[] {
  const { undo } = useSession();
  return useSyncExternalStore(undo.subscribe, undo.all);
}

export const labelOf = (key: Key | undefined): string => key?.label ?? "An agent";

/** Options of a select: id and label of each agent. */
export function useKeyOptions(): readonly (readonly [string, string])[] {
  const keys = useStore((store) => store.keys());
  return useMemo(() => keys.map(({ id, label }) => [id, label]), [keys]);
}
