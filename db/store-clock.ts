/** The newest time that a process on this store has had, by which processes on a file compare their clocks. */

import { p, sql } from "./sql.ts";
import { rowOf, statement } from "./statement.ts";
import { IN_BACKGROUND, type Store } from "./store.ts";

const read = statement(sql`select cast(value as integer) from store_facts where name = 'clock'`, {
  gives: rowOf<[at_ms: number]>(),
});
const write = statement(
  sql`insert into store_facts (name, value) values ('clock', ${p("at")})
    on conflict (name) do update set value = excluded.value`,
  { synced: false },
);

/** A row that every process writes its time to, and all of them read. Epoch seconds. */
export const createSharedTime = (store: Pick<Store, "read" | "write">) => ({
  /** What was written last; null if nothing was. */
  async read(): Promise<number | null> {
    const [row] = await store.read(read({}));
    return row ? row[0] / 1000 : null;
  },
  async write(now: number): Promise<void> {
    await store.write([write({ at: String(Math.round(now * 1000)) })], IN_BACKGROUND);
  },
});
