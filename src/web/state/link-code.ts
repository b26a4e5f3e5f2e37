/** A code that a link brings in the address: kept by this tab until it is used or dropped. */

interface LinkCodeOptions {
  /** In `sessionStorage`, so that a reload does not lose the code. */
  readonly name: string;
  /** The address of a link after `#`; its first group is the code. */
  readonly address: RegExp;
  /** Whether this server takes such codes. */
  readonly accepts?: () => boolean;
}

export function createLinkCode({ name, address, accepts = () => true }: LinkCodeOptions) {
  let code: string | null = null;
  const listeners = new Set<() => void>();

  const set = (next: string | null) => {
    code = next;
    if (next === null) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, next);
    for (const listener of [...listeners]) listener();
  };

  /** Takes the code out of the address, where other people and the history would see it. */
  const take = () => {
    const found = address.exec(location.hash.slice(1))?.[1];
    if (found === undefined) return;
    history.replaceState(null, "", "#/");
    if (accepts()) set(found);
  };

  return {
    /** Null if there is none. */
    get: (): string | null => code,

    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    forget: (): void => set(null),

    /** Until {@link forget}, there is no code; nobody is told. */
    hide(): void {
      code = null;
    },

    /** Looks for a link now and whenever the address changes; `before` takes the place of what the tab kept. */
    watch(before: string | null = sessionStorage.getItem(name)): void {
      set(accepts() ? before : null);
      take();
      window.addEventListener("hashchange", take);
    },
  };
}
