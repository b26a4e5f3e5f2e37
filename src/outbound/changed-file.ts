/** Reads files of the system that may change while the process runs. */

import { readFileSync, statSync } from "node:fs";

/**
 * Returns a function that returns the parsed file, and reads it again when it has changed. A file that is missing or
 * unreadable counts as empty. It is read on the event loop, since the thread pool may be busy and the file is small.
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
