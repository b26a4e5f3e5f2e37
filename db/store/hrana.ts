/**
 * A small client of the Hrana 3 protocol over HTTP (JSON). A stream stays open on the server between requests and is
 * resumed by the baton of the last answer, so the server needs no new SQL connection for each request. For lists of 50
 * rows it takes half the client CPU of `@libsql/hrana-client`, which validates every cell.
 */

import type { Clock } from "../../src/clock.ts";
import { proxyOptions } from "../../src/loopback.ts";
import { OtherStore } from "./faults.ts";
import type { Cell, Statement, WriteResult } from "./store.ts";
import { isDisproof, lacksTables } from "./store-proof.ts";
import { type Check, fromSteps, isFailedCheck, toSteps } from "./write-group.ts";

/** Seconds after which an unused stream is opened anew: sqld gives it up after 10. */
export const STREAM_IDLE = 8;

/** The address of a libSQL server. */
export interface Endpoint {
  /** `http(s)` URL without a trailing slash. */
  readonly base: string;
  readonly auth_token: string | undefined;
}

/** An error that the server reported for a statement, or for the whole request. */
export class HranaError extends Error {
  readonly code: string;
  constructor({ message, code }: WireError) {
    super(message);
    this.name = "HranaError";
    this.code = code ?? "UNKNOWN";
  }
}

/** An HTTP status other than 200. */
export class HranaStatusError extends Error {
  readonly status: number;
  /** For the log. */
  readonly code: string;
  /** True if the server refused the baton of a kept stream, and so ran nothing. */
  readonly refused_baton: boolean;
  constructor(status: number, refused_baton: boolean) {
    super(`the libSQL server answered with HTTP status ${status}`);
    this.name = "HranaStatusError";
    this.code = `HTTP_${status}`;
    this.status = status;
    this.refused_baton = refused_baton;
  }
}

interface WireError {
  readonly message: string;
  readonly code?: string;
}

type WireValue =
  | { readonly type: "null" }
  | { readonly type: "integer" | "text"; readonly value: string }
  | { readonly type: "float"; readonly value: number }
  | { readonly type: "blob"; readonly base64: string };

interface WireResult {
  readonly rows: readonly (readonly WireValue[])[];
  readonly affected_row_count: number;
  readonly last_insert_rowid: string | null;
}

interface BatchResult {
  readonly step_results: readonly (WireResult | null)[];
  readonly step_errors: readonly (WireError | null)[];
}

interface WireAnswer {
  readonly baton: string | null;
  readonly base_url: string | null;
  readonly results: readonly (
    | { readonly type: "ok"; readonly response: { readonly result: BatchResult } }
    | { readonly type: "error"; readonly error: WireError }
  )[];
}

type Condition =
  | { readonly type: "ok"; readonly step: number }
  | { readonly type: "not"; readonly cond: Condition }
  | { readonly type: "and"; readonly conds: readonly Condition[] }
  | { readonly type: "is_autocommit" };

interface Step {
  readonly stmt: object;
  readonly condition?: Condition;
}

/** The state that all streams of a store share: how they recognize the store behind the server. */
export const createGuard = () => ({
  /** Fails on every other store (store-proof.ts); null before the right one is known. */
  proof: null as Statement | null,
  /** True from a proof that failed until one succeeds. */
  is_other: false,
  /** Called when a new stream works after one has failed: the server may have an older copy now. */
  reconnected() {},
});

type StoreGuard = ReturnType<typeof createGuard>;

/**
 * The HTTP address in a `http(s):`, `libsql:` or `ws(s):` URL. `?tls=0` turns TLS off for `libsql:`. Throws a
 * `TypeError` for a URL that contradicts itself.
 */
export function endpointOf(url: string, auth_token: string | undefined): Endpoint {
  const { protocol, host, port, pathname, searchParams } = new URL(url);
  const plain = protocol === "http:" || protocol === "ws:";
  const tls = searchParams.get("tls") ?? (plain ? "0" : "1");
  if (protocol === "libsql:" && tls === "0" && port === "") {
    throw new TypeError('a "libsql:" URL with ?tls=0 must have a port');
  }
  if (protocol !== "libsql:" && tls !== (plain ? "0" : "1")) {
    throw new TypeError(`?tls=${tls} contradicts "${protocol}"`);
  }
  const path = pathname.replace(/\/$/, "");
  return { base: `${tls === "0" ? "http" : "https"}://${host}${path}`, auth_token };
}

/**
 * A stream for one request at a time. It is opened by the first request, and again by the next one after it failed or
 * the server gave it up.
 *
 * The first request of a stream begins with the proof of `guard`, in the same round trip. On another store it does
 * nothing else and throws {@link OtherStore}. A stream leads to one process of the server, so later requests need no
 * proof.
 */
export function createHranaStream(
  { base, auth_token }: Endpoint,
  clock: Clock,
  guard: StoreGuard = createGuard(),
) {
  const headers = {
    "content-type": "application/json",
    // Compression would cost the server a quarter of the CPU of a list, and saves little on one network.
    "accept-encoding": "identity",
    ...(auth_token !== undefined && { authorization: `Bearer ${auth_token}` }),
  };
  /** Queries of {@link Statement.only_if} that may return a row. */
  const working = new Set<string>();
  let baton: string | null = null;
  /** The server may move a stream to another address. */
  let address = base;
  let used_at = 0;
  /** True once the stream is known to lead to the right store. */
  let proven = false;
  /** True from a fault of a stream until the next one is proven. */
  let was_cut = false;

  const forget = () => {
    baton = null;
    address = base;
    proven = false;
  };

  const doubt = (): OtherStore => {
    proven = false;
    guard.is_other = true;
    return new OtherStore();
  };

  const withoutProof = ({ step_results, step_errors }: BatchResult): BatchResult => {
    const [fault] = step_errors;
    if (fault) throw isDisproof(fault) ? doubt() : new HranaError(fault);
    proven = true;
    guard.is_other = false;
    if (was_cut) guard.reconnected();
    was_cut = false;
    return { step_results: step_results.slice(1), step_errors: step_errors.slice(1) };
  };

  const post = async (stepsFrom: StepsFrom, signal: AbortSignal): Promise<BatchResult> => {
    // Without a baton it is a new stream.
    const proof = proven && baton !== null ? null : guard.proof;
    const steps = proof ? [{ stmt: toWire(proof, true) }, ...stepsFrom(1)] : stepsFrom(0);
    const response = await fetch(`${address}/v3/pipeline`, {
      ...proxyOptions(address),
      method: "POST",
      headers,
      body: JSON.stringify({ baton, requests: [{ type: "batch", batch: { steps } }] }),
      signal,
    });
    if (!response.ok) throw await statusError(response, baton !== null);
    const answer = (await response.json()) as WireAnswer;
    baton = answer.baton;
    address = answer.base_url?.replace(/\/$/, "") ?? address;
    used_at = clock.elapsed();
    const result = answer.results[0]!;
    if (result.type === "error") throw new HranaError(result.error);
    const outcome = proof ? withoutProof(result.response.result) : result.response.result;
    if (guard.proof && outcome.step_errors.some((error) => error && lacksTables(error)))
      throw doubt();
    return outcome;
  };

  /** `repeatable`: the request may be sent again if its outcome is unknown. */
  const send = async (
    stepsFrom: StepsFrom,
    signal: AbortSignal,
    repeatable: boolean,
  ): Promise<BatchResult> => {
    // The server is about to expire the stream; a new one costs less than a refusal.
    if (clock.elapsed() - used_at > STREAM_IDLE) forget();
    const kept = baton !== null;
    try {
      return await post(stepsFrom, signal);
    } catch (error) {
      if (isAnswer(error)) throw error;
      forget();
      was_cut = true;
      const not_run = error instanceof HranaStatusError && error.refused_baton;
      if (!kept || signal.aborted || !(repeatable || not_run)) throw error;
    }
    try {
      return await post(stepsFrom, signal);
    } catch (error) {
      if (!isAnswer(error)) forget();
      throw error;
    }
  };

  return {
    /**
     * Runs queries in one round trip. The error of a query takes the place of its result. Throws if none has a
     * result.
     */
    async read(
      statements: readonly Statement[],
      signal: AbortSignal,
    ): Promise<(WriteResult | Error)[]> {
      const steps = statements.map((statement) => ({ stmt: toWire(statement, true) }));
      const stepsFrom: StepsFrom = (first) =>
        first === 0 ? steps : steps.map((step) => ({ ...step, condition: PROVEN }));
      const { step_results, step_errors } = await send(stepsFrom, signal, true);
      return statements.map((_, i) => {
        const result = step_results[i];
        if (!result) return new HranaError(step_errors[i] ?? { message: "the step was not run" });
        try {
          return toResult(result);
        } catch (error) {
          return error as Error;
        }
      });
    },

    /**
     * Runs statements as one transaction in one round trip. Throws {@link HranaError} if it was rolled back. After any
     * other error the outcome is unknown.
     */
    async write(statements: readonly Statement[], signal: AbortSignal): Promise<WriteResult[]> {
      for (let tries = 0; tries < CHECKED_TRIES; tries++) {
        const outcome = await transact(statements, (guard) => working.has(guard), signal);
        if (!("guards" in outcome)) return outcome;
        await learn(outcome, signal);
      }
      return (await transact(statements, () => true, signal)) as WriteResult[];
    },
  };

  /** Finds out which queries of a check that failed return a row. */
  async function learn({ guards }: Check, signal: AbortSignal): Promise<void> {
    const steps = [...guards.values()].map((guard) => ({ stmt: toWire(guard, true) }));
    const { step_results } = await send(
      (first) => (first === 0 ? steps : steps.map((step) => ({ ...step, condition: PROVEN }))),
      signal,
      true,
    );
    [...guards.keys()].forEach((guard, i) => {
      if (step_results[i]?.rows.length !== 0) working.add(guard);
    });
    for (const guard of working) {
      if (working.size <= WORKING_MOST) break;
      working.delete(guard);
    }
  }

  /** Runs a group as one transaction. Returns the check that made it fail, if one did. */
  async function transact(
    statements: readonly Statement[],
    hasWork: (guard: string) => boolean,
    signal: AbortSignal,
  ): Promise<WriteResult[] | Check> {
    const group = toSteps(statements, hasWork);
    const wire = group.map(({ statement, wants_rows }) => toWire(statement, wants_rows));
    const commit = wire.length + 1;
    const { step_results, step_errors } = await send(
      (first) => transaction(wire, first),
      signal,
      false,
    );
    const failed = step_errors.findIndex((error) => error !== null);
    const guards = group[failed - 1]?.guards;
    if (guards && isFailedCheck(step_errors[failed]!)) return { guards };
    if (failed >= 0) throw new HranaError(step_errors[failed]!);
    if (!step_results[commit]) throw new HranaError({ message: "the server rolled back" });
    const results = group.map((_, i) => toResult(step_results[i + 1]!));
    return fromSteps(statements, group, results);
  }
}

/** Queries of `only_if` that are remembered to have returned a row. */
const WORKING_MOST = 10_000;
/** Tries of a group with its checks; then all statements are run without them. */
const CHECKED_TRIES = 3;

/** Makes the steps of a request; the first one gets this number. */
type StepsFrom = (first: number) => readonly Step[];

const PROVEN: Condition = { type: "ok", step: 0 };

/** True if the server answered, so that the stream goes on. */
const isAnswer = (error: unknown): boolean =>
  error instanceof HranaError || error instanceof OtherStore;

/** Statements between BEGIN and COMMIT, or ROLLBACK if one of them fails. */
function transaction(statements: readonly object[], first: number): Step[] {
  const begin: Step = { stmt: { sql: "begin immediate", want_rows: false } };
  const commit = first + statements.length + 1;
  return [
    first === 0 ? begin : { ...begin, condition: PROVEN },
    ...statements.map((stmt, i) => ({ condition: afterStep(first + i), stmt })),
    { condition: afterStep(commit - 1), stmt: { sql: "commit", want_rows: false } },
    {
      condition: { type: "not", cond: { type: "ok", step: commit } },
      stmt: { sql: "rollback", want_rows: false },
    },
  ];
}

/** The step succeeded, and the transaction is still open: the server may have rolled it back. */
function afterStep(step: number): Condition {
  return {
    type: "and",
    conds: [
      { type: "ok", step },
      { type: "not", cond: { type: "is_autocommit" } },
    ],
  };
}

/**
 * A baton is refused before anything runs if it expired (`STREAM_EXPIRED`), or is unknown after a restart of the
 * server. After "has already been used", another request may have run.
 */
async function statusError(response: Response, kept: boolean): Promise<HranaStatusError> {
  const { status } = response;
  const text = kept ? await response.text() : "";
  if (!kept) await response.body?.cancel();
  const refused =
    text.includes("STREAM_EXPIRED") ||
    ((status === 400 || status === 404) && !text.includes("already been used"));
  return new HranaStatusError(status, kept && refused);
}

function toWire({ sql, args }: Pick<Statement, "sql" | "args">, want_rows: boolean): object {
  return { sql, args: args.map(toValue), want_rows };
}

/** An integer must arrive as one, though a JavaScript number is both. */
function toValue(cell: Cell): WireValue {
  if (cell === null) return { type: "null" };
  if (typeof cell === "string") return { type: "text", value: cell };
  if (Number.isInteger(cell)) return { type: "integer", value: String(cell) };
  return { type: "float", value: cell };
}

function toCell(value: WireValue): Cell {
  switch (value.type) {
    case "null":
      return null;
    case "integer":
      return toInteger(value.value);
    case "blob":
      throw new TypeError("a blob, which no column holds");
    default:
      return value.value;
  }
}

function toInteger(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new RangeError("an integer beyond 2^53");
  return number;
}

function toResult({ rows, affected_row_count, last_insert_rowid }: WireResult): WriteResult {
  return {
    rows: rows.map((row) => row.map(toCell)),
    changes: affected_row_count,
    row_id: Number(last_insert_rowid ?? 0),
  };
}
