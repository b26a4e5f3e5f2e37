/** A code in the address of a link: kept by this tab until it is used or dropped. */

import { createListeners } from "../observable.ts";
import { tab } from "./storage.ts";

interface LinkCodeOptions {
  /** Name in session storage, so that a reload does not lose the code. */
  readonly name: string;
  /** Matches the address after `#`; its first group is the code. */
  readonly address: RegExp;
  /** True if this server accepts such codes. */
  readonly accepts?: () => boolean;
}

/**
 * Handles one kind of link. `watch` starts it; `get` and `subscribe` fit `useSyncExternalStore`.
 */
export function createLinkCode({ name, address, accepts = () => true }: LinkCodeOptions) {
  let code: string | null = null;
  const { subscribe, tell } = createListeners();

  const set = (next: string | null) => {
    code = next;
    if (next === null) tab.remove(name);
    else tab.set(name, next);
    tell();
  };

  /** Removes the code from the address, where it would stay visible and in the history. */
  const take = () => {
    const found = address.exec(location.hash.slice(1))?.[1];
    if (found === undefined) return;
    history.replaceState(null, "", "#/");
    if (accepts()) set(found);
  };

  return {
    /** Null if there is none. */
    get: (): string | null => code,

    subscribe,

    forget: (): void => set(null),

    /** Hides the code without telling listeners, until {@link forget} does. */
    hide(): void {
      code = null;
    },

    /**
     * Looks for a link now and whenever the address changes. `before`: the code to begin with, by
     * default the one that the tab kept.
     */
    watch(before: string | null = tab.get(name)): void {
      set(accepts() ? before : null);
      take();
      window.addEventListener("hashchange", take);
    },
  };
}
