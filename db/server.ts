/** The store on a libSQL server, over HTTP, with group commit and its change feed. */

import type { InArgs, InStatement, ResultSet } from "@libsql/client";
import { createClient } from "@libsql/client/http";
import type { Clock } from "../src/clock.ts";
import type { ReportFault } from "./faults.ts";
import { createLane } from "./lane.ts";
import {
  type Cell,
  checkArgs,
  isAway,
  isBusy,
  type Statement,
  type Store,
  unavailable,
  type WriteResult,
  whenFree,
} from "./store.ts";

/** Milliseconds until a request to a server that does not answer is given up. */
const TIMEOUT_MS = 4_000;
/** Seconds between polls: rarely while the change feed works, since it wakes us. */
const POLL_WITH_FEED = 0.25;
const POLL_WITHOUT_FEED = 0.025;
/** The feed fires just before the commit is visible, so a second look follows. Seconds. */
const SECOND_LOOK = 0.01;
/** Seconds until a feed that ended is opened again, and one the server does not have. */
const REOPEN = { ended: 0.25, missing: 60 };

interface ServerOptions {
  /** `http(s):`, `libsql:` or `ws(s):` URL; all are spoken over HTTP. */
  readonly url: string;
  readonly auth_token: string | undefined;
}

/** Connects lazily: the first statement shows whether the server is there. */
export function openServer(
  { url, auth_token }: ServerOptions,
  clock: Clock,
  report: ReportFault,
): Store {
  const http_url = url.replace(/^ws(s?):/, "http$1:");
  const client = createClient({
    url: http_url,
    ...(auth_token !== undefined && { authToken: auth_token }),
    fetch: (request: Request) => fetch(request, { signal: AbortSignal.timeout(TIMEOUT_MS) }),
  });
  const closing = new AbortController();
  let feed_open = false;

  /** Tells a fault of the statement from a server that cannot be used. */
  const asking = <T>(ask: () => Promise<T>): Promise<T> =>
    whenFree(clock, async () => {
      try {
        return await ask();
      } catch (error) {
        if (isBusy(error) || isAway(error) || isStatementFault(error)) throw error;
        throw unavailable(error);
      }
    });

  // One batch at a time: sqld can livelock under concurrent writes.
  const lane = createLane(
    async (statements) => {
      const batch = statements.map(toClient);
      const results = await asking(() => client.batch(batch, "write"));
      return results.map(toResult);
    },
    clock,
    report,
  );

  const openFeed = async (changed: () => void): Promise<void> => {
    const base = http_url
      .replace(/^libsql:/, /[?&]tls=0/.test(http_url) ? "http:" : "https:")
      .replace(/\?.*$/, "")
      .replace(/\/$/, "");
    while (!closing.signal.aborted) {
      let pause = REOPEN.ended;
      try {
        const response = await fetch(`${base}/beta/listen?table=events&action=insert`, {
          signal: closing.signal,
          ...(auth_token !== undefined && { headers: { authorization: `Bearer ${auth_token}` } }),
        });
        if (!response.ok || !response.body) {
          pause = REOPEN.missing;
        } else {
          feed_open = true;
          for await (const _ of response.body) {
            changed();
            clock.after(SECOND_LOOK, changed);
          }
        }
      } catch {
        // The end of the feed says nothing by itself; the look below finds out.
      }
      feed_open = false;
      if (closing.signal.aborted) return;
      changed();
      await new Promise<void>((next) => clock.after(pause, next));
    }
  };

  return {
    kind: "server",
    async read(statement) {
      const query = toClient(statement);
      const result = await asking(() => client.execute(query));
      return statement.read(toResult(result).rows);
    },
    write: lane.write,
    writable: lane.writable,
    gone: () => false,
    watch(changed) {
      void openFeed(changed);
    },
    pollEvery: () => (feed_open ? POLL_WITH_FEED : POLL_WITHOUT_FEED),
    stats: lane.stats,
    walBytes: () => null,
    async close() {
      closing.abort();
      await lane.close();
      client.close();
    },
  };
}

/** Codes that the server gives for a statement itself, as opposed to its own troubles. */
function isStatementFault(error: unknown): boolean {
  return /^(SQLITE_|SQL_|ARGS_)/.test(String((error as { code?: unknown }).code));
}

function toClient({ sql, args }: Statement): InStatement {
  checkArgs(sql, args);
  // The protocol sends a JavaScript number as a float; an integer must arrive as one.
  const exact = args.map((arg) => (Number.isInteger(arg) ? BigInt(arg as number) : arg));
  return { sql, args: exact as InArgs };
}

function toResult(result: ResultSet): WriteResult {
  const width = result.columns.length;
  const rows = result.rows.map((row) => Array.from({ length: width }, (_, i) => row[i] as Cell));
  return { rows, changes: result.rowsAffected, row_id: Number(result.lastInsertRowid ?? 0) };
}
