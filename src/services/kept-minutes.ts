/** Keeps what every process measures by the minute in the store, so that the charts outlive a restart. */

import { dropMinutes, keepMinute, minutesOfOthers } from "../../db/minutes.ts";
import { IN_BACKGROUND, type Store } from "../../db/store/store.ts";
import type { Clock } from "../clock.ts";
import type { Ids } from "../ids.ts";
import {
  type MeasuredMinute,
  MINUTES_KEPT,
  type Minute,
  summarize,
} from "../observability/time-series.ts";

/** Rows that one write deletes; it deletes more than it adds. */
const DROPPED = 100;
/** Rows that one read returns: the whole time of 16 processes. */
const READ = 16 * MINUTES_KEPT;

interface KeptMinutesOptions {
  readonly store: Store;
  readonly clock: Pick<Clock, "now">;
  readonly ids: Pick<Ids, "unique">;
}

export type KeptMinutes = ReturnType<typeof createKeptMinutes>;

export function createKeptMinutes({ store, clock, ids }: KeptMinutesOptions) {
  const process = ids.unique();
  const firstKept = () => Math.floor(clock.now() / 60) - MINUTES_KEPT + 1;

  return {
    /** Writes a minute that is over, and deletes old ones. A failure leaves a gap in the charts after a restart. */
    keep({ at, ...figures }: MeasuredMinute): void {
      const row = { minute: Math.round(at / 60), process, figures: JSON.stringify(figures) };
      const old = { before: firstKept(), limit: DROPPED };
      store.write([keepMinute(row), dropMinutes(old)], IN_BACKGROUND).catch(() => {});
    },

    /**
     * The last 180 minutes of all processes together, oldest first, from the first that one of them measured. `own`:
     * those of this process, the last of which is not over. Without the store, these alone.
     */
    async together(own: readonly MeasuredMinute[]): Promise<Minute[]> {
      const until = Math.round((own.at(-1)?.at ?? 0) / 60);
      const since = firstKept();
      const rows = await store
        .read(minutesOfOthers({ since, until, process, limit: READ }))
        .catch(() => []);
      const others = rows.flatMap(([minute, figures]) => {
        const found = JSON.parse(figures) as Omit<MeasuredMinute, "at">;
        // Another version may have measured other figures.
        return Array.isArray(found.durations) ? [{ ...found, at: minute * 60 }] : [];
      });
      const by_minute = Map.groupBy([...others, ...own], ({ at }) => Math.round(at / 60));
      const first = Math.max(since, Math.min(...by_minute.keys()));
      return Array.from({ length: until - first + 1 }, (_, i) =>
        summarize((first + i) * 60, by_minute.get(first + i) ?? []),
      );
    },
  };
}
