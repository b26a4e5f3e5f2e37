/** The background work below the services: the periodic jobs, and the automatic backups. */

import { removeAbandoned } from "../../db/backup/backup-files.ts";
import { listBackups } from "../../db/backup/list.ts";
import { originOfStore } from "../../db/backup/origin.ts";
import { createBackupRecord } from "../../db/backups.ts";
import { assertUsable } from "../../db/secrets.ts";
import { storeBytes } from "../../db/statistics.ts";
import { OutdatedError } from "../../db/store/compatibility.ts";
import { STORE_SECONDS } from "../../db/store/store.ts";
import { RefusedStore } from "../../db/store/store-contents.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { secondsOf } from "../config-values.ts";
import type { Log } from "../log.ts";
import type { ServiceDeps } from "../services/shared/deps.ts";
import { createSilenceWatch } from "../services/silence.ts";
import type { StoreClock } from "../store-clock.ts";
import { createBackupProcess } from "./backup-process.ts";
import { createBackups } from "./backups.ts";
import { createEventPruner } from "./event-pruner.ts";
import { createJobs, type JobDeps } from "./jobs.ts";
import { createRunner } from "./runner.ts";

interface BackgroundOptions {
  readonly config: Config;
  readonly deps: ServiceDeps;
  readonly services: Pick<JobDeps, "questions" | "tasks" | "inbox" | "nudges">;
  readonly clock: StoreClock;
  readonly feed: { newest(within: number): Promise<number> };
  readonly outbox: { prune(upto: number, limit: number): Promise<number> };
  /** Real time, for deadlines. */
  readonly timers: Clock;
  readonly log: Log;
  /** Asks the process to end, for a reason without content. */
  readonly endProcess: (reason: string) => void;
}

export function createBackground(options: BackgroundOptions) {
  const { config, deps, services, clock, feed, outbox, timers, log, endProcess } = options;
  const { store, storage, ids } = deps;

  const runner = createRunner({
    jobs: createJobs({
      store,
      storage,
      clock,
      ...services,
      silence: createSilenceWatch(deps),
      task_retention_days: config.TASK_RETENTION_DAYS,
      pruneEvents: createEventPruner({
        outbox: { latest: () => feed.newest(STORE_SECONDS), prune: outbox.prune },
        clock,
      }),
      checkVersion: () =>
        assertUsable(store).catch((error: unknown) => {
          if (!(error instanceof OutdatedError || error instanceof RefusedStore)) throw error;
          endProcess(error.message);
        }),
    }),
    clock,
    // A clock that is ahead must not remove what others still need.
    async retentionTime() {
      await clock.compare();
      return clock.agreedNow();
    },
    log,
  });

  const backups = createBackups({
    folder: config.BACKUP_DIR,
    every: secondsOf(config.BACKUP_EVERY),
    record: createBackupRecord(store, ids.unique()),
    make: createBackupProcess({ config, now: clock.now, timers }),
    async list(file) {
      await removeAbandoned(file, timers);
      return listBackups(file, await originOfStore(store));
    },
    storeBytes: () => storeBytes(store),
    clock,
    timers,
    log,
  });

  return {
    jobs: { stats: runner.stats, settled: runner.settled },
    backups: { status: backups.status, counts: backups.counts, settled: backups.settled },
    start(): void {
      runner.start();
      backups.start();
    },
    /** Resolves when the passes under way are done, and a backup under way is cancelled. */
    async stop(): Promise<void> {
      await Promise.all([runner.stop(), backups.stop()]);
    },
  };
}
