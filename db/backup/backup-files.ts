/** The files of backups: their names, the mark in their header, temporary files, and how one gets its name for good. */

import { constants, existsSync, statSync } from "node:fs";
import {
  chmod,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  utimes,
} from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, extname, join, resolve } from "node:path";
import type { Clock } from "../../src/clock.ts";
import { showPath } from "../../src/config-files.ts";
import { codeOf } from "../../src/log.ts";

/** What is wrong and what to do, in one line without a secret. */
export class BackupError extends Error {
  override readonly name = "BackupError";
}

/** SQLite's application id of a backup, `RlyB`. A store that is in use has 0. */
export const BACKUP_ID = 0x526c7942;

/** Where the header of a database has it (https://sqlite.org/fileformat.html, 1.3). */
const ID_AT = 68;
/**
 * Bytes 18 to 23 of an encrypted file are not encrypted: whether it is in WAL mode (2), reserved space, and three numbers
 * that every database has. A store that is in use is in WAL mode; a backup never is.
 */
const MODE_AT = 18;
const FIXED_AT = 21;
const FIXED = Buffer.from([64, 32, 32]);
const HEADER = 100;
const MAGIC = "SQLite format 3\0";

/** Seconds without a change after which a temporary file of another machine counts as left behind. */
const ABANDONED = 3_600;

/** The end of the name of a temporary file, before what SQLite adds. */
const PARTIAL = ".partial";

/** A backup with its time in its name. */
interface BackupFile {
  /** Absolute path. */
  readonly file: string;
  /** Epoch seconds. */
  readonly made_at: number;
  readonly bytes: number;
}

/** The name with the UTC time, such as `relay-20261126T030000Z.db` for `relay.db`. */
export function timedName(file: string, at: number): string {
  const end = extname(file);
  const time = new Date(Math.floor(at) * 1000).toISOString().replace(/[-:]|\.\d+/g, "");
  return join(dirname(file), `${basename(file, end)}-${time}${end}`);
}

/** The time in a name that {@link timedName} made of `file`; null for any other name. */
function timeIn(name: string, file: string): number | null {
  const end = extname(file);
  const start = `${basename(file, end)}-`;
  if (!name.startsWith(start) || !name.endsWith(end)) return null;
  const time = name.slice(start.length, name.length - end.length);
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time)?.slice(1).map(Number);
  if (!parts) return null;
  const [year, month, day, hour, minute, second] = parts as [
    ...[number, number, number],
    ...[number, number, number],
  ];
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
}

/** True for a regular file that is a whole backup of Relay, by its header; of an encrypted one, only a part can be read. */
export async function isBackup(path: string): Promise<boolean> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) return false;
    const header = Buffer.alloc(HEADER);
    const { bytesRead } = await file.read(header, 0, HEADER, 0);
    if (bytesRead < HEADER) return false;
    const is_plain = header.toString("latin1", 0, MAGIC.length) === MAGIC;
    if (is_plain) return header.readUInt32BE(ID_AT) === BACKUP_ID;
    const fixed = header.subarray(FIXED_AT, FIXED_AT + FIXED.length);
    return header[MODE_AT] === 1 && fixed.equals(FIXED);
  } finally {
    await file.close();
  }
}

/**
 * The backups that runs with `keep` made for `file`, newest first. A missing folder has none. Files with another name
 * or without the mark of a backup are left out.
 */
export async function listBackups(file: string): Promise<readonly BackupFile[]> {
  const folder = dirname(resolve(file));
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  });
  const found: BackupFile[] = [];
  for (const name of names) {
    const made_at = timeIn(name, file);
    const path = join(folder, name);
    if (made_at === null) continue;
    // Another process may have removed it.
    const info = await lstat(path).catch(() => null);
    if (!info?.isFile() || !(await isBackup(path).catch(() => false))) continue;
    found.push({ file: path, made_at, bytes: info.size });
  }
  return found.sort((a, b) => b.made_at - a.made_at);
}

/** Removes all but the newest `keep` backups of {@link listBackups}, and never `made`. Returns the removed ones. */
export async function removeOld(file: string, keep: number, made: string): Promise<string[]> {
  const others = (await listBackups(file)).filter((one) => one.file !== made);
  const removed: string[] = [];
  for (const one of others.slice(Math.max(keep - 1, 0))) {
    await rm(one.file, { force: true });
    removed.push(one.file);
  }
  return removed;
}

/** The absolute path behind symbolic links, also of a file that does not exist yet. Throws for a link to nothing. */
export async function targetOf(path: string): Promise<string> {
  const absolute = resolve(path);
  try {
    return await realpath(absolute);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw placeError(absolute, error);
  }
  if (await lstat(absolute).catch(() => null)) {
    throw new BackupError(`${showPath(absolute)} is a link to a file that does not exist`);
  }
  try {
    return join(await realpath(dirname(absolute)), basename(absolute));
  } catch {
    return absolute;
  }
}

/** Creates the folder of a file, for its owner only, if it is missing. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw placeError(dirname(path), error);
  }
}

/** Temporary files that this process writes now. */
const own = new Set<string>();
let made = 0;

/**
 * Creates an empty temporary file for `target` in `folder`, by default beside it, readable for its owner only. Removes
 * those of earlier runs that were killed.
 */
export async function createTemporary(
  target: string,
  clock: Clock,
  folder = dirname(target),
): Promise<string> {
  const start = `.${basename(target)}.`;
  await removeAbandoned(folder, start, clock);
  const path = join(folder, `${start}${machine()}-${process.pid}-${++made}${PARTIAL}`);
  try {
    // One of a process with the same number, in another container.
    await rm(path, { force: true });
    const file = await open(path, "wx", 0o600);
    await file.close();
    await chmod(path, 0o600);
  } catch (error) {
    throw placeError(path, error);
  }
  own.add(path);
  return path;
}

/** Removes a temporary file and what SQLite keeps beside it. */
export async function removeTemporary(path: string): Promise<void> {
  own.delete(path);
  for (const end of ["", "-journal", "-wal", "-shm"]) await rm(path + end, { force: true });
}

const machine = (): string => hostname().replace(/[^A-Za-z0-9.]/g, "") || "host";

async function removeAbandoned(folder: string, start: string, clock: Clock): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(start)) continue;
    const parts = /^(.+)-(\d+)-\d+\.partial(-journal|-wal|-shm)?$/.exec(name.slice(start.length));
    if (!parts) continue;
    const path = join(folder, name);
    const info = await lstat(path).catch(() => null);
    if (!info?.isFile() || own.has(path.replace(/\.partial.*$/, PARTIAL))) continue;
    const is_over = parts[1] === machine() && !isRunning(Number(parts[2]));
    if (is_over || info.mtimeMs / 1000 < clock.now() - ABANDONED) await rm(path, { force: true });
  }
}

function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

/**
 * Writes a whole temporary file to the disk, and gives it its name. `is_new`: throws if there is a file of that name,
 * instead of replacing it.
 */
export async function publish(
  temporary: string,
  target: string,
  clock: Clock,
  { is_new = false } = {},
): Promise<void> {
  try {
    const file = await open(temporary, "r+");
    try {
      await file.sync();
    } finally {
      await file.close();
    }
    await utimes(temporary, clock.now(), clock.now());
    if (is_new) await linkNew(temporary, target);
    else await rename(temporary, target);
    own.delete(temporary);
    await syncFolder(dirname(target));
  } catch (error) {
    throw placeError(target, error);
  }
}

/** A link never replaces a file. Some file systems have none. */
async function linkNew(temporary: string, target: string): Promise<void> {
  try {
    await link(temporary, target);
    await rm(temporary);
    return;
  } catch (error) {
    if (codeOf(error) !== "EEXIST" && !existsSync(target)) return rename(temporary, target);
    throw new BackupError(`${showPath(target)} exists; move it away first`);
  }
}

/** A new name is lost in a power cut unless its folder is written. Not every system can do that. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r").catch(() => null);
  try {
    await folder?.sync();
  } catch (error) {
    if (!/^(EINVAL|EISDIR|EPERM|ENOTSUP)$/.test(codeOf(error))) throw error;
  } finally {
    await folder?.close();
  }
}

/** True if both paths lead to one existing file. */
export function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }));
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino;
}

/** Size of a file in bytes; 0 if there is none. */
export const sizeOf = async (path: string): Promise<number> =>
  (await stat(path).catch(() => null))?.size ?? 0;

/** Why a file cannot be written, by the code of the system or of SQLite. */
export function placeError(path: string, error: unknown): BackupError {
  if (error instanceof BackupError) return error;
  const code = codeOf(error instanceof Error && error.cause ? error.cause : error);
  // The name of a temporary file says nothing to anybody.
  const shown = showPath(path.endsWith(PARTIAL) ? dirname(path) : path);
  const why = /^(ENOSPC|EDQUOT|EFBIG|SQLITE_FULL)/.test(code)
    ? `there is no room left for ${shown}`
    : /^(EACCES|EPERM|EROFS|SQLITE_(READONLY|PERM))/.test(code)
      ? `${shown} may not be written`
      : `${shown} cannot be written`;
  return new BackupError(code === "" ? why : `${why} (${code})`, { cause: error });
}
