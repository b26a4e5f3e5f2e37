/** Counts what Relay asks of a store: statements, changed rows, and round trips or transactions. */

import { afterAll } from "bun:test";
import Database from "libsql";
import { proofOf } from "../../db/store/store-proof.ts";
import { startPipelineProxy } from "./pipeline-proxy.ts";
import { createTestStore } from "./store.ts";

/** What a store did since the last look. */
export interface StoreWork {
  /** Statements that ran on the file or were sent to the server, without BEGIN, COMMIT and ROLLBACK. */
  readonly statements: number;
  /** Rows inserted, updated or deleted, with those of triggers (`total_changes()` of SQLite). */
  readonly rows: number;
  /** Requests to the libSQL server, or transactions on the file that write. */
  readonly trips: number;
  /** Texts of the statements of each trip; on the file, all in one list. */
  readonly texts: readonly (readonly string[])[];
}

export interface StoreMeter {
  /** For `DATABASE_URL`. Open the store after the meter has started. */
  readonly url: string;
  /** What the store did since the last call. On a file, call it when nothing is under way. */
  take(): StoreWork;
  /** Holds back the answers of a server to writes until `release` is called; null for a file. */
  readonly hold: (() => { readonly held: () => number; readonly release: () => void }) | null;
}

/** Begins a new connection to a server, and is not counted: connections last for many requests. */
const PROOF = proofOf("").sql;
const CHANGED = "select total_changes()";
const isTransaction = (sql: string): boolean => /^(begin|commit|rollback)\b/.test(sql);

/** A new store of this run's kind, with a meter between it and whoever opens its `url`. */
export async function startStoreMeter(): Promise<StoreMeter> {
  const { url, sqld } = await createTestStore();
  return sqld ? meterServer(url) : meterFile(url);
}

/** Counts at the native binding, through which every statement of a file goes. */
function meterFile(url: string): StoreMeter {
  const { prepare, exec } = Database.prototype;
  afterAll(() => {
    Object.assign(Database.prototype, { prepare, exec });
  });
  let texts: string[] = [];
  let trips = 0;
  let rows = 0;
  /** The connection that writes. */
  let writer: Database.Database | undefined;

  const count = (connection: Database.Database, sql: string) => {
    if (!isTransaction(sql)) texts.push(sql);
    if (!sql.startsWith("begin")) return;
    writer = connection;
    trips++;
  };
  const prepareCounted = function (this: Database.Database, sql: string) {
    const made = prepare.call(this, sql);
    for (const method of ["run", "get", "all"] as const) {
      const call = made[method].bind(made) as (...args: unknown[]) => never;
      made[method] = (...args: unknown[]) => {
        count(this, sql);
        return call(...args);
      };
    }
    return made;
  };
  const execCounted = function (this: Database.Database, sql: string) {
    count(this, sql);
    return exec.call(this, sql);
  };
  Object.assign(Database.prototype, { prepare: prepareCounted, exec: execCounted });

  return {
    url,
    take() {
      const [now] = writer ? (prepare.call(writer, CHANGED).raw(true).get([]) as [number]) : [0];
      const work = { statements: texts.length, rows: now - rows, trips, texts: [texts] };
      rows = now;
      texts = [];
      trips = 0;
      return work;
    },
    hold: null,
  };
}

interface PipelineAnswer {
  readonly baton: string | null;
  readonly results: readonly {
    readonly response?: {
      readonly result: {
        readonly step_results: ({ readonly rows: { readonly value: string }[][] } | null)[];
        readonly step_errors: unknown[];
      };
    };
  }[];
}

/** Counts at a proxy, which asks for the changed rows at the end of each request. */
function meterServer(target: string): StoreMeter {
  const proxy = startPipelineProxy(target, { change_feed: false });
  /** Changed rows of each connection to the server so far, by the baton of its next request. */
  const changed = new Map<string | null, number>();
  let texts: string[][] = [];
  let rows = 0;
  let gate = Promise.resolve();
  let held = 0;

  proxy.answer(async ({ forward, request }) => {
    const response = await forward(request.baton, [CHANGED]);
    // The server refused the request and ran nothing, so the store sends it again.
    if (!response.ok) return response;
    const answer = (await response.json()) as PipelineAnswer;
    const { step_results, step_errors } = answer.results[0]!.response!.result;
    const now = Number(step_results.pop()!.rows[0]![0]!.value);
    step_errors.pop();
    rows += now - (changed.get(request.baton) ?? 0);
    changed.delete(request.baton);
    if (answer.baton !== null) changed.set(answer.baton, now);
    texts.push(request.texts.filter((sql) => !isTransaction(sql) && sql !== PROOF));
    if (request.texts.some(isTransaction)) {
      held++;
      await gate;
      held--;
    }
    return Response.json(answer, { status: response.status });
  });

  return {
    url: proxy.url,
    take() {
      const work = { statements: texts.flat().length, rows, trips: texts.length, texts };
      texts = [];
      rows = 0;
      return work;
    },
    hold() {
      const opening = Promise.withResolvers<void>();
      gate = opening.promise;
      return { held: () => held, release: opening.resolve };
    },
  };
}
