/** The sign-ins of the account, and which of them the person does not know of yet. */

import { createListeners } from "../observable.ts";
import type { Api, SignIn } from "./api.ts";
import { local } from "./storage.ts";

/** Key in local storage: ids of the sign-ins that this browser has told the person of. */
const KNOWN = "known-sign-ins";

export type SignIns = ReturnType<typeof createSignIns>;

/** The list of sign-ins, loaded by `load` and updated by events. */
export function createSignIns() {
  /** Newest first; null before the first load. */
  let all: readonly SignIn[] | null = null;
  let unknown: readonly SignIn[] = [];
  const { subscribe, tell } = createListeners();

  const known = (): readonly string[] | null => JSON.parse(local.get(KNOWN) ?? "null");

  const set = (next: readonly SignIn[]) => {
    all = next;
    const ids = known();
    // Sign-ins that are older than this one are not reported as new.
    if (ids === null) local.set(KNOWN, JSON.stringify(next.map(({ id }) => id)));
    unknown = next.filter(({ id, current }) => !current && ids !== null && !ids.includes(id));
    tell();
  };

  return {
    all: () => all,

    /** Sign-ins to tell the person of, newest first. */
    unknown: () => unknown,

    subscribe,

    async load(api: Api, signal?: AbortSignal): Promise<void> {
      const { sessions } = await api.sessions.list.query({}, signal && { signal });
      if (!signal?.aborted) set(sessions);
    },

    put(one: SignIn): void {
      if (all === null) return;
      const rest = all.filter(({ id }) => id !== one.id);
      const at = all.findIndex(({ id }) => id === one.id);
      // Events do not tell which one is this browser's.
      const current = all[at]?.current ?? one.current;
      set(rest.toSpliced(Math.max(0, at), 0, { ...one, current }));
    },

    drop(id: string): void {
      if (all !== null) set(all.filter((one) => one.id !== id));
    },

    /** Notes that the person knows of a sign-in. */
    know(id: string): void {
      if (all === null) return;
      // Ids of sign-ins that have ended are dropped.
      const ids = (known() ?? []).filter((other) => all?.some((one) => one.id === other));
      local.set(KNOWN, JSON.stringify([...new Set([...ids, id])]));
      set(all);
    },

    isCurrent: (id: string): boolean => all?.some((one) => one.id === id && one.current) ?? false,
  };
}
