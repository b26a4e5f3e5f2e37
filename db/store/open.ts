/** Opens the store that a URL names, and brings its tables up to date. */

import { dirname, resolve } from "node:path";
import type { Clock } from "../../src/clock.ts";
import { assertKeyFits, isNewStore } from "../secrets.ts";
import { openEmbedded, pathOf } from "./embedded.ts";
import type { ReportFault } from "./faults.ts";
import { endpointOf } from "./hrana.ts";
import { applyMigrations } from "./migrate.ts";
import { openServer } from "./server.ts";
import type { Store } from "./store.ts";
import { assertNotForeign } from "./store-contents.ts";
import { probeWrite } from "./store-watch.ts";
import { createVault } from "./vault.ts";

interface OpenOptions {
  /** Any libSQL URL (§16). */
  readonly url: string;
  readonly auth_token: string | undefined;
  /** 32 bytes: the file, and addresses and secrets in any store, are encrypted. */
  readonly encryption_key?: Uint8Array | undefined;
  /** Called with the place of a new store if there was none. */
  readonly created?: (where: string) => void;
  /** Runs before a migration that older versions cannot work on. If it rejects, the store stays as it is. */
  readonly beforeUpgrade?: () => Promise<void>;
}

/**
 * `clock` is real also in tests, since it times retries against a real file or server. `report` gets the faults of
 * the open store. Rejects if the store cannot be read or written, with `OutdatedError` if it permits only newer
 * versions, and with `RefusedStore` if it is not a store of Relay.
 */
export async function openStore(
  options: OpenOptions,
  clock: Clock,
  report: ReportFault = () => {},
): Promise<Store> {
  let open = false;
  // An earlier fault makes the start fail, which reports it.
  const reportFault: ReportFault = (error) => {
    if (open) report(error);
  };
  const vault = createVault(options.encryption_key);
  const store = options.url.startsWith("file:")
    ? await openEmbedded(options.url, clock, reportFault, vault)
    : openServer(options, clock, reportFault, vault);
  try {
    await assertNotForeign((statement) => store.read(statement));
    await assertKeyFits(store);
    await applyMigrations(store, clock, options.beforeUpgrade);
    await probeWrite(store, clock);
    open = true;
    // Also after a first start that was cut off before it reported this.
    if (await isNewStore(store)) options.created?.(placeOf(options.url));
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The folder of the file that a URL names; null for a server. */
export const folderOfStore = (url: string): string | null =>
  url.startsWith("file:") ? dirname(resolve(pathOf(url))) : null;

/** The absolute path of a file, or the address of a server without its credential. */
export function placeOf(url: string): string {
  return url.startsWith("file:") ? resolve(pathOf(url)) : endpointOf(url, undefined).base;
}
