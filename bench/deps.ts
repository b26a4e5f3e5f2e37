/** The dependencies of a server that runs inside the bench's own process. */

import { storeTime } from "../db/store/store-time.ts";
import { systemClock } from "../src/clock.ts";
import { readConfig } from "../src/config.ts";
import type { AppDeps } from "../src/core.ts";
import { createIds } from "../src/ids.ts";
import { createLog } from "../src/log.ts";
import { CHANNELS } from "../src/notify/channels/registry.ts";

export const createDeps = (): AppDeps => ({
  config: readConfig(process.env),
  channels: CHANNELS,
  clock: systemClock,
  timers: systemClock,
  ids: createIds(systemClock),
  log: createLog("warn", (line) => process.stderr.write(line)),
  storeTime,
  endProcess: () => process.exit(1),
});
