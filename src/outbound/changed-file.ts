/** Reads files of the system that may change while the process runs. */

import { readFileSync, statSync } from "node:fs";

/** Bytes of such a file. A list of blocked hosts in `/etc/hosts` has a few millions. */
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * Returns a function that returns the parsed file, and reads it again when it has changed. A file that is missing,
 * unreadable, larger than 16 MiB or not a regular file counts as empty. It is read on the event loop, since the thread pool may be busy and the file is small.
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
  return stat?.isFile() && stat.size <= MOST_BYTES
    ? `${stat.ino} ${stat.size} ${stat.mtimeNs}`
    : "";
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
