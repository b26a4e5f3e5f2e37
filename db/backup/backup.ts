/** Makes a backup of a store while Relay runs. */

import { statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Clock } from "../../src/clock.ts";
import { showPath } from "../../src/config-files.ts";
import { codeOf } from "../../src/log.ts";
import { openConnection } from "../store/connection.ts";
import { RefusedStore } from "../store/store-contents.ts";
import { createVault } from "../store/vault.ts";
import {
  BackupError,
  createTemporary,
  isSameFile,
  makeFolder,
  placeError,
  publish,
  removeTemporary,
  sizeOf,
  targetOf,
  timedName,
} from "./backup-files.ts";
import { checkCopy, markBackup, rowsIn } from "./contents.ts";
import { orAborted } from "./file-writer.ts";
import { removeOld } from "./list.ts";
import { type Origin, originOf } from "./origin.ts";
import { fileKeyOf, fileOf, type StorePlace, snapshot, type Work } from "./snapshot.ts";

export interface BackupOptions extends Work {
  readonly store: StorePlace;
  /** Path of the backup. Its folder is created if it is missing. */
  readonly file: string;
  /**
   * Null: the backup gets the name `file`, in place of an earlier backup. A number from 1: the name also has the time
   * (UTC), as in `relay-20261126T030000Z.db`, and only that many of the newest backups with such a name are kept.
   */
  readonly keep: number | null;
  /** Called with the complete copy before it gets its name. If it throws, the copy is removed. */
  readonly inspect?: ((connection: ReturnType<typeof openConnection>) => void) | undefined;
}

export interface Backup {
  /** Absolute path. */
  readonly file: string;
  /** Epoch seconds. */
  readonly made_at: number;
  readonly bytes: number;
  readonly rows: number;
  /** Seconds that it took. */
  readonly seconds: number;
  /** Older backups that were removed. */
  readonly removed: readonly string[];
}

/**
 * Copies the store as it is at one moment into a SQLite file, which only its owner may read, and checks it before it gets
 * its name. Whatever happens, there is a whole backup under that name, or none. Readers and writers of the store go on.
 * Hangs with the disk of `file`, so a service makes backups in another process, which it can end.
 *
 * Rejects with {@link BackupError}: no store, no room, a place that cannot be written, a libSQL server that hangs for a
 * minute, or a `file` that is something else than a backup of this store. Older backups then stay. Rejects with the reason of
 * `signal`.
 */
export async function backupStore({
  store,
  file,
  keep,
  clock,
  signal,
  inspect,
}: BackupOptions): Promise<Backup> {
  const since = clock.elapsed();
  const made_at = Math.floor(clock.now());
  await makeFolder(file);
  // With the time in the name, a link of the name itself, such as to the newest backup, has no meaning.
  const path = resolve(file);
  const given =
    keep === null ? await targetOf(path) : join(await targetOf(dirname(path)), basename(path));
  await assertFreeName(store, given, keep);
  const temporary = await createTemporary(given, clock);
  try {
    await snapshot(store, temporary, { clock, signal });
    const completed = completeBackup(temporary, fileKeyOf(store), made_at, inspect);
    const rows = await orAborted(completed, signal);
    const bytes = await sizeOf(temporary);
    const vault = createVault(store.encryption_key);
    const origin = (await originOf(temporary, vault))!;
    const made = { made_at, bytes, rows };
    if (keep === null) {
      await assertReplaceable(given, origin);
      await publish(temporary, given, clock);
      return { ...made, file: given, seconds: clock.elapsed() - since, removed: [] };
    }
    const target = await publishTimed(temporary, given, made_at, clock);
    const removed = await removeOld(given, keep, target, { of: origin, now: clock.now() });
    return { ...made, file: target, seconds: clock.elapsed() - since, removed };
  } finally {
    await removeTemporary(temporary, clock);
  }
}

/** Throws for a name that a backup must not get, before the work begins. */
async function assertFreeName(
  store: StorePlace,
  given: string,
  keep: number | null,
): Promise<void> {
  if (statSync(given, { throwIfNoEntry: false })?.isDirectory()) {
    throw new BackupError(`${showPath(given)} is a folder; give the name of a file in it`);
  }
  // With the time in its name, a backup replaces nothing.
  if (keep !== null) return;
  const file = fileOf(store);
  const path = file === null ? null : await targetOf(file);
  if (path !== null && ["", "-wal", "-shm"].some((end) => isSameFile(given, path + end))) {
    throw new BackupError(`${showPath(given)} is the store itself`);
  }
  await assertReplaceable(given, { vault: createVault(store.encryption_key) });
}

/** Gives the backup a name with its time: the next second that no other backup has, such as one of another store. */
async function publishTimed(
  temporary: string,
  given: string,
  made_at: number,
  clock: Clock,
): Promise<string> {
  for (let at = made_at; ; at++) {
    const target = timedName(given, at);
    if (await publish(temporary, target, clock, { if_exists: "keep" })) return target;
  }
}

/** Throws for a file that is not a backup of this store, whose secret may not be known yet. */
async function assertReplaceable(
  path: string,
  { secret, vault }: Pick<Origin, "vault"> & Partial<Origin>,
): Promise<void> {
  const fault = (what: string) => new BackupError(`${showPath(path)} exists, and ${what}`);
  let found: Origin | null;
  try {
    found = await originOf(path, vault);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw placeError(path, error);
  }
  if (found === null) {
    throw fault("is no backup of Relay, or one with another key; give another name");
  }
  if (secret !== undefined && found.secret !== secret) {
    throw fault("is a backup of another store; give another name");
  }
}

/** Marks and checks the copy, and returns its number of rows. */
async function completeBackup(
  path: string,
  file_key: string | null,
  made_at: number,
  inspect: BackupOptions["inspect"],
): Promise<number> {
  const connection = openConnection(path, 0, file_key);
  try {
    // The file is written to the disk as a whole before it gets its name.
    connection.prepare("pragma journal_mode = off").all();
    connection.exec("pragma synchronous = off");
    await markBackup(connection, made_at);
    await checkCopy(connection, { fully: false, what: "the copy" });
    inspect?.(connection);
    return rowsIn(connection);
  } catch (error) {
    if (error instanceof RefusedStore) throw error;
    throw placeError(path, error);
  } finally {
    connection.close();
  }
}
