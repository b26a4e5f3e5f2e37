/** Watches the open store for a file that was taken away and for writes that fail. */

import type { Cancel, Clock } from "../../src/clock.ts";
import { type FaultLog, FileGone } from "./faults.ts";
import { p, sql } from "./sql.ts";
import { rowOf, statement } from "./statement.ts";
import type { Store } from "./store.ts";

/** Seconds between two looks at the store's file, and between two tries of a store that cannot be written. */
const CHECK_EVERY = 1;

const probe = statement(
  sql`insert into store_facts (name, value) values ('write_probe', ${p("at")})
    on conflict (name) do update set value = excluded.value`,
);

const readProbe = statement(sql`select value from store_facts where name = 'write_probe'`, {
  returns: rowOf<[at: string]>(),
});

/** Writes one row to disk. Rejects with `503 store_unavailable` if the store cannot be written. */
export async function probeWrite(store: Store, clock: Clock): Promise<void> {
  await store.write([probe({ at: String(Math.round(clock.now() * 1000)) })]);
}

interface WatchOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly faults: Pick<FaultLog, "report" | "works" | "isOut" | "totals">;
  /** Ends the process, since the file of its store is gone. */
  readonly endProcess: (reason: string) => void;
}

/**
 * Looks once a second. After a fault it tries a write and a read, so that recovery is noticed, and logged, without
 * clients (§11.4.5).
 */
export function createStoreWatch({ store, clock, faults, endProcess }: WatchOptions) {
  let cancel: Cancel = () => {};
  let stopped = false;

  const countFaults = () => Object.values(faults.totals()).reduce((sum, count) => sum + count, 0);

  /** The store reports itself what fails here. */
  const tryStore = async (): Promise<void> => {
    const before = countFaults();
    await probeWrite(store, clock);
    await store.read(readProbe({}));
    if (store.usable() && countFaults() === before) faults.works();
  };

  const look = async (): Promise<void> => {
    if (store.gone()) {
      stopped = true;
      faults.report(new FileGone());
      endProcess("the store's file was deleted or replaced");
    } else if (faults.isOut() || !store.usable()) {
      await tryStore().catch(() => {});
    }
  };

  const arm = () => {
    if (stopped) return;
    cancel = clock.after(CHECK_EVERY, () => void look().catch(faults.report).finally(arm));
  };

  return {
    start: arm,
    stop(): void {
      stopped = true;
      cancel();
    },
  };
}
