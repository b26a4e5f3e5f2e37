/** Opens the store that a URL names, and brings its tables up to date. */

import type { Clock } from "../src/clock.ts";
import { openEmbedded } from "./embedded.ts";
import type { ReportFault } from "./faults.ts";
import { applyMigrations } from "./migrate.ts";
import { openServer } from "./server.ts";
import type { Store } from "./store.ts";
import { probeWrite } from "./store-watch.ts";

interface OpenOptions {
  /** Any libSQL URL (docs/interface.md 16). */
  readonly url: string;
  readonly auth_token: string | undefined;
}

/**
 * `clock` is the real one even in tests: it times retries against a real file or server. `report`
 * takes every fault of the store once it is open. Rejects when the store cannot be read or written.
 */
export async function openStore(
  options: OpenOptions,
  clock: Clock,
  report: ReportFault = () => {},
): Promise<Store> {
  let open = false;
  // A fault before that is why the start fails, which says so itself.
  const reportFault: ReportFault = (error) => {
    if (open) report(error);
  };
  const store = options.url.startsWith("file:")
    ? await openEmbedded(options.url, clock, reportFault)
    : openServer(options, clock, reportFault);
  try {
    await applyMigrations(store, clock);
    await probeWrite(store, clock);
    open = true;
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}
