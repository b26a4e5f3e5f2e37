/** Watches the open store for a file that was taken away and for writes that fail. */

import type { Cancel, Clock } from "../../src/clock.ts";
import { FileGone, type ReportFault } from "./faults.ts";
import { p, sql } from "./sql.ts";
import { statement } from "./statement.ts";
import type { Store } from "./store.ts";

/** Seconds between two looks at the store's file, and between two tries of a store that cannot be written. */
const CHECK_EVERY = 1;

const probe = statement(
  sql`insert into store_facts (name, value) values ('write_probe', ${p("at")})
    on conflict (name) do update set value = excluded.value`,
);

/** Writes one row to disk. Rejects with `503 store_unavailable` if the store cannot be written. */
export async function probeWrite(store: Store, clock: Clock): Promise<void> {
  await store.write([probe({ at: String(Math.round(clock.now() * 1000)) })]);
}

interface WatchOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly report: ReportFault;
  /** Ends the process, since the file of its store is gone. */
  readonly endProcess: (reason: string) => void;
}

/** Looks once a second. While writes fail it tries one, so that recovery is noticed without clients (§11.4.5). */
export function createStoreWatch({ store, clock, report, endProcess }: WatchOptions) {
  let cancel: Cancel = () => {};
  let stopped = false;

  const look = async (): Promise<void> => {
    if (store.gone()) {
      stopped = true;
      report(new FileGone());
      endProcess("the store's file was deleted or replaced");
    } else if (!store.usable()) {
      // The store records the outcome itself.
      await probeWrite(store, clock).catch(() => {});
    }
  };

  const arm = () => {
    if (stopped) return;
    cancel = clock.after(CHECK_EVERY, () => void look().catch(report).finally(arm));
  };

  return {
    start: arm,
    stop(): void {
      stopped = true;
      cancel();
    },
  };
}
