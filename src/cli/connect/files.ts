/** Reads and replaces a configuration file of a client: the whole of it or nothing. */

import { constants } from "node:fs";
import {
  access,
  type FileHandle,
  lstat,
  mkdir,
  open,
  realpath,
  rename,
  rm,
} from "node:fs/promises";
import { dirname } from "node:path";
import { randomText } from "../../client/idempotency.ts";
import { Refusal } from "./format.ts";

/** Bytes of a file; that of Claude Code, which keeps its history there, has some hundred thousand. */
const MAX_BYTES = 8 * 1024 * 1024;

/** A file as it was read. */
export interface Snapshot {
  /** Path that the client reads. */
  readonly path: string;
  /** Where symbolic links lead. */
  readonly real: string;
  /** Null if there is no file. */
  readonly bytes: Buffer | null;
  readonly text: string;
  readonly mode: number;
  readonly owner: { readonly uid: number; readonly gid: number } | null;
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** Throws {@link Refusal} unless there is no file, or a text that may be changed. */
export async function readSnapshot(path: string): Promise<Snapshot> {
  const none = { path, real: path, bytes: null, text: "", mode: 0o600, owner: null };
  const is_there = await lstat(path).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === "ENOENT") return false;
      throw new Refusal("cannot be read");
    },
  );
  if (!is_there) return none;
  const real = await realpath(path).catch(() => {
    throw new Refusal("is a link that leads nowhere");
  });
  // Without waiting for the writer of a pipe.
  const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => {
    throw new Refusal("cannot be read");
  });
  try {
    const { uid, gid, mode, nlink, size, isFile } = await statOf(file);
    if (!isFile) throw new Refusal("is not a regular file");
    if (size > MAX_BYTES) throw new Refusal("is larger than 8 MiB");
    if (nlink > 1) throw new Refusal("has other names (hard links)");
    if ((mode & 0o200) === 0) throw new Refusal("is read-only");
    const bytes = await file.readFile();
    return { path, real, bytes, text: decode(bytes), mode: mode & 0o7777, owner: { uid, gid } };
  } finally {
    await file.close();
  }
}

async function statOf(file: FileHandle) {
  const stat = await file.stat();
  const { uid, gid, mode, nlink, size } = stat;
  return { uid, gid, mode, nlink, size, isFile: stat.isFile() };
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refusal("is not UTF-8");
  }
}

/** Where the text from before the first change is kept. */
export const copyOf = (path: string): string => `${path}.before-relay`;

/** Keeps the file as it is beside its path, with its mode and owner. */
export async function keepCopy(snapshot: Snapshot): Promise<string | null> {
  const { path, bytes } = snapshot;
  if (!bytes) {
    // One from long ago is of no use.
    await rm(copyOf(path), { force: true });
    return null;
  }
  await place(copyOf(path), bytes, snapshot);
  return copyOf(path);
}

/** The text before the first change; null if no copy is there. */
export async function readCopy(path: string): Promise<string | null> {
  try {
    const { bytes, text } = await readSnapshot(copyOf(path));
    return bytes && text;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

export const dropCopy = (path: string): Promise<void> => rm(copyOf(path), { force: true });

/** Replaces the file by the text; null deletes it. Throws {@link Refusal} if it changed since it was read. */
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

/** Writes a new file beside the path and then gives it its name. `check` runs just before that. */
async function place(
  path: string,
  bytes: Buffer,
  { mode, owner }: Snapshot,
  check = async () => {},
): Promise<void> {
  const folder = dirname(path);
  const temporary = `${path}.${randomText(6)}`;
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(bytes);
      const its = await file.stat();
      if (owner && (its.uid !== owner.uid || its.gid !== owner.gid)) {
        await file.chown(owner.uid, owner.gid);
      }
      await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await check();
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    if (error instanceof Refusal) throw error;
    throw new Refusal(`cannot be written (${codeOf(error) ?? "unknown"})`);
  }
}
