/** Files of the system that may change while the process runs. */

import { readFileSync, statSync } from "node:fs";

/**
 * Returns a function that gives what `parse` makes of the file, read again whenever it has changed. A
 * file that is missing or cannot be read counts as empty. Read on the event loop: the thread pool may
 * be busy, and these files are local and small.
 */
export function readIfChanged<Parsed>(path: string, parse: (text: string) => Parsed): () => Parsed {
  let seen: string | undefined;
  let parsed: Parsed | undefined;
  return () => {
    const stamp = stampOf(path);
    if (parsed !== undefined && stamp === seen) return parsed;
    seen = stamp;
    parsed = parse(stamp === "" ? "" : textOf(path));
    return parsed;
  };
}

function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs}` : "";
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
