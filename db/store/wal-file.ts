/** Tells by their bytes what a file is, and whether a write-ahead log belongs to the file beside it. Writes nothing. */

import { closeSync, openSync, readSync, statSync } from "node:fs";

/** Bytes of the headers of the log and of a frame (https://sqlite.org/fileformat.html, 4.1). */
const HEADER = 32;
const FRAME_HEADER = 24;

/** Bytes of the header of a database; byte 18 is 2 in WAL mode. */
export const FILE_HEADER = 100;
const WRITE_VERSION = 18;
const WAL_MODE = 2;

/** True if the log holds at least one page. */
export function hasFrames(log: string): boolean {
  return (statSync(log, { throwIfNoEntry: false })?.size ?? 0) > HEADER + FRAME_HEADER;
}

/** True if the header of the file says so; false also for a file that is not a database. */
export function isInWalMode(path: string): boolean {
  return firstBytes(path, FILE_HEADER)[WRITE_VERSION] === WAL_MODE;
}

const MAGIC = "SQLite format 3\0";

/**
 * What the header says: a database, an encrypted one, or something else. libSQL encrypts the header but for the fields
 * from the page size to the fractions of a page, which are the same in every database.
 */
export const formOf = (path: string): FileForm => formOfHeader(firstBytes(path, FILE_HEADER));

export type FileForm = "plain" | "encrypted" | "other";

/** {@link formOf} by the first bytes of the file. */
export function formOfHeader(header: Buffer): FileForm {
  if (header.length < FILE_HEADER) return "other";
  if (header.toString("latin1", 0, MAGIC.length) === MAGIC) return "plain";
  const size = header.readUInt16BE(16);
  const is_size = size === 1 || (size >= 512 && (size & (size - 1)) === 0);
  const is_mode = [1, 2].includes(header[WRITE_VERSION]!);
  return is_size && is_mode && header.readUIntBE(21, 3) === 0x40_20_20 ? "encrypted" : "other";
}

/**
 * False if the log cannot continue the file, so that SQLite would mix the two: the file is not in WAL mode, such as a
 * copy by `VACUUM INTO`, or neither has the pages between the end of the file and the end of the store, as with an
 * older copy. True for every log of this file, also after a power cut. A wrong pair of the same size is not noticed.
 */
export function belongsTogether(path: string, log: string): boolean {
  if (!isInWalMode(path)) return false;
  const header = firstBytes(log, HEADER);
  // SQLite ignores a log without a whole header.
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
      // The rest is left over from an earlier use of the log.
      if (!frame.subarray(8, 16).equals(salt)) break;
      pages.add(frame.readUInt32BE(0));
      // The number of pages in the store after a transaction, in its last frame; otherwise 0.
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
