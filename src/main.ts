/** The process: environment, start, signals. The only file with side effects at import. */

import { placeOf } from "../db/store/open.ts";
import { type App, startApp } from "./app.ts";
import { keepAlive, systemClock } from "./clock.ts";
import { ConfigError, readConfig } from "./config.ts";
import { withSecretFiles } from "./config-files.ts";
import { startMessage } from "./http/start-message.ts";
import { createIds } from "./ids.ts";
import { createLog, describeError } from "./log.ts";
import { CHANNELS } from "./notify/registry.ts";
import { ownProgram } from "./own-program.ts";
import { VERSION } from "./version.ts";

/** Seconds that a stop after a fault may take before the process exits anyway. */
const END_WITHIN = 15;

/** Seconds that a start may take before the log says what it waits for. */
const SILENT_START = 1;

/** Through `npx` a Ctrl-C arrives twice: within this many seconds it is the same one. */
const SAME_SIGNAL = 1;

// The reader of the output may go away, which must not end the service.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

// The process always ends by `process.exit`. While the store opens, or after the last connection is closed, nothing
// else keeps it alive, and it could end in the middle of a commit.
keepAlive();

try {
  const config = readConfig(await withSecretFiles(process.env));
  const log = createLog(config.LOG_LEVEL, (line) => process.stderr.write(line));
  // Also when the stop is cut short.
  process.on("exit", log.flush);

  let ending = false;
  const finish = (app: App, drain?: number) => {
    const from = systemClock.elapsed();
    return app.stop(drain).then(
      () => {
        log.info("stopped", { seconds: Math.round((systemClock.elapsed() - from) * 10) / 10 });
        process.exit();
      },
      (error: unknown) => {
        log.error("stop failed", describeError(error));
        process.exit(1);
      },
    );
  };
  const endProcess = (reason: string) => {
    if (ending) return;
    ending = true;
    process.exitCode = 1;
    log.error("ending", { reason });
    systemClock.after(END_WITHIN, () => process.exit(1));
    // Deferred, as `starting` may not be set yet. A start that fails is reported below.
    void Promise.resolve()
      .then(() => starting)
      .then(
        (app) => finish(app, 0),
        () => {},
      );
  };

  let app: App | undefined;
  let first_at: number | undefined;
  const stop = (signal: string) => {
    if (first_at !== undefined) {
      if (systemClock.elapsed() - first_at > SAME_SIGNAL) process.exit(1);
      return;
    }
    first_at = systemClock.elapsed();
    log.info("stopping", { signal });
    // Nothing was acknowledged yet, and a migration that is cut off is rolled back.
    if (!app) process.exit();
    void finish(app);
  };
  // Before the start, which may wait for the store: as the first process of a container, it would ignore the signals.
  process.on("SIGINT", () => stop("SIGINT"));
  process.on("SIGTERM", () => stop("SIGTERM"));

  const cancelWaiting = systemClock.after(SILENT_START, () => {
    log.info("waiting for the store", { where: placeOf(config.DATABASE_URL) });
  });
  const starting = startApp({
    config,
    channels: CHANNELS,
    program: ownProgram,
    clock: systemClock,
    timers: systemClock,
    ids: createIds,
    log,
    endProcess,
  });
  app = await starting;
  const start_code = ending ? null : await app.startCode();
  cancelWaiting();

  if (!ending && first_at === undefined) {
    log.info("started", { version: VERSION, url: app.url });
    const { reachable, best } = app.baseAddresses;
    process.stdout.write(
      startMessage({
        version: VERSION,
        url: app.url,
        local_url: app.local_url,
        reachable: reachable(),
        unreachable_reason: best().reason ?? null,
        new_store: app.newStore,
        account_creation: config.ACCOUNT_CREATION,
        start_code,
        columns: process.stdout.isTTY ? process.stdout.columns : null,
      }),
    );
  }
} catch (error) {
  process.stderr.write(`Relay cannot start: ${startFault(error)}\n`);
  process.exit(1);
}

/** A line for the person who starts Relay, with the variable at fault but never its value. */
function startFault(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  return `unexpected error ${JSON.stringify(describeError(error))}`;
}
