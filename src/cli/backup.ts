/** `relay backup`: a command for whoever runs the server, on the store of `DATABASE_URL`. */

import type { Clock } from "../clock.ts";
import { ConfigError, readConfig } from "../config.ts";
import { showPath, withSecretFiles } from "../config-files.ts";
import { Fault, type Io } from "./io.ts";

/** The store that the server of the same environment uses. */
async function storeOf(io: Io) {
  const env = await withSecretFiles(io.env);
  // Other variables do not matter here, and may be set for the server alone.
  const { DATABASE_URL, DATABASE_AUTH_TOKEN } = readConfig({
    DATABASE_URL: env.DATABASE_URL,
    DATABASE_AUTH_TOKEN: env.DATABASE_AUTH_TOKEN,
  });
  return { url: DATABASE_URL, auth_token: DATABASE_AUTH_TOKEN };
}

/** Seconds between two signs of life: the threads of the binding do not keep the process alive. */
const ALIVE_EVERY = 60;

/** Runs a command. Errors for the operator become one line. */
async function withFaults<T>(io: Io, run: (clock: Clock) => Promise<T>): Promise<T> {
  let cancel = () => {};
  const keepAlive = () => {
    cancel = io.timers.after(ALIVE_EVERY, keepAlive);
  };
  keepAlive();
  const { now, timers } = io;
  const { BackupError } = await import("../../db/backup/backup-files.ts");
  const { RefusedStore } = await import("../../db/store/store-contents.ts");
  try {
    return await run({ now, elapsed: timers.elapsed, after: timers.after });
  } catch (error) {
    if (io.signal.aborted) throw new Fault("interrupted; nothing was changed");
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

/** `relay backup`: makes a copy of the store, and says so once it is checked. */
export async function backup(
  io: Io,
  file: string,
  { keep = null }: { readonly keep?: number | null },
): Promise<void> {
  const made = await withFaults(io, async (clock) => {
    const { backupStore } = await import("../../db/backup/backup.ts");
    return backupStore({ store: await storeOf(io), file, keep, clock, signal: io.signal });
  });
  const { removed } = made;
  io.out(
    `Backed up to ${showPath(made.file)} (${size(made.bytes)}, ${made.rows.toLocaleString("en")} rows, ${made.seconds.toFixed(1)} s).\n`,
  );
  if (removed.length > 0) {
    io.out(`Removed ${removed.length} older backup${removed.length === 1 ? "" : "s"}.\n`);
  }
}

/** Bytes in a unit that is easy to read. */
function size(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const value = bytes / 1000 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`;
}
