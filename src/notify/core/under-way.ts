/** Counts what is under way. */

/** Ends the use of a connection or request. Harmless when called again. */
export type Release = () => void;

/** Returns a function that calls `release` the first time only. */
export function once(release: () => void): Release {
  let held = true;
  return () => {
    if (!held) return;
    held = false;
    release();
  };
}

/** Adds to a count by name, and drops a count of 0. */
export function addTo(counts: Map<string, number>, name: string, n: 1 | -1): void {
  const left = (counts.get(name) ?? 0) + n;
  if (left > 0) counts.set(name, left);
  else counts.delete(name);
}
