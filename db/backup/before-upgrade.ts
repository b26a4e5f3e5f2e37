/** Backs up a store before a migration that no older version can work on, so that going back is a restore (§17.5). */

import { existsSync } from "node:fs";
import { dirname, join, parse, resolve } from "node:path";
import type { Clock } from "../../src/clock.ts";
import type { Config } from "../../src/config.ts";
import { showPath } from "../../src/config-files.ts";
import { OLDEST_COMPATIBLE } from "../../src/version.ts";
import { RefusedStore } from "../store/store-contents.ts";
import { backupStore } from "./backup.ts";
import { BackupError } from "./backup-files.ts";
import { oldestVersionIn } from "./contents.ts";
import { fileOf, type StorePlace } from "./snapshot.ts";

/**
 * Makes `<name>-before-<version>.db`, in place of an earlier one. Rejects with {@link RefusedStore} for a libSQL server
 * without a place for backups, unless its operator says that there is one, and if another process upgrades the store
 * at the same time; with `BackupError` if it cannot be made.
 */
export async function backupBeforeUpgrade(
  config: Config,
  clock: Clock,
  begun: (file: string) => void,
): Promise<void> {
  const { BACKUP_DIR: folder_of_server, UPGRADE_WITHOUT_BACKUP: without_backup } = config;
  const store: StorePlace = {
    url: config.DATABASE_URL,
    auth_token: config.DATABASE_AUTH_TOKEN,
    replica_url: config.BACKUP_URL,
    encryption_key: config.DATABASE_ENCRYPTION_KEY,
  };
  const path = fileOf(store);
  if (path === null && without_backup === OLDEST_COMPATIBLE) return;
  if (path === null && folder_of_server === undefined) {
    throw new RefusedStore(
      `older versions cannot use the store after the upgrade to ${OLDEST_COMPATIBLE}. Stop every Relay, make a backup with relay backup, and set UPGRADE_WITHOUT_BACKUP=${OLDEST_COMPATIBLE} for the first start; or set BACKUP_DIR, and Relay makes the backup`,
    );
  }
  const folder = path === null ? folder_of_server! : dirname(resolve(path));
  // `backupStore` would create it, perhaps on another disk than the one that is not mounted.
  if (path === null && !existsSync(folder)) {
    throw new BackupError(`there is no folder ${showPath(folder)}; create it, or mount its disk`);
  }
  const name = path === null ? "relay" : parse(path).name;
  const file = join(folder, `${name}-before-${OLDEST_COMPATIBLE}.db`);
  begun(file);
  await backupStore({
    store,
    file,
    keep: null,
    clock,
    inspect(connection) {
      const oldest = oldestVersionIn(connection);
      if (oldest !== undefined && Bun.semver.order(oldest, OLDEST_COMPATIBLE) >= 0) {
        throw new RefusedStore("another process upgrades the store; start again");
      }
    },
  });
}
