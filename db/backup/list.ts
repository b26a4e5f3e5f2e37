/** The backups of a store that runs with `keep` made. */

import { lstat, readdir, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { showPath } from "../../src/config-files.ts";
import { codeOf } from "../../src/log.ts";
import { BackupError, timeIn } from "./backup-files.ts";
import { type Origin, originOf } from "./origin.ts";

/** Seconds. A backup from later than this was made while a clock was wrong, then or now. */
export const CLOCK_DIFFERS = 300;

/** A backup with its time in its name. */
interface BackupFile {
  /** Absolute path. */
  readonly file: string;
  /** Epoch seconds. */
  readonly made_at: number;
  readonly bytes: number;
}

/**
 * The backups of the store `of` that runs with `keep` made for `file`, newest first. A missing folder has none. Files with
 * another name, backups of other stores, and those that the key does not open are left out.
 */
export async function listBackups(file: string, of: Origin): Promise<readonly BackupFile[]> {
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
    if (!info?.isFile()) continue;
    const origin = await originOf(path, of.vault).catch(() => null);
    if (origin?.secret !== of.secret) continue;
    found.push({ file: path, made_at, bytes: info.size });
  }
  return found.sort((a, b) => b.made_at - a.made_at);
}

/**
 * Removes all but the newest `keep` backups of {@link listBackups}, and never `made`. Those of a time after `now` are
 * counted apart: a wrong clock must not push out what a right one made. Returns the removed ones.
 */
export async function removeOld(
  file: string,
  keep: number,
  made: string,
  { of, now }: { readonly of: Origin; readonly now: number },
): Promise<string[]> {
  const all = await listBackups(file, of);
  const isLater = (one: BackupFile) => one.made_at > now + CLOCK_DIFFERS;
  const surplus = [
    ...all.filter((one) => !isLater(one)).slice(keep),
    ...all.filter(isLater).slice(keep),
  ].filter((one) => one.file !== made);
  const left: string[] = [];
  for (const { file: path } of surplus) {
    await unlink(path).catch((error: unknown) => {
      // Another process may have removed it.
      if (codeOf(error) !== "ENOENT") left.push(`${showPath(path)} (${codeOf(error)})`);
    });
  }
  if (left.length === 0) return surplus.map((one) => one.file);
  throw new BackupError(`the backup is made, but an older one cannot be removed: ${left[0]}`);
}
