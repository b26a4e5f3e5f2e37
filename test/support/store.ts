/** The store that a run of the suite is about: a file, or a real libSQL server. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import { openStore } from "../../db/open.ts";
import { systemClock } from "../../src/clock.ts";
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

/** A connection of its own to a store that a server uses too: it waits for the write lock. */
export const connectTo = (url: string) => createClient({ url, timeout: 30_000 });

/** The file of an embedded store whose tables are up to date; made once for the process. */
let migrated: Promise<Buffer> | undefined;

async function makeMigrated(): Promise<Buffer> {
  const path = join(tempFolder(), "relay.db");
  const store = await openStore({ url: `file:${path}`, auth_token: undefined }, systemClock);
  await store.close();
  return readFileSync(path);
}

/** The same with its tables up to date: on a file, that saves most of the start of an app. */
export async function createMigratedStore(): Promise<TestStore> {
  if (STORE_KIND !== "embedded") return createTestStore();
  const path = join(tempFolder(), "relay.db");
  migrated ??= makeMigrated();
  writeFileSync(path, await migrated, { mode: 0o600 });
  return { url: `file:${path}`, sqld: null };
}
