/** Reads all tables of a libSQL server in one transaction, by a cursor of Hrana 3, which the server sends as a stream. */

import type { Clock } from "../../src/clock.ts";
import { codeOf } from "../../src/log.ts";
import { proxyOptions } from "../../src/loopback.ts";
import type { Endpoint } from "../store/hrana.ts";
import { BackupError } from "./backup-files.ts";
import {
  createPauses,
  type RowTaker,
  SCHEMA_QUERY,
  type Schema,
  SEQUENCE,
  selectAll,
  toSchema,
  type Value,
} from "./rows.ts";

/** Seconds without a byte after which the server counts as hanging. */
const SILENCE = 60;
/** Characters of one line: the largest rows have 65 kB. */
const LINE_MOST = 64 * 1024 * 1024;
/** Reads that begin anew because the tables were changed meanwhile, as by a start of a newer version. */
const TRIES = 3;

type WireValue =
  | { readonly type: "null" }
  | { readonly type: "integer" | "text"; readonly value: string }
  | { readonly type: "float"; readonly value: number }
  | { readonly type: "blob"; readonly base64: string };

interface WireError {
  readonly message: string;
}

type Entry =
  | { readonly type: "step_begin"; readonly step: number }
  | { readonly type: "row"; readonly row: readonly WireValue[] }
  | { readonly type: "step_error" | "error"; readonly error: WireError }
  | { readonly type: "step_end" | "replication_index" };

/** The tables and their texts, as a query for the server. */
export async function serverSchema(
  endpoint: Endpoint,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Schema> {
  const rows: Value[][] = [];
  await run(endpoint, [SCHEMA_QUERY], clock, signal, (_step, row) => void rows.push(row));
  return toSchema(rows);
}

/** Passes the rows of one query on. */
export const readRows = (
  endpoint: Endpoint,
  query: string,
  taker: RowTaker,
  clock: Clock,
  signal?: AbortSignal,
): Promise<void> => run(endpoint, [query], clock, signal, (_step, row) => taker.row(row));

const isSame = (one: Schema, other: Schema): boolean => Bun.deepEquals(one, other);

/**
 * Reads all tables as they are at one moment; the server goes on reading and writing meanwhile. Throws
 * {@link BackupError} if the server cannot be reached, refuses or hangs. `begin` gets the tables before their rows.
 */
export async function readServer(
  endpoint: Endpoint,
  taker: RowTaker,
  clock: Clock,
  signal?: AbortSignal,
  begin: (schema: Schema) => void | Promise<void> = () => {},
): Promise<Schema> {
  for (let tries = 1; ; tries++) {
    const schema = await serverSchema(endpoint, clock, signal);
    const tables = [...schema.tables, SEQUENCE];
    const seen: Value[][] = [];
    let current = -1;
    let changed = false;
    const queries = [SCHEMA_QUERY, ...tables.map(({ name, columns }) => selectAll(name, columns))];
    const check = async () => {
      changed = !isSame(toSchema(seen), schema);
      if (!changed) await begin(schema);
    };
    await run(endpoint, queries, clock, signal, async (step, row) => {
      if (step === 0) return void seen.push(row);
      if (current < 0) {
        current = 0;
        await check();
      }
      if (changed) return;
      while (current < step) {
        const { name, columns } = tables[current++]!;
        await taker.table(name, columns);
      }
      await taker.row(row);
    });
    if (current < 0) {
      current = 0;
      await check();
    }
    if (!changed) {
      for (; current < tables.length; current++) {
        const { name, columns } = tables[current]!;
        await taker.table(name, columns);
      }
      return schema;
    }
    if (tries === TRIES)
      throw new BackupError("the tables of the store are being changed; try again");
  }
}

/** Runs queries in one transaction. `take` gets each row with the number of its query. */
async function run(
  { base, auth_token }: Endpoint,
  queries: readonly string[],
  clock: Clock,
  signal: AbortSignal | undefined,
  take: (step: number, row: Value[]) => void | Promise<void>,
): Promise<void> {
  const after = (step: number) => ({ type: "ok", step });
  const statements = ["begin", ...queries, "commit"];
  const steps = statements.map((sql, i) => ({
    stmt: { sql, want_rows: true },
    ...(i > 0 && { condition: after(i - 1) }),
  }));
  const silent = new AbortController();
  let cancel = () => {};
  const listen = () => {
    cancel();
    cancel = clock.after(SILENCE, () => silent.abort());
  };
  listen();
  try {
    const response = await fetch(`${base}/v3/cursor`, {
      ...proxyOptions(base),
      method: "POST",
      headers: {
        "content-type": "application/json",
        "accept-encoding": "identity",
        ...(auth_token !== undefined && { authorization: `Bearer ${auth_token}` }),
      },
      body: JSON.stringify({ baton: null, batch: { steps } }),
      signal: signal ? AbortSignal.any([signal, silent.signal]) : silent.signal,
    });
    if (!response.ok || !response.body) {
      await response.body?.cancel();
      throw new BackupError(`the libSQL server answered with HTTP status ${response.status}`);
    }
    let ended = -1;
    let step = -1;
    const pause = createPauses(clock, signal);
    for await (const line of linesOf(response.body, listen)) {
      const entry = JSON.parse(line) as Entry;
      switch (entry.type) {
        case "step_begin":
          step = entry.step;
          break;
        case "row": {
          const wait = take(step - 1, entry.row.map(toValue));
          if (wait) await wait;
          break;
        }
        case "step_end":
          ended = step;
          break;
        case "step_error":
        case "error":
          throw new BackupError(
            `the libSQL server could not read the store: ${entry.error.message}`,
          );
      }
      await pause();
    }
    if (ended !== steps.length - 1)
      throw new BackupError("the libSQL server ended its answer early");
  } catch (error) {
    signal?.throwIfAborted();
    // Of whoever takes the rows.
    if (error instanceof BackupError || codeOf(error).startsWith("SQLITE_")) throw error;
    const why = silent.signal.aborted ? `sent nothing for ${SILENCE} seconds` : "cannot be reached";
    throw new BackupError(`the libSQL server ${why}`, { cause: error });
  } finally {
    cancel();
    // Ends the request, and so the transaction, if an error interrupted it.
    silent.abort();
  }
}

/** The lines after the first, which only continues the stream. */
async function* linesOf(body: ReadableStream<Uint8Array>, heard: () => void) {
  const decoder = new TextDecoder();
  let rest = "";
  let first = true;
  for await (const chunk of body) {
    heard();
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    if (rest.length > LINE_MOST) throw new BackupError("the libSQL server sent too long a line");
    for (const line of lines) {
      if (first) first = false;
      else if (line !== "") yield line;
    }
  }
  if (rest !== "") yield rest;
}

function toValue(value: WireValue): Value {
  switch (value.type) {
    case "null":
      return null;
    case "integer": {
      const number = Number(value.value);
      return Number.isSafeInteger(number) ? number : BigInt(value.value);
    }
    case "blob":
      return new Uint8Array(Buffer.from(value.base64, "base64"));
    default:
      return value.value;
  }
}
