/** Where a bench or script works: a temporary folder and processes, which end with it however it ends. */

import { mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { stopAll } from "./process.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Times that a folder is removed at the exit, and milliseconds between them: a killed process writes for a moment. */
const TRIES = 50;
const PAUSE = 20;

export interface Place {
  readonly folder: string;
  /** What is started there is added by whoever starts it, and is killed at the end. */
  readonly children: Bun.Subprocess[];
  /** Called at the end, before processes are killed. */
  readonly first: (() => Promise<unknown>)[];
  /** Ends the processes and removes the folder. */
  end(): Promise<void>;
}

/**
 * A new place, whose folder begins with `name`. It ends at {@link Place.end}; at SIGINT, SIGTERM and SIGHUP, after which
 * the process exits with 128 and the number of the signal; at an error that nobody catches, after which it exits with 1;
 * and at any other exit, then without {@link Place.first}.
 */
export function createPlace(name = "relay-bench"): Place {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  const children: Bun.Subprocess[] = [];
  const first: (() => Promise<unknown>)[] = [];
  let ending: Promise<void> | undefined;
  const finish = async () => {
    await Promise.allSettled(first.map((step) => step()));
    await stopAll(children, folder);
  };
  const end = () => (ending ??= finish());
  for (const signal of SIGNALS) {
    const leave = () => process.exit(128 + constants.signals[signal]);
    // A second signal does not wait.
    process.on(signal, () => (ending ? leave() : void end().finally(leave)));
  }
  // While the main file waits for something, Bun goes on after an error in a timer or a socket.
  for (const event of ["uncaughtException", "unhandledRejection"]) {
    process.on(event, (error: unknown) => {
      process.stderr.write(`${Bun.inspect(error)}\n`);
      void end().finally(() => process.exit(1));
    });
  }
  process.on("exit", () => {
    for (const child of children) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: TRIES, retryDelay: PAUSE });
  });
  return { folder, children, first, end };
}
