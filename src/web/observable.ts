/** Values and events that the parts of a page subscribe to. */

/** `subscribe` returns a function that stops it; `tell` calls all listeners. */
export function createListeners<Args extends readonly unknown[] = []>() {
  const listeners = new Set<(...args: Args) => void>();
  return {
    subscribe(listener: (...args: Args) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tell(...args: Args): void {
      // A listener may stop itself or others.
      for (const listener of [...listeners]) listener(...args);
    },
  };
}

/** A value that tells its listeners when it is set. `get` and `subscribe` fit `useSyncExternalStore`. */
export function createObservable<T>(initial: T) {
  let value = initial;
  const { subscribe, tell } = createListeners();
  return {
    subscribe,
    get: (): T => value,
    set(next: T): void {
      value = next;
      tell();
    },
  };
}
