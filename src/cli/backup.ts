/** Commands for whoever runs the server, on its store: `relay backup`, `relay restore` and `relay migrate`. */

import { resolve } from "node:path";
import type { Clock } from "../clock.ts";
import { ConfigError, readConfig } from "../config.ts";
import { showPath, withSecretFiles } from "../config-files.ts";
import { Fault, type Io } from "./io.ts";

/** The store that the server of the same environment uses, or another one at `url`; with its replica at `backup_url`. */
async function storeOf(
  io: Io,
  { url, backup_url }: { readonly url?: string; readonly backup_url?: string | undefined } = {},
) {
  const env = await withSecretFiles(io.env);
  // Other variables do not matter here, and may be set for the server alone.
  const { DATABASE_URL, DATABASE_AUTH_TOKEN, DATABASE_ENCRYPTION_KEY, BACKUP_URL } = readConfig({
    DATABASE_URL: url ?? env.DATABASE_URL,
    DATABASE_AUTH_TOKEN: env.DATABASE_AUTH_TOKEN,
    BACKUP_URL: backup_url,
    DATABASE_ENCRYPTION_KEY: env.DATABASE_ENCRYPTION_KEY,
  });
  return {
    url: DATABASE_URL,
    auth_token: DATABASE_AUTH_TOKEN,
    replica_url: BACKUP_URL,
    encryption_key: DATABASE_ENCRYPTION_KEY,
  };
}

/** For a command. `signal` aborts at Ctrl-C or SIGTERM. */
interface Work {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Seconds between two signs of life: the threads of the binding do not keep the process alive. */
const ALIVE_EVERY = 60;

/** Runs a command. Errors for the operator become one line. */
async function withFaults<T>(io: Io, run: (work: Work) => Promise<T>): Promise<T> {
  let cancel = () => {};
  const keepAlive = () => {
    cancel = io.timers.after(ALIVE_EVERY, keepAlive);
  };
  keepAlive();
  const { now, timers, signal } = io;
  const clock = { now, wall: now, elapsed: timers.elapsed, after: timers.after };
  const { BackupError } = await import("../../db/backup/backup-files.ts");
  const { RefusedStore } = await import("../../db/store/store-contents.ts");
  try {
    return await run({ clock, signal });
  } catch (error) {
    if (signal.aborted) throw new Fault("interrupted");
    if (
      error instanceof BackupError ||
      error instanceof ConfigError ||
      error instanceof RefusedStore
    ) {
      throw new Fault(error.message);
    }
    throw error;
  } finally {
    cancel();
  }
}

/** `relay backup`: makes a copy of the store, and says so once it is checked. `at`: its time, in epoch seconds. */
export async function backup(
  io: Io,
  file: string,
  { keep = null, at }: { readonly keep?: number | null; readonly at?: string },
): Promise<void> {
  const made = await withFaults(
    at === undefined ? io : { ...io, now: () => Number(at) },
    async (work) => {
      const { backupStore } = await import("../../db/backup/backup.ts");
      const store = await storeOf(io, { backup_url: io.env.BACKUP_URL });
      return backupStore({ store, file, keep, ...work });
    },
  );
  const { removed } = made;
  io.out(
    `Backed up to ${showPath(made.file)} (${size(made.bytes)}, ${number(made.rows)} rows, ${made.seconds.toFixed(1)} s).\n`,
  );
  if (removed.length > 0) {
    io.out(`Removed ${removed.length} older backup${removed.length === 1 ? "" : "s"}.\n`);
  }
}

/** `relay restore`: makes a backup the store, where there is none yet. */
export async function restore(
  io: Io,
  file: string,
  {
    asCopy: as_copy = false,
    old = null,
  }: { readonly asCopy?: boolean; readonly old?: string | null },
): Promise<void> {
  if (as_copy && old !== null) throw new Fault("--as-copy and --old cannot be used together");
  const done = await withFaults(io, async (work) => {
    const [{ restoreStore }, { createIds }] = await Promise.all([
      import("../../db/backup/restore.ts"),
      import("../ids.ts"),
    ]);
    const run = createIds(work.clock).unique();
    const store = await storeOf(io);
    return restoreStore({ store, file, as_copy, old, run, ...work });
  });
  const { made_at, forgotten } = done;
  const of = made_at === null ? "" : ` of ${timeOf(made_at)}`;
  io.out(
    `Restored ${showPath(done.where)} from ${showPath(file)}${of} (${size(done.bytes)}, ${number(done.rows)} rows, ${done.seconds.toFixed(1)} s).\n`,
  );
  sayLeftOut(io, done.left_out);
  if (!forgotten) {
    io.out("It is an exact copy: what was waiting to be sent will be sent when Relay starts.\n");
    return;
  }
  const { notifications, webhook_messages, accesses, ended, replaced } = forgotten;
  io.out(
    `Not sent: ${number(notifications)} waiting notifications and ${number(webhook_messages)} messages of webhooks. Signed out: ${number(accesses)} clients of OAuth.\n`,
  );
  io.out(
    ended === null
      ? "Sign-ins and keys that were ended or replaced since the backup work again; restore with --old to end them.\n"
      : `As in ${showPath(old!)}: ended ${number(ended)} sign-ins and keys, and replaced ${number(replaced!)} tokens and secrets.\n`,
  );
}

/** `relay migrate`: moves a store to another place. */
export async function migrate(io: Io, from: string, to: string): Promise<void> {
  const done = await withFaults(io, async (work) => {
    const [{ moveStore }, { createIds }] = await Promise.all([
      import("../../db/backup/move.ts"),
      import("../ids.ts"),
    ]);
    return moveStore({
      from: await placeOf(io, "FROM", from),
      to: await placeOf(io, "TO", to),
      run: createIds(work.clock).unique(),
      ...work,
    });
  });
  io.out(
    `Copied ${number(done.rows)} rows of ${done.tables} tables to ${showPath(done.where)}, and compared them (${done.seconds.toFixed(1)} s).\n`,
  );
  sayLeftOut(io, done.left_out);
  io.out("Start Relay with DATABASE_URL at the new place, and never again at the old one.\n");
}

/** Names what was in a store or backup, but is not of Relay. */
function sayLeftOut(io: Io, left_out: readonly string[]): void {
  if (left_out.length === 0) return;
  const names = left_out.map((one) => JSON.stringify(one)).join(", ");
  io.out(`Left out, since Relay did not make it: ${names}.\n`);
}

/** A store by its URL, or by the path of its file. */
async function placeOf(io: Io, name: string, given: string) {
  const url = /^(file:|[a-z]+:\/\/)/.test(given) ? given : `file:${resolve(given)}`;
  try {
    return await storeOf(io, { url });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new Fault(error.message.replace(/^DATABASE_URL/, name));
  }
}

const number = (value: number): string => value.toLocaleString("en");

/** Such as `2026-11-26 03:00:00 UTC`. */
const timeOf = (at: number): string =>
  new Date(at * 1000).toISOString().replace("T", " ").replace(".000Z", " UTC");

/** Bytes in a unit that is easy to read. */
function size(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const value = bytes / 1000 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`;
}
