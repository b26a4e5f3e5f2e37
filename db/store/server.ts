/** The store on a libSQL server, over HTTP: reads share round trips, writes share commits. */

import { afterRunning, type Clock } from "../../src/clock.ts";
import { ServiceError } from "../../src/errors.ts";
import { codeOf } from "../../src/log.ts";
import { createChangeFeed } from "./change-feed.ts";
import type { ReportFault } from "./faults.ts";
import {
  createGuard,
  createHranaStream,
  endpointOf,
  HranaError,
  HranaStatusError,
} from "./hrana.ts";
import { createReadQueue, SERVER_STORE } from "./read-queue.ts";
import { sql } from "./sql.ts";
import { rowOf, statement } from "./statement.ts";
import {
  checkArgs,
  isAway,
  isBusy,
  STORE_SECONDS,
  type Statement,
  type Store,
  unavailable,
  type WriteResult,
  whenFree,
} from "./store.ts";
import { proofOf } from "./store-proof.ts";
import { PLAIN, type Vault } from "./vault.ts";
import { createWriteQueue } from "./write-queue.ts";

const time = statement(sql`select unixepoch('subsec')`, { returns: rowOf<[now: number]>() });

/** Seconds between polls for new events. The change feed reports them sooner while it works. */
const POLL_WITH_FEED = 0.25;
const POLL_WITHOUT_FEED = 0.025;

/** Connects with the first statement, which shows whether the server is there. */
export function openServer(
  { url, auth_token }: { readonly url: string; readonly auth_token: string | undefined },
  clock: Clock,
  report: ReportFault,
  vault: Vault = PLAIN,
): Store {
  const endpoint = endpointOf(url, auth_token);
  const feed = createChangeFeed(endpoint, clock);
  const guard = createGuard();
  const toError = (error: unknown): unknown => {
    if (/^(ECONNREFUSED|ConnectionRefused)$/.test(codeOf(error))) feed.letGo();
    return errorOf(error);
  };
  const reads = createReadQueue({
    batches: Array.from(
      { length: SERVER_STORE.read_requests },
      () => createHranaStream(endpoint, clock, guard).read,
    ),
    toError,
    mayBeOne,
    clock,
  });

  // One batch at a time: concurrent writes can livelock sqld.
  const writer = createHranaStream(endpoint, clock, guard);
  const commit = async (
    statements: readonly Statement[],
    until: number,
  ): Promise<WriteResult[]> => {
    for (const { sql, args } of statements) checkArgs(sql, args);
    const overdue = new AbortController();
    const cancel = afterRunning(clock, until - clock.elapsed(), () => overdue.abort());
    const attempt = async () => {
      try {
        return await writer.write(statements, overdue.signal);
      } catch (error) {
        throw isBusy(error) ? error : toError(error);
      }
    };
    try {
      return await whenFree(clock, attempt, until);
    } finally {
      cancel();
    }
  };
  const writes = createWriteQueue(commit, clock, report);

  /** True from the end of the last write on: reads that are then still under way are no faults. */
  let closing = false;

  return {
    kind: "server",
    vault,
    async read(statement, { within = STORE_SECONDS } = {}) {
      checkArgs(statement.sql, statement.args);
      try {
        return statement.read((await reads.read(statement, within)).rows);
      } catch (error) {
        if (error instanceof ServiceError && !closing) report(error);
        throw error;
      }
    },
    runHeld() {
      // The reads of one turn share a round trip anyway.
    },
    write(statements, options = {}) {
      const { is_independent } = options;
      const own = is_independent
        ? statements.map((one) => ({ ...one, is_independent }))
        : statements;
      return writes.write(own, options);
    },
    async time() {
      const [row] = await this.read(time({}));
      return row![0];
    },
    usable: () => writes.writable() && !guard.is_other,
    gone: () => false,
    writeLock: () => null,
    isOther: () => guard.is_other,
    keepTo(signing_value) {
      guard.proof = proofOf(signing_value);
    },
    watch({ changed, reconnected }) {
      guard.reconnected = reconnected;
      feed.watch(changed);
    },
    pollEvery: () => (feed.isOpen() ? POLL_WITH_FEED : POLL_WITHOUT_FEED),
    stats: writes.stats,
    walBytes: () => null,
    async close() {
      feed.close();
      await writes.close();
      closing = true;
      reads.close();
    },
  };
}

/** The error itself if the statement is at fault; otherwise `503 store_unavailable`. */
function errorOf(error: unknown): unknown {
  if (error instanceof ServiceError || isStatementFault(error)) return error;
  return unavailable(error);
}

/** True if the statement is at fault, not the server: also for a value that cannot be read (`RangeError`). */
function isStatementFault(error: unknown): boolean {
  if (error instanceof HranaError) {
    return /^(SQLITE_|SQL_|ARGS_)/.test(error.code) && !isAway(error);
  }
  return error instanceof RangeError;
}

/** True for a fault that a single query may have caused: one that does not parse, or a too large answer. */
function mayBeOne(error: unknown): boolean {
  if (error instanceof HranaStatusError) return error.status === 400 || error.status === 413;
  return error instanceof HranaError;
}
