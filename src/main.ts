/** The process: environment, start, signals. The only file with side effects at import. */

import { startApp } from "./app.ts";
import { systemClock } from "./clock.ts";
import { ConfigError, readConfig } from "./config.ts";
import { createIds } from "./ids.ts";
import { createLog, describeError } from "./log.ts";
import { VERSION } from "./version.ts";

/** Through `npx` one Ctrl-C arrives twice: a repeat within this many seconds is the same one. */
const SAME_SIGNAL = 1;

// Whoever read the output may go away; that must not end the service.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

try {
  const config = readConfig(process.env);
  const log = createLog(config.LOG_LEVEL, (line) => process.stderr.write(line));
  const app = await startApp({ config, clock: systemClock, ids: createIds(systemClock), log });

  log.info("started", { version: VERSION, url: app.url });
  const here = config.PUBLIC_URL === undefined ? "" : ` (here at ${app.local_url})`;
  process.stdout.write(
    `Relay ${VERSION} is listening at ${app.url}${here}\n` +
      `Next: open it in a browser, or create an account with  curl -X POST ${app.url}/v1/accounts\n`,
  );

  let first_at: number | undefined;
  const stop = (signal: string) => {
    if (first_at !== undefined) {
      if (systemClock.now() - first_at > SAME_SIGNAL) process.exit(1);
      return;
    }
    first_at = systemClock.now();
    log.info("stopping", { signal });
    app.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error("stop failed", describeError(error));
        process.exit(1);
      },
    );
  };
  process.on("SIGINT", () => stop("SIGINT"));
  process.on("SIGTERM", () => stop("SIGTERM"));
} catch (error) {
  process.stderr.write(`Relay cannot start: ${startFault(error)}\n`);
  process.exit(1);
}

/** One line for the person who starts it: the variable at fault, and never its value. */
function startFault(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  return `unexpected error ${JSON.stringify(describeError(error))}`;
}
