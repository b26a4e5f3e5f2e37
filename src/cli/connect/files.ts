/** Reads and atomically replaces a configuration file of a client. */

import { isUtf8 } from "node:buffer";
import { constants, type Stats } from "node:fs";
import { lstat, open, realpath, rm } from "node:fs/promises";
import { writeWhole } from "../settings.ts";
import { Refusal } from "./format.ts";

/** Bytes of a file, at most. Claude Code's file also has its history: several hundred thousand bytes. */
const MAX_BYTES = 8 * 1024 * 1024;

/** A file as it was read. */
export interface Snapshot {
  /** Path that the client reads. */
  readonly path: string;
  /** The path with symbolic links resolved. */
  readonly real: string;
  /** True if the path itself is a symbolic link. */
  readonly is_link: boolean;
  /** Null if there is no file. */
  readonly bytes: Buffer | null;
  readonly text: string;
  readonly mode: number;
  readonly owner: { readonly uid: number; readonly gid: number } | null;
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/**
 * Reads a file. Throws {@link Refusal} if it is there and must not be changed: not a regular file
 * of UTF-8 text, larger than 8 MiB, hard-linked or read-only.
 */
export async function readSnapshot(path: string): Promise<Snapshot> {
  const link = await statIfThere(path);
  if (!link) {
    const none = { bytes: null, text: "", mode: 0o600, owner: null };
    return { path, real: path, is_link: false, ...none };
  }
  const is_link = link.isSymbolicLink();
  const real = await realpath(path).catch(() => {
    throw new Refusal("is a link that leads nowhere");
  });
  // O_NONBLOCK: opening a pipe would otherwise wait for its writer.
  const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => {
    throw new Refusal("cannot be read");
  });
  try {
    const stat = await file.stat();
    const { uid, gid, mode, nlink, size } = stat;
    if (!stat.isFile()) throw new Refusal("is not a regular file");
    if (size > MAX_BYTES) throw new Refusal("is larger than 8 MiB");
    if (nlink > 1) throw new Refusal("has other names (hard links)");
    if ((mode & 0o200) === 0) throw new Refusal("is read-only");
    const bytes = await file.readFile();
    if (!isUtf8(bytes)) throw new Refusal("is not UTF-8");
    const text = bytes.toString("utf8");
    return { path, real, is_link, bytes, text, mode: mode & 0o7777, owner: { uid, gid } };
  } finally {
    await file.close();
  }
}

/** Does not follow links; null if nothing is there. */
async function statIfThere(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw new Refusal("cannot be read");
  }
}

/** Copies beside a file, at most. */
const MAX_COPIES = 9;

const copyName = (path: string, n: number): string => `${path}.before-relay${n > 1 ? `-${n}` : ""}`;

/** Number of the last copy; 0 if there is none. A file of that name may also be the person's own. */
async function lastCopy(path: string): Promise<number> {
  for (let n = MAX_COPIES; n > 0; n--) if (await statIfThere(copyName(path, n))) return n;
  return 0;
}

/**
 * Copies the file, with its mode and owner, to a free name beside it. Returns the path of the copy;
 * null if there is no file.
 */
export async function keepCopy(snapshot: Snapshot): Promise<string | null> {
  const { path, bytes } = snapshot;
  if (!bytes) return null;
  const n = (await lastCopy(path)) + 1;
  if (n > MAX_COPIES) throw new Refusal(`has ${MAX_COPIES} copies that are named .before-relay`);
  await place(copyName(path, n), bytes, snapshot);
  return copyName(path, n);
}

/** The last copy with its path; null if there is none or it cannot be read. */
export async function readCopy(path: string): Promise<{ path: string; text: string } | null> {
  const n = await lastCopy(path);
  if (n === 0) return null;
  const name = copyName(path, n);
  try {
    const { bytes, text } = await readSnapshot(name);
    return bytes && { path: name, text };
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

export const dropCopy = (copy: string): Promise<void> => rm(copy, { force: true });

/**
 * Replaces the file by the text; null deletes it. Throws {@link Refusal} if it changed since it was
 * read.
 */
export async function replaceFile(snapshot: Snapshot, text: string | null): Promise<void> {
  const { path, real, bytes } = snapshot;
  const check = async () => {
    const now = await readSnapshot(path);
    const same = now.real === real && (bytes ? now.bytes?.equals(bytes) : now.bytes === null);
    if (!same) throw new Refusal("was changed meanwhile");
  };
  if (text === null) {
    await check();
    await rm(real);
  } else {
    await place(real, Buffer.from(text), snapshot, check);
  }
}

/** Writes a file with the mode and owner of the snapshot. Throws {@link Refusal} if it cannot. */
async function place(
  path: string,
  bytes: Buffer,
  { mode, owner }: Snapshot,
  check?: () => Promise<void>,
): Promise<void> {
  try {
    await writeWhole(path, bytes, { mode, owner, ...(check && { check }) });
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(`cannot be written (${codeOf(error) ?? "unknown"})`);
  }
}
