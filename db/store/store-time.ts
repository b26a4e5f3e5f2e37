/** Times that processes share: the clock of a libSQL server, and the time that processes on a file write there. */

import type { Clock } from "../../src/clock.ts";
import { p, sql } from "./sql.ts";
import { rowOf, statement } from "./statement.ts";
import { IN_BACKGROUND, type Store } from "./store.ts";

const time = statement(sql`select unixepoch('subsec')`, { returns: rowOf<[now: number]>() });

/** The store's clock in epoch seconds; null for a file, whose clock is this machine's. */
export async function storeTime(store: Store): Promise<number | null> {
  if (store.kind === "embedded") return null;
  const [row] = await store.read(time({}));
  return row![0];
}

const readShared = statement(
  sql`select cast(value as integer) from store_facts where name = 'clock'`,
  {
    returns: rowOf<[at_ms: number]>(),
  },
);
const writeShared = statement(
  sql`insert into store_facts (name, value) values ('clock', ${p("at")})
    on conflict (name) do update set value = excluded.value`,
  { synced: false },
);

/** The newest time that a process wrote, in epoch seconds. Processes on a file compare their clocks by it. */
export const createSharedTime = (store: Pick<Store, "read" | "write">) => ({
  /** Null before the first write. */
  async read(): Promise<number | null> {
    const [row] = await store.read(readShared({}));
    return row ? row[0] / 1000 : null;
  },
  async write(now: number): Promise<void> {
    await store.write([writeShared({ at: String(Math.round(now * 1000)) })], IN_BACKGROUND);
  },
});

export type StoreClock = ReturnType<typeof createStoreClock>;

interface StoreClockOptions {
  readonly clock: Pick<Clock, "now" | "elapsed">;
  /** The store's time, as {@link storeTime}. */
  readonly read: () => Promise<number | null>;
  /** Seconds until it is read again; until then, this process's monotonic clock adds what has passed. */
  readonly every: number;
}

/** Tells the time by the store's clock, and asks the store only once in `every` seconds. */
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
