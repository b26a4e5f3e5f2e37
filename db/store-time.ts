/** The time by the clock of the store, which all processes on a libSQL server share. */

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
