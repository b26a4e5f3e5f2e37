/** The store that a run of the suite tests: a file, or a real libSQL server. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type Client, createClient, type InStatement } from "@libsql/client";
import { openStore } from "../../db/store/open.ts";
import { systemClock } from "../../src/clock.ts";
import { codeOf } from "../../src/log.ts";
import { type Sqld, startSqld } from "./sqld.ts";
import { tempFolder } from "./temp.ts";

/** `RELAY_TEST_STORE`: the whole suite runs once on each. */
export const STORE_KIND = process.env.RELAY_TEST_STORE === "server" ? "server" : "embedded";

export interface TestStore {
  /** For `DATABASE_URL`. */
  readonly url: string;
  /** The server process, if there is one. */
  readonly sqld: Sqld | null;
}

/** A store's files: path in its folder -> content. */
type StoreFiles = ReadonlyMap<string, Buffer>;

/** A new store of this run's kind with all tables, which is most of an app's start; a server gets these flags too. */
export async function createTestStore(flags?: readonly string[]): Promise<TestStore> {
  migrated ??= makeMigrated();
  const folder = tempFolder();
  for (const [name, content] of await migrated) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content, { mode: 0o600 });
  }
  return openFolder(folder, flags);
}

/** A new store of this run's kind, without tables. */
export const createEmptyStore = (): Promise<TestStore> => openFolder(tempFolder());

async function openFolder(folder: string, flags?: readonly string[]): Promise<TestStore> {
  if (STORE_KIND === "embedded") return { url: `file:${join(folder, "relay.db")}`, sqld: null };
  const sqld = await startSqld(folder, flags);
  return { url: sqld.url, sqld };
}

/** Milliseconds of pauses after which a busy store is given up, and of each pause. */
const BUSY = { most: 30_000, pause: 10 } as const;

/**
 * A separate connection to a store that a server of this process uses too. It waits for the write lock between its tries:
 * within one, it would stop the event loop on which the server ends its own transaction.
 */
export function connectTo(url: string): Pick<Client, "execute" | "close"> {
  const connect = () => createClient({ url, timeout: 0 });
  let client = connect();
  return {
    async execute(statement: InStatement) {
      for (let paused = 0; ; paused += BUSY.pause) {
        try {
          return await client.execute(statement);
        } catch (error) {
          if (codeOf(error) !== "SQLITE_BUSY" || paused >= BUSY.most) throw error;
          // The binding leaves the failed statement unfinished, and so the connection in a transaction.
          client.close();
          client = connect();
          await Bun.sleep(BUSY.pause);
        }
      }
    },
    close: () => client.close(),
  };
}

/** A store whose tables are up to date; made once for the process. */
let migrated: Promise<StoreFiles> | undefined;

async function makeMigrated(): Promise<StoreFiles> {
  const folder = tempFolder();
  const { url, sqld } = await openFolder(folder);
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  await store.close();
  await sqld?.stop();
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) =>
    one.isFile(),
  );
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  return new Map(paths.map((path) => [relative(folder, path), readFileSync(path)]));
}
