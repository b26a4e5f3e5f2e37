/** A copy of a store in a new file, as it is at one moment, while Relay runs. */

import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../src/clock.ts";
import { showPath } from "../../src/config-files.ts";
import { codeOf } from "../../src/log.ts";
import { openReadOnly } from "../store/connection.ts";
import { pathOf } from "../store/embedded.ts";
import { endpointOf } from "../store/hrana.ts";
import { isBusy, whenFree } from "../store/store.ts";
import { assertNotForeign } from "../store/store-contents.ts";
import { createVault } from "../store/vault.ts";
import { hasFrames } from "../store/wal-file.ts";
import { BackupError, placeError } from "./backup-files.ts";
import { assertOpensServer, changeOfPrimary, readServer } from "./cursor.ts";
import { createFileWriter, orAborted } from "./file-writer.ts";

/** The store that a command or job is about: `DATABASE_URL`, `DATABASE_AUTH_TOKEN`, `BACKUP_URL` and `DATABASE_ENCRYPTION_KEY`. */
export interface StorePlace {
  readonly url: string;
  readonly auth_token: string | undefined;
  /** `http(s)` URL of a read replica of the libSQL server at `url`, which backups are read from; same token. */
  readonly replica_url?: string | undefined;
  /** 32 bytes. Files, also those of backups, are then encrypted with it; rows are copied as they are. */
  readonly encryption_key?: Uint8Array | undefined;
}

/** The key of the files of a store; null if they are not encrypted. */
export const fileKeyOf = ({ encryption_key }: StorePlace): string | null =>
  createVault(encryption_key).file_key;

export interface Work {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** The path of a store in a file, absolute or as given; null for a libSQL server. */
export const fileOf = ({ url }: StorePlace): string | null =>
  url.startsWith("file:") ? pathOf(url) : null;

/** Copies the store into the empty file `to`. Throws {@link BackupError}. */
export async function snapshot(from: StorePlace, to: string, work: Work): Promise<void> {
  const path = fileOf(from);
  if (path === null) await copyServer(from, to, work);
  else await copyFile(path, to, fileKeyOf(from), work);
}

/**
 * Copies a file by `VACUUM INTO`, in a thread of the binding. That reads in one transaction, so writers go on, but the
 * write-ahead log grows meanwhile. `alone`: no other process uses the file, and it has no log; SQLite then creates nothing
 * beside it.
 */
export async function copyFile(
  path: string,
  to: string,
  file_key: string | null,
  { clock, signal }: Work,
  { alone } = { alone: false },
): Promise<void> {
  if (!existsSync(path)) throw new BackupError(`there is no store at ${showPath(path)}`);
  const connection = openReadOnly(path, alone || isReadAlone(path), file_key);
  let copy: Promise<void> | null = null;
  let is_open = false;
  try {
    await whenFree(clock, () => assertNotForeign((one) => connection.run(one).rows));
    is_open = true;
    if (
      connection.prepare("select 1 from sqlite_schema where name = 'relay_migrations'").all()
        .length === 0
    ) {
      throw new BackupError(`${showPath(path)} is no store of Relay`);
    }
    copy = whenFree(clock, () => connection.execAsync(`vacuum into '${to.replaceAll("'", "''")}'`));
    await orAborted(copy, signal);
  } catch (error) {
    throw copyError(path, is_open ? to : null, error);
  } finally {
    // A copy that was aborted goes on, and closing a connection that is busy would block the process.
    const close = () => connection.close();
    if (copy) copy.then(close, close);
    else close();
  }
}

/**
 * True if the file is to be read without its log, which is empty: SQLite makes an index of the log, also for a reader, and
 * the folder cannot be written, such as on the disk of a lost machine. Throws {@link BackupError} for a log with changes.
 */
export function isReadAlone(path: string): boolean {
  const file = realpathSync(path);
  if (existsSync(`${file}-shm`)) return false;
  try {
    accessSync(dirname(file), constants.W_OK);
    return false;
  } catch {
    if (!hasFrames(`${file}-wal`)) return true;
    throw new BackupError(
      `${showPath(`${file}-wal`)} has changes, and its folder may not be written; copy it, and the file that it belongs to, to another folder first`,
    );
  }
}

async function copyServer(from: StorePlace, to: string, work: Work): Promise<void> {
  const { clock, signal } = work;
  const writer = createFileWriter(to, fileKeyOf(from), work);
  try {
    const primary = endpointOf(from.url, from.auth_token);
    const replica = from.replica_url && endpointOf(from.replica_url, from.auth_token);
    // What was acknowledged before the backup began is in it, however far behind the replica was.
    const change = replica ? await changeOfPrimary(primary, replica, clock, signal) : undefined;
    const source = replica || primary;
    const schema = await readServer(source, writer, clock, signal, writer.begin, change);
    if (!schema.tables.some(({ name }) => name === "relay_migrations")) {
      throw new BackupError("the libSQL server has no store of Relay");
    }
    await assertOpensServer(source, createVault(from.encryption_key), clock, signal);
    await writer.finish(schema);
  } catch (error) {
    throw copyError(null, to, error);
  } finally {
    writer.close();
  }
}

/** Says whether the store `from` or the place `to` is at fault, as far as it can be one of them. */
export function copyError(from: string | null, to: string | null, error: unknown): unknown {
  if (error instanceof BackupError) return error;
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = codeOf(cause);
  if (!/^(SQLITE_|E[A-Z]+$)/.test(code)) return error;
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code) && from !== null) {
    const what = code.startsWith("SQLITE_NOTADB")
      ? "is not a database, or not one of this DATABASE_ENCRYPTION_KEY"
      : "is damaged";
    return new BackupError(`${showPath(from)} ${what} (${code})`, { cause });
  }
  const shown = showPath((from ?? to)!);
  if (isBusy(cause)) return new BackupError(`another program keeps ${shown} locked`, { cause });
  if (to !== null) return placeError(to, cause);
  return new BackupError(`${shown} cannot be read (${code})`, { cause });
}
