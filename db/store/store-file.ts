/** The files of an embedded store: checks them before they are opened, creates them for the owner alone, watches them. */

import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  realpathSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Clock } from "../../src/clock.ts";
import { codeOf } from "../../src/log.ts";
import { openReadOnly } from "./connection.ts";
import { sql } from "./sql.ts";
import { rowOf, statement } from "./statement.ts";
import { whenFree } from "./store.ts";
import {
  assertNotForeign,
  BACKUP_TABLE,
  IS_BACKUP,
  NEEDS_KEY,
  NOT_ENCRYPTED,
  OTHER_KEY,
  RefusedStore,
  UNFINISHED,
} from "./store-contents.ts";
import { belongsTogether, formOf, hasFrames, isInWalMode } from "./wal-file.ts";

/** Bytes of the page that a first start writes with a rollback journal before it turns on WAL mode. */
const FIRST_PAGE = 4_096;

/**
 * Throws {@link RefusedStore} for what is not a store of Relay, or would be destroyed by being opened: a folder, the
 * database of another program, a backup, a file whose encryption does not match the key, and a write-ahead log whose file is
 * missing, empty or another one, since SQLite would delete the log or mix the two (§11.4.7). Writes nothing, and creates
 * no file.
 */
export async function checkStoreFile(
  given: string,
  file_key: string | null,
  clock: Clock,
): Promise<void> {
  const path = targetOf(given);
  const name = basename(path);
  const log = `${path}-wal`;
  // Before the file, since another process that starts creates the file first.
  const has_frames = hasFrames(log);
  const file = statSync(path, { throwIfNoEntry: false });
  if (file && !file.isFile()) {
    throw new RefusedStore(
      `${file.isDirectory() ? "a folder" : "not a regular file"}, not a database`,
    );
  }
  if (has_frames && !file?.size) {
    throw new RefusedStore(
      `${name} is ${file ? "empty" : "missing"}, but ${name}-wal beside it holds changes. Put back the file that the log belongs to, or move the log away`,
    );
  }
  if (!file) refuseUnfinished(path);
  if (!file?.size) return;
  const refuseLog = () => {
    throw new RefusedStore(
      `${name}-wal beside ${name} belongs to another file. Put back the file that the log belongs to, or move the log away`,
    );
  };
  const form = formOf(path);
  if (form === "encrypted" && file_key === null) throw new RefusedStore(NEEDS_KEY);
  if (form === "plain" && file_key !== null) throw new RefusedStore(NOT_ENCRYPTED);
  // Before any connection: see createStoreFile.
  if (has_frames && !belongsTogether(path, log)) refuseLog();
  const is_first_page = file.size <= FIRST_PAGE;
  await refuseOthers(path, { file_key, has_frames, is_first_page }, clock);
  if (!has_frames) return;
  const [alone, with_log] = [secretIn(path, true, file_key), secretIn(path, false, file_key)];
  if (alone !== null && with_log !== null && alone !== with_log) refuseLog();
}

/** Beside the path, from the start of a restore or move to it until one is complete. */
export const unfinishedMark = (path: string): string =>
  join(dirname(path), `.${basename(path)}.unfinished.txt`);

/**
 * Otherwise a start after a restore that failed or was cut off would create an empty store: it would sign everybody out,
 * and nothing could be restored in its place any more.
 */
function refuseUnfinished(path: string): void {
  const mark = unfinishedMark(path);
  if (!existsSync(mark)) return;
  throw new RefusedStore(`${UNFINISHED}, or delete ${mark} if you want a new store`);
}

/** A store gets this secret at its first start and keeps it. Two stores never have the same one. */
const secret = statement(sql`select value from secrets where name = 'signing'`, {
  returns: rowOf<[value: string]>(),
});

const backupMark = statement(
  sql`select name from sqlite_schema where name = ${sql.raw(`'${BACKUP_TABLE}'`)}`,
  { returns: rowOf<[name: string]>() },
);

/** Null if there is none, or the file cannot be read without its log, as in the middle of a checkpoint. */
export function secretIn(path: string, immutable: boolean, file_key: string | null): string | null {
  const connection = openReadOnly(path, immutable, file_key);
  try {
    const [row] = connection.run(secret({})).rows;
    return row ? String(row[0]) : null;
  } catch {
    return null;
  } finally {
    connection.close();
  }
}

interface CheckedFile {
  readonly file_key: string | null;
  readonly has_frames: boolean;
  readonly is_first_page: boolean;
}

/** Reads through a connection that cannot write, which also checks the key. */
async function refuseOthers(
  path: string,
  { file_key, has_frames, is_first_page }: CheckedFile,
  clock: Clock,
): Promise<void> {
  // Without frames the file alone is the store, and opening the log would create one beside a foreign file.
  // Looked at before the connection: see createStoreFile.
  const in_wal_mode = isInWalMode(path);
  const connection = openReadOnly(path, !has_frames && in_wal_mode, file_key);
  try {
    await whenFree(clock, () => assertNotForeign((statement) => connection.run(statement).rows));
    // A store that an earlier version made of a backup has the mark too, and is in this mode.
    if (!in_wal_mode && connection.run(backupMark({})).rows.length > 0) {
      throw new RefusedStore(IS_BACKUP);
    }
  } catch (error) {
    // A first start that was cut off: the next connection rolls its page back.
    const code = codeOf((error as Error).cause ?? error);
    if (code === "SQLITE_NOTADB" && file_key !== null && formOf(path) === "encrypted") {
      throw new RefusedStore(`${OTHER_KEY}, or damaged`);
    }
    if (!is_first_page || code !== "SQLITE_READONLY_ROLLBACK") throw error;
  } finally {
    connection.close();
  }
}

/** The path behind symbolic links, where SQLite opens the file and its log. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * Creates the file and its folder if they are missing (§11.4.6), and throws if an existing file cannot be read and
 * written. Returns its path behind symbolic links, beside which SQLite keeps the log. Never opens an existing file: closing it would release the locks that SQLite holds on it in this process
 * (POSIX), and the next program that closes the file would delete the log of a store in use.
 */
export function createStoreFile(path: string): string {
  if (existsSync(path)) {
    accessSync(path, constants.R_OK | constants.W_OK);
  } else {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // The log and the index beside the file get the mode of the file.
    closeSync(openSync(path, "a", 0o600));
  }
  return realpathSync(path);
}

/** Tells a file from another one under the same name; null if no file can be reached. */
function identityOf(path: string): string | null {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}

/**
 * Returns a function that is true while all the names, of a file and its write-ahead log, lead where they led. Both hold
 * what was committed. A call takes 3 µs for each name.
 */
export function watchStoreFile(paths: readonly string[]): () => boolean {
  const known = paths.map(identityOf);
  return () => paths.every((one, i) => identityOf(one) === known[i]);
}
