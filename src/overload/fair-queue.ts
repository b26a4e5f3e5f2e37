/** A queue in which owners take turns, so that one with much to do does not hold up the others. */

export function createFairQueue<T>() {
  /** Entries by owner, in the order of the owners' turns. */
  const waiting = new Map<string, T[]>();
  let size = 0;

  return {
    size: (): number => size,
    sizeOf: (owner: string): number => waiting.get(owner)?.length ?? 0,

    add(owner: string, entry: T): void {
      size++;
      const others = waiting.get(owner);
      if (others) others.push(entry);
      else waiting.set(owner, [entry]);
    },

    /** Removes the oldest entry of the first owner that `mayTake` admits; the owner goes to the end. */
    take(mayTake: (owner: string) => boolean = () => true): T | undefined {
      for (const [owner, entries] of waiting) {
        if (!mayTake(owner)) continue;
        const entry = entries.shift();
        size--;
        waiting.delete(owner);
        if (entries.length > 0) waiting.set(owner, entries);
        return entry;
      }
      return undefined;
    },

    /** Drops an entry, if it still waits. */
    remove(owner: string, entry: T): void {
      const entries = waiting.get(owner) ?? [];
      const index = entries.indexOf(entry);
      if (index < 0) return;
      size--;
      entries.splice(index, 1);
      if (entries.length === 0) waiting.delete(owner);
    },

    /** Drops the entries for which `isKept` is false. */
    keep(isKept: (entry: T) => boolean): void {
      for (const [owner, entries] of waiting) {
        const kept = entries.filter(isKept);
        size -= entries.length - kept.length;
        if (kept.length > 0) waiting.set(owner, kept);
        else waiting.delete(owner);
      }
    },
  };
}
