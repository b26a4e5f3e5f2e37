/** Restores a backup into an empty place. */

import { existsSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { showPath } from "../../src/config-files.ts";
import { VERSION } from "../../src/version.ts";
import { openConnection, openReadOnly } from "../store/connection.ts";
import { endpointOf } from "../store/hrana.ts";
import { openStore } from "../store/open.ts";
import { hasFrames, isInWalMode } from "../store/wal-file.ts";
import {
  BackupError,
  claimPlace,
  createPrivateFolder,
  createTemporary,
  placeError,
  publishStore,
  removeFolder,
  removeTemporary,
  sizeOf,
} from "./backup-files.ts";
import { checkCopy, madeAt, oldestVersionIn, unmarkBackup } from "./contents.ts";
import { type Forgotten, forget } from "./forget.ts";
import { keepOwn } from "./own-schema.ts";
import { countRows, createSums, readFile, type Value } from "./rows.ts";
import { claimServer, fillServer } from "./server-writer.ts";
import { copyFile, fileKeyOf, fileOf, type StorePlace, type Work } from "./snapshot.ts";

export interface RestoreOptions extends Work {
  readonly store: StorePlace;
  /** Path of the backup, or of another whole copy of a store in one file. */
  readonly file: string;
  /** True: everything stays as in the backup, so what was waiting is sent, and tokens of OAuth are accepted. */
  readonly as_copy: boolean;
  /**
   * Path of the store that this one replaces, or of a later backup of it: what ended there, ends in the restored store.
   * Null if there is none.
   */
  readonly old: string | null;
  /** A name that no other run has. */
  readonly run: string;
}

export interface Restored {
  /** The absolute path of the file, or the address of the server. */
  readonly where: string;
  /** When the backup was made, in epoch seconds; null for another copy of a store. */
  readonly made_at: number | null;
  readonly rows: number;
  readonly bytes: number;
  readonly seconds: number;
  /** What was left out; null for a copy. */
  readonly forgotten: Forgotten | null;
  /** What somebody else had added to the backup, such as `trigger copied`. It was not restored. */
  readonly left_out: readonly string[];
}

/**
 * Restores a backup into a file that does not exist yet, or a libSQL server without tables. The file gets its name, and
 * the server becomes a store, only once everything is there and checked. Until then no Relay starts there, also after a
 * failure, and another call begins again.
 *
 * Rejects with {@link BackupError}: a place that is not empty, and a file that is damaged, no store of Relay, in use, or
 * of a version that this one cannot follow.
 */
export async function restoreStore(options: RestoreOptions): Promise<Restored> {
  const { store, file, clock, signal } = options;
  const since = clock.elapsed();
  const path = fileOf(store);
  const target = path === null ? null : await claimPlace(path);
  if (target === null)
    await claimServer(endpointOf(store.url, store.auth_token), options.run, { clock, signal });
  const source = checkSource(file);
  /** For a copy on the way to a server. */
  let folder: string | null = null;
  let temporary: string | null = null;
  try {
    folder = target === null ? await createPrivateFolder() : null;
    const file_key = fileKeyOf(store);
    temporary = await createTemporary(target ?? join(folder!, "relay.db"), clock);
    await copyFile(source, temporary, file_key, { clock, signal }, { alone: true });
    const { made_at, forgotten, left_out } = await prepare(temporary, options);
    signal?.throwIfAborted();
    const bytes = await sizeOf(temporary);
    const rows =
      target === null
        ? await upload(temporary, options)
        : await publishFile(temporary, target, options);
    const where = target ?? endpointOf(store.url, undefined).base;
    const seconds = clock.elapsed() - since;
    return { where, made_at, rows, bytes, seconds, forgotten, left_out };
  } finally {
    if (temporary !== null) await removeTemporary(temporary, clock);
    if (folder !== null) await removeFolder(folder);
  }
}

/** Throws if the source is not a file, or has a log that was not merged into it. */
function checkSource(file: string): string {
  const info = statSync(file, { throwIfNoEntry: false });
  if (!info) throw new BackupError(`there is no file ${showPath(file)}`);
  if (!info.isFile()) throw new BackupError(`${showPath(file)} is no file`);
  const log = `${realpathSync(file)}-wal`;
  if (hasFrames(log)) {
    throw new BackupError(
      `${showPath(file)} is a store that is in use or was killed, since ${showPath(log)} has changes; use relay backup or relay migrate`,
    );
  }
  return file;
}

/** Checks the copy, and makes it the store that is restored. */
async function prepare(path: string, { store, file, as_copy, old, clock }: RestoreOptions) {
  const file_key = fileKeyOf(store);
  const what = showPath(file);
  const raw = openConnection(path, 0, file_key);
  let made_at: number | null;
  let left_out: readonly string[];
  try {
    raw.prepare("pragma journal_mode = off").all();
    raw.exec("pragma synchronous = off");
    // A backup is not in this mode, but a store that was made of one without this command is.
    const used = isInWalMode(file);
    await checkCopy(raw, { fully: true, what, used });
    assertKnown(raw, what);
    made_at = used ? null : madeAt(raw);
    unmarkBackup(raw);
    left_out = keepOwn(raw, what);
  } catch (error) {
    throw placeError(path, error);
  } finally {
    raw.close();
  }
  if (as_copy) return { made_at, forgotten: null, left_out };
  if (old !== null && !existsSync(old))
    throw new BackupError(`there is no store at ${showPath(old)}`);
  // Tables of an older version first get their present form.
  const { encryption_key } = store;
  const own = { url: `file:${path}`, auth_token: undefined, encryption_key };
  await (await openStore(own, clock)).close();
  const connection = openConnection(path, 0, file_key);
  try {
    const forgotten = forget(
      connection,
      clock.now(),
      old === null ? null : { path: old, file_key },
    );
    // Everything has to be in the file, since it gets its name without its log.
    const [row] = connection.prepare("pragma main.wal_checkpoint(truncate)").all() as Value[][];
    if (row![0] !== 0) throw new BackupError("the restored file is in use by another program");
    return { made_at, forgotten, left_out };
  } catch (error) {
    throw placeError(path, error);
  } finally {
    connection.close();
  }
}

/** Throws for a store that permits only newer versions. */
function assertKnown(connection: ReturnType<typeof openConnection>, what: string): void {
  const oldest = oldestVersionIn(connection);
  if (oldest !== undefined && Bun.semver.order(VERSION, oldest) < 0) {
    throw new BackupError(`${what} needs version ${oldest} or later, and this is ${VERSION}`);
  }
}

async function publishFile(
  temporary: string,
  target: string,
  { store, clock, signal }: RestoreOptions,
): Promise<number> {
  const connection = openReadOnly(temporary, true, fileKeyOf(store));
  const { taker, sums } = createSums();
  try {
    await readFile(connection, taker, signal);
  } finally {
    connection.close();
  }
  await publishStore(temporary, target, clock);
  return countRows(sums);
}

async function upload(
  temporary: string,
  { store, run, clock, signal }: RestoreOptions,
): Promise<number> {
  const connection = openReadOnly(temporary, true, fileKeyOf(store));
  try {
    const sums = await fillServer(
      endpointOf(store.url, store.auth_token),
      (taker, begin) => readFile(connection, taker, signal, begin),
      run,
      { clock, signal },
    );
    return countRows(sums);
  } finally {
    connection.close();
  }
}
