/** A queue in which each owner has its turn, so that one with much to do does not hold up the others. */

export function createFairQueue<T>() {
  /** By owner, in the order of their turns. */
  const waiting = new Map<string, T[]>();
  let size = 0;

  return {
    size: (): number => size,

    add(owner: string, entry: T): void {
      size++;
      const others = waiting.get(owner);
      if (others) others.push(entry);
      else waiting.set(owner, [entry]);
    },

    /** The oldest entry of the owner whose turn it is, which then goes to the end. */
    take(): T | undefined {
      for (const [owner, entries] of waiting) {
        const entry = entries.shift();
        size--;
        waiting.delete(owner);
        if (entries.length > 0) waiting.set(owner, entries);
        return entry;
      }
      return undefined;
    },

    /** Drops what is not to be kept. */
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
