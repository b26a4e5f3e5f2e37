/** The store that a run of the suite is about: a file, or a real libSQL server. */

import { join } from "node:path";
import { type Sqld, startSqld } from "./sqld.ts";
import { tempFolder } from "./temp.ts";

/** `RELAY_TEST_STORE`: the whole suite runs once on each. */
export const STORE_KIND = process.env.RELAY_TEST_STORE === "server" ? "server" : "embedded";

export interface TestStore {
  /** For `DATABASE_URL`. */
  readonly url: string;
  /** The server process, when there is one. */
  readonly sqld: Sqld | null;
}

/** A new empty store of the kind of this run. */
export async function createTestStore(kind = STORE_KIND): Promise<TestStore> {
  if (kind === "embedded") return { url: `file:${join(tempFolder(), "relay.db")}`, sqld: null };
  const sqld = await startSqld();
  return { url: sqld.url, sqld };
}
