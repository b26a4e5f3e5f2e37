/** The time by the clock of the store, which all processes on a libSQL server share. */

import type { Clock } from "../src/clock.ts";
import { sql } from "./sql.ts";
import { rowOf, statement } from "./statement.ts";
import type { Store } from "./store.ts";

const time = statement(sql`select unixepoch('subsec')`, { gives: rowOf<[now: number]>() });

/** Epoch seconds; null for a file, whose clock is this machine's. */
export async function storeTime(store: Store): Promise<number | null> {
  if (store.kind === "embedded") return null;
  const [row] = await store.read(time({}));
  return row![0];
}

export type StoreClock = ReturnType<typeof createStoreClock>;

interface StoreClockOptions {
  readonly clock: Pick<Clock, "now" | "elapsed">;
  /** As {@link storeTime}. */
  readonly read: () => Promise<number | null>;
  /** Seconds until it is read again; between, this process's monotonic clock tells what has passed. */
  readonly every: number;
}

/** Tells the time by the store's clock without a read each time. */
export function createStoreClock({ clock, read, every }: StoreClockOptions) {
  let looked: { readonly time: Promise<number | null>; readonly from: number } | undefined;
  return {
    /** Epoch seconds. Fails when the store has to be asked and does not answer. */
    async now(): Promise<number> {
      if (!looked || clock.elapsed() - looked.from >= every) {
        const look = { time: read(), from: clock.elapsed() };
        looked = look;
        look.time.catch(() => {
          if (looked === look) looked = undefined;
        });
      }
      const { time, from } = looked;
      const at = await time;
      return at === null ? clock.now() : at + clock.elapsed() - from;
    },
  };
}
