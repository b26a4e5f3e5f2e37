/**
 * Makes an automatic backup in a process of its own, `relay backup`. If its disk hangs, that process is ended, and the
 * service goes on.
 */

import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Cancel, Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { showPath } from "../config-files.ts";
import { codeOf } from "../log.ts";
import { ownProgram } from "../own-program.ts";
import { BackupFault } from "./backup-folder.ts";

/** Seconds. */
const PROCESS = {
  /** For any backup, and with further bytes for each second: a slower disk counts as hanging. */
  least: 300,
  slowest: 200_000,
  most: 3_600,
  /** Seconds that a process gets to remove its unfinished file: after its deadline, and at a stop of the service. */
  late: 5,
  stop: 0.8,
} as const;

/** Characters of what a process says that are kept. */
const REASON_MOST = 10_000;

/** The executable starts itself. */
const PROGRAM: readonly string[] =
  ownProgram === null
    ? [process.execPath, fileURLToPath(new URL("../cli/main.ts", import.meta.url))]
    : [ownProgram.path];

type BackupConfig = Pick<
  Config,
  "DATABASE_URL" | "DATABASE_AUTH_TOKEN" | "DATABASE_ENCRYPTION_KEY" | "BACKUP_URL" | "BACKUP_KEEP"
>;

/** The environment of the process: the store of this one, whose files with secrets may have changed since its start. */
const environmentOf = (config: BackupConfig) => ({
  ...process.env,
  DATABASE_URL: config.DATABASE_URL,
  DATABASE_AUTH_TOKEN: config.DATABASE_AUTH_TOKEN,
  DATABASE_AUTH_TOKEN_FILE: undefined,
  DATABASE_ENCRYPTION_KEY:
    config.DATABASE_ENCRYPTION_KEY &&
    Buffer.from(config.DATABASE_ENCRYPTION_KEY).toString("base64"),
  DATABASE_ENCRYPTION_KEY_FILE: undefined,
  BACKUP_URL: config.BACKUP_URL,
});

interface BackupProcessOptions {
  readonly config: BackupConfig;
  /** The time of the backup. */
  readonly now: () => number;
  /** Real time, for deadlines. */
  readonly timers: Clock;
  /** The command of `relay`. */
  readonly program?: readonly string[];
}

/**
 * Returns a function that makes a backup of a store of some bytes at a path with its time in the name, and removes surplus ones.
 * It rejects with a {@link BackupFault}, also while an earlier process that was ended still hangs with its disk, or with the
 * reason of the signal.
 */
export function createBackupProcess(options: BackupProcessOptions) {
  const { config, now, timers, program = PROGRAM } = options;
  let is_running = false;

  const start = (file: string) => {
    const words = ["backup", file, "--keep", `${config.BACKUP_KEEP}`, "--at", `${now()}`];
    try {
      return Bun.spawn([...program, ...words], {
        env: environmentOf(config),
        stdio: ["ignore", "ignore", "pipe"],
        // Ctrl-C is for this process, which then ends it.
        detached: true,
        windowsHide: true,
      });
    } catch (error) {
      throw new BackupFault(`its process cannot be started (${codeOf(error) || "no code"})`);
    }
  };

  return async (file: string, bytes: number, signal: AbortSignal): Promise<void> => {
    if (is_running) {
      const folder = showPath(dirname(file));
      throw new BackupFault(`the folder ${folder} does not answer`, { is_early: true });
    }
    const child = start(file);
    is_running = true;
    const exited = child.exited.finally(() => {
      is_running = false;
    });

    const failed = Promise.withResolvers<never>();
    let ended_by: Error | null = null;
    let cancel: Cancel;
    const end = (why: Error, seconds: number) => {
      ended_by = why;
      cancel();
      child.kill("SIGTERM");
      cancel = timers.after(seconds, () => {
        child.kill("SIGKILL");
        failed.reject(why);
      });
    };
    const seconds = Math.min(PROCESS.least + bytes / PROCESS.slowest, PROCESS.most);
    const late = new BackupFault(`it took longer than ${Math.round(seconds / 60)} minutes`);
    cancel = timers.after(seconds, () => end(late, PROCESS.late));
    const stop = () => end(signal.reason, PROCESS.stop);
    signal.addEventListener("abort", stop);
    /** A disk that hangs keeps the process after it has said why it fails, and even after it was killed. */
    const listen = async () => {
      const decoder = new TextDecoder();
      let text = "";
      for await (const chunk of child.stderr) {
        text = (text + decoder.decode(chunk, { stream: true })).slice(-REASON_MOST);
        const [, reason] = /^relay: (.+)\n/m.exec(text) ?? [];
        if (reason !== undefined) failed.reject(ended_by ?? new BackupFault(reason));
      }
      const code = await exited;
      if (code === 0) return;
      const how = child.signalCode ?? `exit code ${code}`;
      throw ended_by ?? new BackupFault(`its process ended with ${how}`);
    };
    try {
      await Promise.race([failed.promise, listen()]);
    } finally {
      signal.removeEventListener("abort", stop);
      cancel();
    }
  };
}
