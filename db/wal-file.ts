/** Reads the write-ahead log beside a file, to tell whether the two belong together. Writes nothing. */

import { closeSync, openSync, readSync, statSync } from "node:fs";

/** Bytes of the header of the log, and of that of each frame (https://sqlite.org/fileformat.html, 4.1). */
const HEADER = 32;
const FRAME_HEADER = 24;

/** Bytes of the header of a database; byte 18 is 2 in WAL mode. */
const FILE_HEADER = 100;
const WRITE_VERSION = 18;
const WAL_MODE = 2;

/** True if the log holds at least one page. */
export function hasFrames(log: string): boolean {
  return (statSync(log, { throwIfNoEntry: false })?.size ?? 0) > HEADER + FRAME_HEADER;
}

/** True if the header of the file says that it has a write-ahead log; false also for what is not a database. */
export function isInWalMode(path: string): boolean {
  return firstBytes(path, FILE_HEADER)[WRITE_VERSION] === WAL_MODE;
}

/**
 * False if the frames cannot continue the file: it is not in WAL mode, as a copy by `VACUUM INTO`; or pages that
 * lie between the end of the file and that of the store are in neither, as in an older copy. SQLite would
 * mix the two. True for every log that was written to this file, also after a power cut; a wrong pair of the
 * same size is not seen.
 */
export function belongsTogether(path: string, log: string): boolean {
  if (!isInWalMode(path)) return false;
  const header = firstBytes(log, HEADER);
  // Without a whole header SQLite takes nothing of the log.
  if (header.length < HEADER) return true;
  const page_size = header.readUInt32BE(8);
  const salt = header.subarray(16, 24);
  const in_file = statSync(path).size / page_size;
  const pages = new Set<number>();
  let in_store = 0;
  const file = openSync(log, "r");
  try {
    const frame = Buffer.alloc(FRAME_HEADER);
    for (let at = HEADER; ; at += FRAME_HEADER + page_size) {
      if (readSync(file, frame, 0, FRAME_HEADER, at) < FRAME_HEADER) break;
      // What follows is left from an earlier use of the log.
      if (!frame.subarray(8, 16).equals(salt)) break;
      pages.add(frame.readUInt32BE(0));
      // Not 0 in the last frame of a transaction: the pages of the store after it.
      in_store = frame.readUInt32BE(4) || in_store;
    }
  } finally {
    closeSync(file);
  }
  if (in_store === 0) return true;
  // Only VACUUM makes a store smaller, and it writes every page.
  const first = in_file > in_store ? 1 : Math.floor(in_file) + 1;
  for (let page = first; page <= in_store; page++) if (!pages.has(page)) return false;
  return true;
}

function firstBytes(path: string, count: number): Buffer {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(count);
    return bytes.subarray(0, readSync(file, bytes, 0, count, 0));
  } finally {
    closeSync(file);
  }
}
