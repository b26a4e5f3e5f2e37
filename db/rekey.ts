/** Changes the key by which a store is encrypted (`DATABASE_ENCRYPTION_KEY`), while no process uses it (§11.4.11). */

import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Clock } from "../src/clock.ts";
import { codeOf } from "../src/log.ts";
import { changeSecret } from "./channel-secrets.ts";
import { assertKeyFits, assertReadable, isRekeying, REKEYING, SIGNING } from "./secrets.ts";
import { isOlderStore } from "./store/compatibility.ts";
import { openConnection, openReadOnly } from "./store/connection.ts";
import { openEmbedded, pathOf } from "./store/embedded.ts";
import { openServer } from "./store/server.ts";
import { p, sql } from "./store/sql.ts";
import { rowsOf, statement } from "./store/statement.ts";
import { type Cell, isBusy, type Statement, type Store } from "./store/store.ts";
import { assertNotForeign, NEEDS_KEY, OTHER_KEY, RefusedStore } from "./store/store-contents.ts";
import { createStoreFile, secretIn } from "./store/store-file.ts";
import { createVault, isSealed, PLACES, SealedError, type Vault } from "./store/vault.ts";
import { belongsTogether, formOf, hasFrames } from "./store/wal-file.ts";

/** Rows that one step reads and rewrites. */
const STEP = 200;

/** Seconds in which processes that still use a libSQL server notice the change, and end: two of their checks. */
const NOTICED = 5;

/** Seconds in which a file must become free. */
const LOCK_WAIT = 1;

interface RekeyOptions {
  readonly url: string;
  readonly auth_token: string | undefined;
  /** The key of the store, 32 bytes; undefined if it is not encrypted. Not used for what is not encrypted. */
  readonly from: Uint8Array | undefined;
  /** The new key; undefined: not encrypted. */
  readonly to: Uint8Array | undefined;
  readonly clock: Clock;
  /** Seconds until values on a libSQL server are rewritten, after its processes were told. */
  readonly noticed?: number;
}

/**
 * Encrypts a store with another key. A file is replaced by a copy, and stays as it was beside it; returns its path then.
 * On a libSQL server, values are rewritten in steps; after an interruption, the same call completes it. Throws
 * {@link RefusedStore}, before anything is changed, for a store that `from` does not open or, for a file, that is in use.
 */
export async function rekey(options: RekeyOptions): Promise<{ readonly kept: string | null }> {
  const { url, clock, noticed = NOTICED } = options;
  const [from, to] = [createVault(options.from), createVault(options.to)];
  if (url.startsWith("file:"))
    return { kept: await rekeyFile(resolve(pathOf(url)), from, to, clock) };
  const store = openServer(options, clock, () => {}, to);
  try {
    await assertNotForeign((one) => store.read(one));
    if (!(await store.read(tables({}))).length)
      throw new RefusedStore("there is no store of Relay");
    await assertUpgraded(store);
    if (!(await isRekeying(store))) {
      await assertReadable({ read: store.read, vault: from });
      await store.write([begin({ value: String(Math.round(clock.now())) })]);
    }
    await new Promise<void>((next) => clock.after(noticed, next));
    await reseal(store, from, to);
    await store.write([end({})]);
    return { kept: null };
  } finally {
    await store.close();
  }
}

/** Throws {@link RefusedStore} for a store whose tables have the form of an older version. */
async function assertUpgraded(store: Store): Promise<void> {
  if (!(await isOlderStore(store))) return;
  throw new RefusedStore("the store is of an older version; start this version once, then stop it");
}

const tables = statement(
  sql`select name from sqlite_schema where type = 'table' and name = 'secrets'`,
  { returns: rowsOf<[name: string]>() },
);
const begin = statement(
  sql`insert into secrets (name, value) values (${sql.raw(`'${REKEYING}'`)}, ${p("value")})`,
);
const end = statement(sql`delete from secrets where name = ${sql.raw(`'${REKEYING}'`)}`);

async function rekeyFile(given: string, from: Vault, to: Vault, clock: Clock): Promise<string> {
  if (!existsSync(given)) throw new RefusedStore("there is no file");
  // Behind symbolic links, where SQLite opens it.
  const path = realpathSync(given);
  const [copy, kept] = [`${path}.rekeyed`, `${path}.before-rekey`];
  if (existsSync(kept) && statSync(kept).ino !== statSync(path).ino) {
    throw new RefusedStore(`${kept} is left from an earlier change; move it away`);
  }
  // The environment may have the new key already, while the file is not encrypted yet.
  const file_key = formOf(path) === "plain" ? null : from.file_key;
  checkFile(path, file_key);
  const connection = openConnection(path, 0, file_key);
  try {
    await lock(connection, clock);
    for (const end of ["", "-wal", "-shm", "-journal"]) rmSync(copy + end, { force: true });
    createStoreFile(copy);
    const { mode, uid, gid } = statSync(path);
    chmodSync(copy, mode & 0o777);
    // Root may do this for the user that Relay runs as.
    if (statSync(copy).uid !== uid || process.getuid?.() === 0) chownSync(copy, uid, gid);
    const target = `${pathToFileURL(copy).href.replaceAll("'", "%27")}?key=${to.file_key ?? ""}`;
    await connection.execAsync(`vacuum into '${target}'`);
    await resealFile(copy, from, to, clock);
    // Until now, only the copy was written. The log is empty, so that the new file cannot meet it.
    connection.exec("pragma wal_checkpoint(truncate)");
    if (!existsSync(kept)) linkSync(path, kept);
    renameSync(copy, path);
    for (const end of ["-wal", "-shm"]) rmSync(copy + end, { force: true });
    sync(dirname(path));
    return kept;
  } catch (error) {
    for (const end of ["", "-wal", "-shm"]) rmSync(copy + end, { force: true });
    throw error;
  } finally {
    connection.close();
  }
}

/**
 * Throws {@link RefusedStore} for a file that the key does not open, that is no store of Relay, or whose log belongs to
 * another file. Prepares no statement on a connection that takes locks: the binding keeps a closed connection, with its
 * locks, until its statements are collected.
 */
function checkFile(path: string, file_key: string | null): void {
  if (formOf(path) === "encrypted" && file_key === null) throw new RefusedStore(NEEDS_KEY);
  const log = `${path}-wal`;
  const has_frames = hasFrames(log);
  const other_log = "the write-ahead log beside it belongs to another file; move it away";
  if (has_frames && !belongsTogether(path, log)) throw new RefusedStore(other_log);
  const secret = has_frames ? secretIn(path, true, file_key) : null;
  const reader = openReadOnly(path, false, file_key);
  try {
    reader.exec("select 1 from relay_migrations limit 1");
    if (secret === null) return;
    const text = secret.replaceAll("'", "''");
    reader.exec(`select json('') from secrets where name = '${SIGNING}' and value <> '${text}'`);
  } catch (error) {
    if (isBusy(error)) throw new RefusedStore(IN_USE);
    if (/malformed JSON/.test((error as Error).message)) throw new RefusedStore(other_log);
    // The place is at fault, such as a disk that is read-only.
    if (/^SQLITE_(CANTOPEN|READONLY|IOERR)/.test(codeOf(error))) throw error;
    const what =
      file_key === null ? "it is no store of Relay, or damaged" : `${OTHER_KEY}, or damaged`;
    throw new RefusedStore(what);
  } finally {
    reader.close();
  }
}

const IN_USE = "another process uses the file; stop every Relay first";

/**
 * Keeps every other process from the file until the connection is closed. Throws if one uses it for as long as
 * {@link LOCK_WAIT}.
 */
async function lock({ exec }: Pick<ReturnType<typeof openConnection>, "exec">, clock: Clock) {
  const until = clock.elapsed() + LOCK_WAIT;
  for (;;) {
    try {
      return exec("pragma locking_mode = exclusive; begin exclusive; commit");
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
    if (clock.elapsed() >= until) {
      throw new RefusedStore(IN_USE);
    }
    // A connection of this process may not be closed yet, see above.
    Bun.gc(true);
    await new Promise<void>((next) => clock.after(0.05, next));
  }
}

/** Rewrites the values of a file that nobody else knows, and syncs it. */
async function resealFile(path: string, from: Vault, to: Vault, clock: Clock): Promise<void> {
  let fault: unknown;
  const report = (error: unknown) => {
    fault ??= error;
  };
  const store = await openEmbedded(pathToFileURL(path).href, clock, report, to);
  try {
    await assertUpgraded(store);
    await assertReadable({ read: store.read, vault: from });
    await reseal(store, from, to);
    await assertKeyFits(store);
  } finally {
    await store.close();
  }
  if (fault !== undefined) throw fault;
  if (hasFrames(`${path}-wal`)) throw new Error("the log of the copy was not emptied");
  sync(path);
}

function sync(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

const secretRows = statement(
  sql`select name, value from secrets where name > ${p("after")} order by name limit ${sql.raw(STEP)}`,
  { returns: rowsOf<[name: string, value: string]>() },
);
const setSecret = statement(
  sql`update secrets set value = ${p("value")} where name = ${p("name")} and value = ${p("old")}`,
);
const channelRows = statement(
  sql`select id, account_id, secret from channels where id > ${p("after")} order by id limit ${sql.raw(STEP)}`,
  { returns: rowsOf<[id: string, account_id: string, secret: string]>() },
);
const setChannel = statement(
  sql`update channels set secret = ${p("value")} where id = ${p("id")} and secret = ${p("old")}`,
);
/** The target of a channel has its address as it is stored there, and is found by it. */
const setTarget = statement(
  sql`update delivery_targets set address = ${p("address")} where account_id = ${p("account_id")} and purpose = 'alert'
    and recipient_id = ${p("id")} and subject = ''`,
);
/** Deliveries with a copy of an address. Those of devices are not encrypted. */
const deliveryRows = statement(
  sql`select seq, recipient_id, address, exists (select 1 from channels c where c.id = recipient_id) from deliveries
    where seq > ${p("after")} and address is not null order by seq limit ${sql.raw(STEP)}`,
  { returns: rowsOf<[seq: number, id: string, address: string, of_channel: 0 | 1]>() },
);
const setDelivery = statement(
  sql`update deliveries set address = ${p("value")} where seq = ${p("seq")} and address = ${p("old")}`,
);
const linkRows = statement(
  sql`select id, address, visitor from channel_links where id > ${p("after")} order by id limit ${sql.raw(STEP)}`,
  { returns: rowsOf<[id: string, address: string, visitor: string | null]>() },
);
const setLink = statement(
  sql`update channel_links set address = ${p("address")}, visitor = ${p("visitor")}
    where id = ${p("id")} and address = ${p("old")}`,
);

/** Rewrites every value that is encrypted, or is to be. May be called again after an interruption. */
async function reseal(store: Store, from: Vault, to: Vault): Promise<void> {
  /** What was rewritten before an interruption opens with the new key. */
  const change = (place: string, stored: string): string => {
    if (isSealed(stored) && to.file_key !== null) {
      try {
        to.open(place, stored);
        return stored;
      } catch (error) {
        if (!(error instanceof SealedError)) throw error;
      }
    }
    try {
      return to.seal(place, from.open(place, stored));
    } catch (error) {
      if (!(error instanceof SealedError)) throw error;
      throw new RefusedStore(
        "it has values that neither key opens; continue with the keys of the change that was cut off",
      );
    }
  };
  const write = async (statements: readonly Statement[]) => {
    if (statements.length > 0) await store.write(statements);
  };
  /** Steps through a table in the order of the first column, in which no value is below `first`. */
  const through = async <Row extends readonly [key: Cell, ...rest: unknown[]]>(
    read: (values: { readonly after: Cell }) => Statement<Row>,
    first: Cell,
    rewrite: (row: Row) => readonly Statement[],
  ): Promise<void> => {
    for (let after = first; ; ) {
      const rows = await store.read(read({ after }));
      await write(rows.flatMap(rewrite));
      if (rows.length < STEP) return;
      after = rows.at(-1)![0];
    }
  };

  await through(secretRows, "", ([name, old]) => {
    const value = name === REKEYING ? old : change(PLACES.secret(name), old);
    return value === old ? [] : [setSecret({ name, value, old })];
  });
  await through(channelRows, "", ([id, account_id, old]) => {
    const secret = changeSecret(change, id, JSON.parse(old));
    const value = JSON.stringify(secret);
    if (value === old) return [];
    const { address } = secret;
    const target = address === undefined ? [] : [setTarget({ account_id, id, address })];
    return [setChannel({ id, value, old }), ...target];
  });
  await through(deliveryRows, 0, ([seq, id, old, of_channel]) => {
    const value = of_channel || isSealed(old) ? change(PLACES.address(id), old) : old;
    return value === old ? [] : [setDelivery({ seq, value, old })];
  });
  await through(linkRows, "", ([id, old, was]) => {
    const address = change(PLACES.address(id), old);
    const opened = was === null ? null : JSON.parse(was);
    const visitor =
      opened && JSON.stringify({ ...opened, address: change(PLACES.visitor(id), opened.address) });
    return address === old && visitor === was ? [] : [setLink({ id, address, visitor, old })];
  });
}
