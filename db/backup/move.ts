/** Moves a store to another place: from a file to a libSQL server, or back. */

import { existsSync } from "node:fs";
import { showPath } from "../../src/config-files.ts";
import { codeOf } from "../../src/log.ts";
import { openConnection, openReadOnly } from "../store/connection.ts";
import { endpointOf } from "../store/hrana.ts";
import { isBusy } from "../store/store.ts";
import { NEEDS_KEY, NOT_ENCRYPTED, OTHER_KEY } from "../store/store-contents.ts";
import { createVault } from "../store/vault.ts";
import { formOf } from "../store/wal-file.ts";
import {
  BackupError,
  claimPlace,
  createTemporary,
  placeError,
  publishStore,
  removeTemporary,
} from "./backup-files.ts";
import { assertOpensServer, readRows, readServer } from "./cursor.ts";
import { createFileWriter } from "./file-writer.ts";
import { APPLIED, ownOf } from "./own-schema.ts";
import {
  type Choose,
  countRows,
  createSums,
  differences,
  readFile,
  SEQUENCE,
  selectAll,
  type TableSum,
  type Value,
} from "./rows.ts";
import { claimServer, fillServer, type ReadStore } from "./server-writer.ts";
import { fileKeyOf, fileOf, type StorePlace, type Work } from "./snapshot.ts";

export interface MoveOptions extends Work {
  readonly from: StorePlace;
  readonly to: StorePlace;
  /** A name that no other run has. */
  readonly run: string;
}

export interface Moved {
  /** The absolute path of the new file, or the address of the server. */
  readonly where: string;
  readonly tables: number;
  readonly rows: number;
  readonly seconds: number;
  /** What somebody else had added to the store, such as `trigger copied`. It was not copied. */
  readonly left_out: readonly string[];
}

/**
 * Copies everything that Relay made to a file that does not exist yet, or a libSQL server without tables, and compares the rows of each
 * table before it counts. The source stays as it is. A file is locked meanwhile, so that no Relay can use it; a server
 * that changed meanwhile fails the move. No Relay starts at the new place until everything is there, also after a failure.
 * Rejects with {@link BackupError}.
 */
export async function moveStore({ from, to, run, clock, signal }: MoveOptions): Promise<Moved> {
  const since = clock.elapsed();
  const work = { clock, signal };
  const path = fileOf(to);
  const endpoint = path === null ? endpointOf(to.url, to.auth_token) : null;
  const target = path === null ? null : await claimPlace(path);
  if (endpoint) await claimServer(endpoint, run, work);
  const source = await openSource(from, work);
  try {
    const sums = endpoint
      ? await fillServer(endpoint, source.read, run, work, source.assertUnchanged)
      : await fillFile(target!, fileKeyOf(to), source, work);
    const where = endpoint?.base ?? target!;
    const tables = sums.size - 1;
    const seconds = clock.elapsed() - since;
    return { where, tables, rows: countRows(sums), seconds, left_out: source.leftOut() };
  } finally {
    source.close();
  }
}

type Sums = ReadonlyMap<string, TableSum>;

interface Source {
  readonly read: ReadStore;
  /** Throws if something has changed the store since these sums of it. */
  readonly assertUnchanged: (sums: Sums) => Promise<void>;
  /** What {@link Moved.left_out} says, once it was read. */
  leftOut(): readonly string[];
  close(): void;
}

async function openSource(from: StorePlace, { clock, signal }: Work): Promise<Source> {
  const path = fileOf(from);
  let left_out: readonly string[] = [];
  const leftOut = () => left_out;
  /** Leaves out what Relay did not make. */
  const chooseBy =
    (what: string, readApplied: () => Value[][] | Promise<Value[][]>): Choose =>
    async (schema) => {
      const applied = (await readApplied()).map(([hash]) => String(hash));
      const own = ownOf(schema, applied, what);
      left_out = own.left_out;
      return own.schema;
    };
  if (path !== null) {
    const connection = lockFile(path, fileKeyOf(from));
    const readApplied = () => connection.prepare(APPLIED).all() as Value[][];
    const choose = chooseBy(showPath(path), readApplied);
    return {
      read: (taker, begin) => readFile(connection, taker, signal, begin, choose),
      leftOut,
      assertUnchanged: async () => {},
      close: () => unlock(connection),
    };
  }
  const endpoint = endpointOf(from.url, from.auth_token);
  const chooseOwn = chooseBy("the libSQL server", async () => {
    const rows: Value[][] = [];
    const taker = { row: (row: readonly Value[]) => void rows.push([...row]) };
    await readRows(endpoint, APPLIED, taker, clock, signal);
    await assertOpensServer(endpoint, createVault(from.encryption_key), clock, signal);
    return rows;
  });
  const choose: Choose = (schema) => {
    if (!schema.tables.some(({ name }) => name === "relay_migrations")) {
      throw new BackupError("the libSQL server has no store of Relay");
    }
    return chooseOwn(schema);
  };
  return {
    read: (taker, begin) => readServer(endpoint, taker, clock, signal, begin, undefined, choose),
    leftOut,
    // Every change that a client sees has an event, whose number is in there.
    async assertUnchanged(sums) {
      const now = createSums();
      await now.taker.table(SEQUENCE.name, SEQUENCE.columns);
      const query = selectAll(SEQUENCE.name, SEQUENCE.columns);
      await readRows(endpoint, query, now.taker, clock, signal);
      if (now.sums.get(SEQUENCE.name)?.hash !== sums.get(SEQUENCE.name)?.hash) {
        throw new BackupError("the store changed meanwhile; stop every Relay that uses it first");
      }
    },
    close() {},
  };
}

/**
 * Opens a store and keeps every other connection out. Throws if a Relay uses it. Statements are not prepared: the binding
 * keeps a closed connection, with its locks, until its prepared statements are collected.
 */
function lockFile(path: string, file_key: string | null) {
  if (!existsSync(path)) throw new BackupError(`there is no store at ${showPath(path)}`);
  const form = formOf(path);
  if (form === "encrypted" && file_key === null) throw refused(path, NEEDS_KEY);
  if (form === "plain" && file_key !== null) throw refused(path, NOT_ENCRYPTED);
  // Without the right to write, which would do harm with a wrong key.
  const reader = openReadOnly(path, false, file_key);
  try {
    reader.exec("select 1 from relay_migrations limit 1");
  } catch (error) {
    if (isBusy(error)) throw inUse(path, error);
    // Where nothing may be written, no lock can be had.
    if (/^SQLITE_(CANTOPEN|READONLY|IOERR)/.test(codeOf(error))) throw placeError(path, error);
    if (form === "encrypted") throw refused(path, `${OTHER_KEY}, or damaged`);
    throw new BackupError(`${showPath(path)} is no store of Relay`, { cause: error });
  } finally {
    reader.close();
  }
  const connection = openConnection(path, 0, file_key);
  try {
    // First in the usual mode, to which it can then return.
    connection.exec(READ);
    connection.exec("pragma locking_mode = exclusive");
    connection.exec("begin immediate; commit");
    return connection;
  } catch (error) {
    unlock(connection);
    throw isBusy(error) ? inUse(path, error) : placeError(path, error);
  }
}

const refused = (path: string, why: string) => new BackupError(`${showPath(path)}: ${why}`);

const inUse = (path: string, cause: unknown) =>
  new BackupError(`a Relay uses ${showPath(path)}; stop it first`, { cause });

/** Takes and releases the locks of the connection's mode. */
const READ = "select 1 from sqlite_schema limit 1";

/** Closes a connection. Its prepared statements may keep its locks for a while, so it gives them up first. */
function unlock(connection: ReturnType<typeof openConnection>): void {
  try {
    connection.exec("pragma locking_mode = normal");
    connection.exec(READ);
  } finally {
    connection.close();
  }
}

async function fillFile(
  target: string,
  file_key: string | null,
  source: Source,
  { clock, signal }: Work,
): Promise<Sums> {
  const temporary = await createTemporary(target, clock);
  try {
    const writer = createFileWriter(temporary, file_key, { clock, signal });
    const { taker, sums } = createSums(writer);
    try {
      await writer.finish(await source.read(taker, writer.begin));
    } finally {
      writer.close();
    }
    const written = createSums();
    const copy = openReadOnly(temporary, true, file_key);
    try {
      await readFile(copy, written.taker, signal);
    } finally {
      copy.close();
    }
    const wrong = differences(sums, written.sums);
    if (wrong.length > 0) throw new BackupError(`the copy differs in ${wrong.join(", ")}`);
    await source.assertUnchanged(sums);
    await publishStore(temporary, target, clock);
    return sums;
  } catch (error) {
    throw signal?.aborted ? error : placeError(target, error);
  } finally {
    await removeTemporary(temporary, clock);
  }
}
