/** The files of backups: their names, the mark in their header, temporary files, and how one gets its name for good. */

import { existsSync, mkdtempSync, statSync } from "node:fs";
import {
  chmod,
  chown,
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
import { hostname, tmpdir } from "node:os";
import { basename, dirname, extname, join, relative, resolve, sep } from "node:path";
import type { Clock } from "../../src/clock.ts";
import { showPath } from "../../src/config-files.ts";
import { codeOf } from "../../src/log.ts";
import { unfinishedMark } from "../store/store-file.ts";

/** What is wrong and what to do, in one line without a secret. */
export class BackupError extends Error {
  override readonly name = "BackupError";
}

/** SQLite's application id of a backup, `RlyB`. A store that is in use has 0. */
export const BACKUP_ID = 0x526c7942;

/** Seconds without a change after which a temporary file of another machine counts as left behind. */
const ABANDONED = 3_600;

/** The end of the name of a temporary file, before what SQLite adds. */
const PARTIAL = ".partial";

/** The name with the UTC time, such as `relay-20261126T030000Z.db` for `relay.db`. */
export function timedName(file: string, at: number): string {
  const end = extname(file);
  const time = new Date(Math.floor(at) * 1000).toISOString().replace(/[-:]|\.\d+/g, "");
  return join(dirname(file), `${basename(file, end)}-${time}${end}`);
}

/** The time in a name that {@link timedName} made of `file`; null for any other name. */
export function timeIn(name: string, file: string): number | null {
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

/**
 * Gives what root has created to the user who owns the folder that it is in, since the service of that user has to read and
 * write it. Does nothing for another user, and where the file system has no owners.
 */
async function giveToOwner(path: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(dirname(path));
  await chown(path, uid, gid).catch(() => {});
}

/** Creates the folder of a file, for its owner only, if it is missing. */
export async function makeFolder(path: string): Promise<void> {
  try {
    const folder = resolve(dirname(path));
    const first = await mkdir(folder, { recursive: true, mode: 0o700 });
    if (first === undefined) return;
    // Each of the new folders, from the outermost on.
    const inner = relative(first, folder).split(sep);
    for (let i = 0; i <= inner.length; i++) await giveToOwner(join(first, ...inner.slice(0, i)));
  } catch (error) {
    throw placeError(dirname(path), error);
  }
}

/** The names of temporary files and folders that this process uses now. */
const own = new Set<string>();
let made = 0;

const startOf = (target: string): string => `.${basename(target)}.`;

/**
 * Creates an empty temporary file beside `target`, readable for its owner only: for root, that is the owner of the folder. Removes those of earlier runs that were
 * killed.
 */
export async function createTemporary(target: string, clock: Clock): Promise<string> {
  await removeAbandoned(target, clock);
  // No other run has this name, also of a process with the same number in another container.
  const run = `${Math.floor(clock.now() * 1000)}${++made}`;
  const path = join(dirname(target), `${startOf(target)}${thisProcess()}-${run}${PARTIAL}`);
  own.add(basename(path));
  try {
    await (await open(path, "wx", 0o600)).close();
    await chmod(path, 0o600);
    await giveToOwner(path);
  } catch (error) {
    own.delete(basename(path));
    throw placeError(path, error);
  }
  return path;
}

/** Seconds that a temporary file may take to be removed. */
const REMOVAL = 5;

/** Removes a temporary file and what SQLite keeps beside it. What cannot be removed now, a later run removes. */
export async function removeTemporary(path: string, clock: Clock): Promise<void> {
  // One after the other: on a disk that hangs, each takes a thread.
  const removeAll = async () => {
    for (const end of ["", "-journal", "-wal", "-shm"]) {
      await rm(path + end, { force: true }).catch(() => {});
    }
  };
  // A disk that hangs must not hide what it made fail.
  const over = Promise.withResolvers<void>();
  const cancel = clock.after(REMOVAL, over.resolve);
  await Promise.race([removeAll(), over.promise]).finally(cancel);
  own.delete(basename(path));
}

/** The names of folders that {@link createPrivateFolder} makes. */
const PRIVATE = /^relay-restore-(.+)-(\d+)-\w+$/;

/**
 * Creates a folder with a name that nobody can guess, for this user only, in the system's folder for temporary files.
 * Removes those of earlier runs of this user that were killed.
 */
export async function createPrivateFolder(parent = tmpdir()): Promise<string> {
  for (const name of await readdir(parent).catch(() => [])) {
    const [, host, pid] = PRIVATE.exec(name) ?? [];
    const path = join(parent, name);
    if (host !== machine() || isRunning(Number(pid)) || own.has(name)) continue;
    const info = await lstat(path).catch(() => null);
    if (info?.isDirectory() && info.uid === process.getuid?.()) await removeFolder(path);
  }
  try {
    const folder = mkdtempSync(join(parent, `relay-restore-${thisProcess()}-`));
    own.add(basename(folder));
    return folder;
  } catch (error) {
    throw placeError(parent, error);
  }
}

/** Removes a folder of {@link createPrivateFolder}. */
export async function removeFolder(path: string): Promise<void> {
  own.delete(basename(path));
  await rm(path, { recursive: true, force: true }).catch(() => {});
}

const thisProcess = () => `${machine()}-${process.pid}`;

const machine = (): string => hostname().replace(/[^A-Za-z0-9.]/g, "") || "host";

/** Removes the temporary files for `target` of runs that were killed. */
export async function removeAbandoned(target: string, clock: Clock): Promise<void> {
  const [folder, start] = [dirname(target), startOf(target)];
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(start)) continue;
    const parts = /^(.+)-(\d+)-\d+\.partial(-journal|-wal|-shm)?$/.exec(name.slice(start.length));
    if (!parts) continue;
    const path = join(folder, name);
    const info = await lstat(path).catch(() => null);
    if (!info?.isFile() || own.has(name.replace(/\.partial.*$/, PARTIAL))) continue;
    const is_over = parts[1] === machine() && !isRunning(Number(parts[2]));
    if (!is_over && info.mtimeMs / 1000 >= clock.wall() - ABANDONED) continue;
    await rm(path, { force: true }).catch(() => {});
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
 * Writes a whole temporary file to the disk, and gives it its name. If there is a file of that name: replaces it, or keeps
 * it and returns false.
 */
export async function publish(
  temporary: string,
  target: string,
  clock: Clock,
  { if_exists = "replace" }: { readonly if_exists?: "replace" | "keep" } = {},
): Promise<boolean> {
  try {
    await syncFile(temporary);
    await utimes(temporary, clock.now(), clock.now());
    if (if_exists === "replace") await rename(temporary, target);
    else if (!(await renameToNew(temporary, target))) return false;
    own.delete(basename(temporary));
    await syncFolder(dirname(target));
    return true;
  } catch (error) {
    throw placeError(target, error);
  }
}

/**
 * The absolute path of a store that does not exist yet. No Relay starts there until {@link publishStore}, whatever happens
 * meanwhile. Throws for a place that is not empty.
 */
export async function claimPlace(path: string): Promise<string> {
  await makeFolder(path);
  const target = await targetOf(path);
  const taken = ["", "-wal", "-journal"].map((end) => target + end).find((one) => existsSync(one));
  if (taken !== undefined) throw new BackupError(`${showPath(taken)} exists; move it away first`);
  try {
    const file = await open(unfinishedMark(target), "w", 0o600);
    try {
      // On a full disk, the name says enough.
      await file.writeFile(UNFINISHED_TEXT).catch(() => {});
      await file.sync();
    } finally {
      await file.close();
    }
    await giveToOwner(unfinishedMark(target));
    await syncFolder(dirname(target));
  } catch (error) {
    throw placeError(dirname(target), error);
  }
  return target;
}

const UNFINISHED_TEXT = `A relay restore or relay migrate to this place is not complete, so no Relay starts here. Run it again.
If you want a new store instead, delete this file.
`;

/** Writes what the system still holds of a file to its disk. */
async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** {@link publish} for a store at a place of {@link claimPlace}. */
export async function publishStore(temporary: string, target: string, clock: Clock): Promise<void> {
  if (!(await publish(temporary, target, clock, { if_exists: "keep" }))) {
    throw new BackupError(`${showPath(target)} exists; move it away first`);
  }
  // It is not looked at where there is a store.
  await rm(unfinishedMark(target), { force: true }).catch(() => {});
}

/** False if there is a file of that name: a link never replaces one. Some file systems have no links. */
async function renameToNew(temporary: string, target: string): Promise<boolean> {
  try {
    await link(temporary, target);
  } catch (error) {
    if (codeOf(error) === "EEXIST" || existsSync(target)) return false;
    await rename(temporary, target);
    return true;
  }
  await rm(temporary);
  return true;
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
