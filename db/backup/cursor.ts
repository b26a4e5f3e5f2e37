/** Reads all tables of a libSQL server in one transaction, by a cursor of Hrana 3, which the server sends as a stream. */

import type { Clock } from "../../src/clock.ts";
import { codeOf } from "../../src/log.ts";
import { proxyOptions } from "../../src/loopback.ts";
import { assertOpens, SIGNING } from "../secrets.ts";
import type { Endpoint } from "../store/hrana.ts";
import type { Vault } from "../store/vault.ts";
import { BackupError } from "./backup-files.ts";
import {
  type Choose,
  type RowTaker,
  SCHEMA_QUERY,
  type Schema,
  SEQUENCE,
  selectAll,
  toSchema,
  type Value,
} from "./rows.ts";

/** A server has so many seconds for each further so many bytes, and for the last ones. A slower one counts as hanging. */
const PACE = { seconds: 60, bytes: 1e6 } as const;
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
  | { readonly type: "step_end" }
  | { readonly type: "replication_index"; readonly replication_index: number | null };

/** The tables and their texts, as a query for the server. */
export async function serverSchema(
  endpoint: Endpoint,
  clock: Clock,
  signal?: AbortSignal,
  at_least?: number,
): Promise<Schema> {
  const rows: Value[][] = [];
  const take = (_step: number, row: Value[]) => void rows.push(row);
  await run(endpoint, [SCHEMA_QUERY], clock, signal, take, at_least);
  return toSchema(rows);
}

/** Passes the rows of one query on. */
export async function readRows(
  endpoint: Endpoint,
  query: string,
  taker: Pick<RowTaker, "row">,
  clock: Clock,
  signal?: AbortSignal,
): Promise<void> {
  await run(endpoint, [query], clock, signal, (_step, row) => taker.row(row));
}

/**
 * Throws {@link BackupError} if the values of the store are encrypted with another key than that of the vault: nothing could
 * open a copy of them, whose file would be encrypted with that key.
 */
export async function assertOpensServer(
  endpoint: Endpoint,
  vault: Vault,
  clock: Clock,
  signal?: AbortSignal,
): Promise<void> {
  const query = `select value from secrets where name = '${SIGNING}'`;
  const row = ([stored]: readonly Value[]) => {
    try {
      assertOpens(vault, String(stored));
    } catch (error) {
      throw new BackupError(`the libSQL server: ${(error as Error).message}`, { cause: error });
    }
  };
  await readRows(endpoint, query, { row }, clock, signal);
}

/** Which store it is, and the number of its last event. */
const STORE_QUERY = `select value, coalesce((select seq from ${SEQUENCE.name} where name = 'events'), 0)
  from secrets where name = '${SIGNING}'`;

/**
 * Returns the number of the primary's last change, for `at_least` of {@link readServer}. Throws {@link BackupError} if
 * the replica is of another store, or a copy of this one that gets no changes: such a server numbers changes by itself, so
 * its number is not between two of the primary's, from before and after.
 */
export async function changeOfPrimary(
  primary: Endpoint,
  replica: Endpoint,
  clock: Clock,
  signal?: AbortSignal,
): Promise<number> {
  const look = async (endpoint: Endpoint, at_least?: number) => {
    const rows: Value[][] = [];
    const take = (_step: number, row: Value[]) => void rows.push(row);
    const change = await run(endpoint, [STORE_QUERY], clock, signal, take, at_least);
    const [secret, event] = rows[0] ?? [];
    return { secret, event: Number(event), change };
  };
  const other = () => new BackupError("BACKUP_URL is no replica of the store at DATABASE_URL");
  const before = await look(primary);
  const { secret, change } = before;
  if (change === null)
    throw new BackupError("the libSQL server of DATABASE_URL numbers no changes");
  if (secret === undefined || (await look(replica, 0)).secret !== secret) throw other();
  const copy = await look(replica, change);
  const after = await look(primary);
  const is_between =
    copy.change! <= after.change! && copy.event >= before.event && copy.event <= after.event;
  if (!is_between) throw other();
  return change;
}

const isSame = (one: Schema, other: Schema): boolean => Bun.deepEquals(one, other);

/**
 * Reads all tables as they are at one moment; the server goes on reading and writing meanwhile. Throws
 * {@link BackupError} if the server cannot be reached, refuses or hangs. `begin` gets the tables before their rows.
 * `at_least`: a replica waits until it has this change of its primary.
 */
export async function readServer(
  endpoint: Endpoint,
  taker: RowTaker,
  clock: Clock,
  signal?: AbortSignal,
  begin: (schema: Schema) => void | Promise<void> = () => {},
  at_least?: number,
  choose: Choose = (schema) => schema,
): Promise<Schema> {
  for (let tries = 1; ; tries++) {
    const whole = await serverSchema(endpoint, clock, signal, at_least);
    const schema = await choose(whole);
    const tables = [...schema.tables, SEQUENCE];
    const seen: Value[][] = [];
    let current = -1;
    let changed = false;
    const queries = [SCHEMA_QUERY, ...tables.map(({ name, columns }) => selectAll(name, columns))];
    const check = async () => {
      changed = !isSame(toSchema(seen), whole);
      if (!changed) await begin(schema);
    };
    const take = async (step: number, row: Value[]) => {
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
    };
    await run(endpoint, queries, clock, signal, take, at_least);
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

/**
 * Runs queries in one transaction, on a store that has the change `at_least`. `take` gets each row with the number of its
 * query. Returns the number of a change that they saw, or null from a server that numbers none.
 */
async function run(
  { base, auth_token }: Endpoint,
  queries: readonly string[],
  clock: Clock,
  signal: AbortSignal | undefined,
  take: (step: number, row: Value[]) => void | Promise<void>,
  at_least?: number,
): Promise<number | null> {
  const after = (step: number) => ({ type: "ok", step });
  const statements = ["begin", ...queries, "commit"];
  const steps = statements.map((sql, i) => ({
    stmt: { sql, want_rows: true },
    ...(i > 0 && { condition: after(i - 1) }),
  }));
  const server = at_least === undefined ? "the libSQL server" : "the replica";
  const pace = createPace(clock);
  try {
    const answer = fetch(`${base}/v3/cursor`, {
      ...proxyOptions(base),
      method: "POST",
      headers: {
        "content-type": "application/json",
        "accept-encoding": "identity",
        ...(auth_token !== undefined && { authorization: `Bearer ${auth_token}` }),
      },
      body: JSON.stringify({ baton: null, batch: { steps, replication_index: at_least } }),
      signal: signal ? AbortSignal.any([signal, pace.signal]) : pace.signal,
    });
    const response = await pace.wait(answer);
    if (!response.ok || !response.body) {
      await response.body?.cancel();
      throw new BackupError(`${server} answered with HTTP status ${response.status}`);
    }
    let ended = -1;
    let step = -1;
    let change: number | null = null;
    for await (const line of linesOf(response.body, pace)) {
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
        case "replication_index":
          change = entry.replication_index;
          break;
        case "step_error":
        case "error":
          throw new BackupError(`${server} could not read the store: ${entry.error.message}`);
      }
    }
    if (ended !== steps.length - 1) throw new BackupError(`${server} ended its answer early`);
    // A server that does not know `replication_index` would not wait.
    if (at_least !== undefined && (change ?? -1) < at_least)
      throw new BackupError("the replica lacks changes of the libSQL server");
    return change;
  } catch (error) {
    signal?.throwIfAborted();
    // Of whoever takes the rows.
    if (error instanceof BackupError || codeOf(error).startsWith("SQLITE_")) throw error;
    const lacks =
      at_least === undefined ? "" : ": it does not get the changes of its primary, or hangs";
    const why = !pace.signal.aborted
      ? "cannot be reached"
      : pace.bytes() === 0
        ? `sent nothing for ${PACE.seconds} seconds${lacks}`
        : `sent only ${pace.bytes()} bytes in ${PACE.seconds} seconds${lacks}`;
    throw new BackupError(`${server} ${why}`, { cause: error });
  } finally {
    // Ends the request, and so the transaction, if an error interrupted it.
    pace.end();
  }
}

type Pace = ReturnType<typeof createPace>;

/** Aborts its signal if the server does not keep {@link PACE}. Only the time of a wait for the server counts. */
function createPace(clock: Clock) {
  const slow = new AbortController();
  let left: number = PACE.seconds;
  let bytes = 0;
  return {
    signal: slow.signal,
    /** Bytes since the last whole {@link PACE}. */
    bytes: () => bytes,
    async wait<T>(answer: Promise<T>): Promise<T> {
      const since = clock.elapsed();
      const cancel = clock.after(left, () => slow.abort());
      try {
        return await answer;
      } finally {
        cancel();
        left -= clock.elapsed() - since;
      }
    },
    got(chunk: Uint8Array): void {
      bytes += chunk.length;
      if (bytes >= PACE.bytes) [left, bytes] = [PACE.seconds, 0];
    },
    end: () => slow.abort(),
  };
}

/** The lines after the first, which only continues the stream. */
async function* linesOf(body: ReadableStream<Uint8Array>, pace: Pace) {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  let first = true;
  for (;;) {
    const { done, value: chunk } = await pace.wait(reader.read());
    if (done) break;
    pace.got(chunk);
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
