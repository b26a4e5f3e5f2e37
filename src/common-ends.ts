/** What differs between two lists that begin and end alike. */

interface Difference<T> {
  /** What both begin with. */
  readonly head: readonly T[];
  readonly gone: readonly T[];
  readonly come: readonly T[];
  /** What both end with. */
  readonly tail: readonly T[];
}

/** Splits two lists: what they have in common in front and behind, and all between. */
export function splitCommonEnds<T>(before: readonly T[], after: readonly T[]): Difference<T> {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  return {
    head: before.slice(0, head),
    gone: before.slice(head, before.length - tail),
    come: after.slice(head, after.length - tail),
    tail: before.slice(before.length - tail),
  };
}
