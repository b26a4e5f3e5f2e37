/**
 * The bare server's store on a libSQL server: `@libsql/client` used as well as possible, with writes and
 * reads in batches of what arrived in one turn of the event loop.
 */

import { createClient, type InStatement, type ResultSet } from "@libsql/client";
import { type BareStore, INDEXES, INSERT, LIST, PATCH, READ, TABLE } from "./bare-tasks.ts";

/** Concurrent read batches, and reads in each: the fastest values on two cores. */
const READS = { lanes: 4, most: 32 };

/** Opens the libSQL server at `url`. */
export async function openBareClient(url: string): Promise<BareStore> {
  const client = createClient({ url });
  await client.batch([TABLE, ...INDEXES], "write");
  const first = ({ rows, columns }: ResultSet) => toObject(columns, rows[0]);
  // One write batch at a time: sqld can livelock under concurrent writes.
  const write = createGroups<InStatement, ResultSet>((group) => client.batch(group, "write"));
  const read = createGroups<InStatement, ResultSet>((group) => client.batch(group, "read"), READS);
  return {
    create: (args) => write({ sql: INSERT, args }),
    patch: async (args) => first(await write({ sql: PATCH, args })),
    read: async (id) => first(await read({ sql: READ, args: [id] })),
    async list(args) {
      const { rows, columns } = await read({ sql: LIST, args });
      return rows.map((row) => toObject(columns, row));
    },
  };
}

/** A plain object for a row: the client's own row object is slow to turn into JSON. */
function toObject(columns: readonly string[], row: ResultSet["rows"][number] | undefined) {
  return row && Object.fromEntries(columns.map((name, i) => [name, row[i]]));
}

interface Waiting<Input, Output> {
  readonly input: Input;
  readonly done: (output: Output) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Runs what arrives in one turn of the event loop, and while all lanes are busy, as one group of at
 * most `most`.
 */
function createGroups<Input, Output>(
  run: (group: Input[]) => Promise<readonly Output[]>,
  { lanes = 1, most = Number.POSITIVE_INFINITY } = {},
): (input: Input) => Promise<Output> {
  const waiting: Waiting<Input, Output>[] = [];
  let busy = 0;
  let due = false;

  const start = () => {
    due = false;
    while (busy < lanes && waiting.length > 0) {
      busy++;
      void runGroup(waiting.splice(0, Math.min(most, waiting.length)));
    }
  };
  const runGroup = async (group: readonly Waiting<Input, Output>[]) => {
    try {
      const outputs = await run(group.map(({ input }) => input));
      for (const [i, { done }] of group.entries()) done(outputs[i]!);
    } catch (error) {
      for (const { fail } of group) fail(error);
    }
    busy--;
    schedule();
  };
  const schedule = () => {
    if (due || waiting.length === 0 || busy === lanes) return;
    due = true;
    setImmediate(start);
  };
  return (input) =>
    new Promise((done, fail) => {
      waiting.push({ input, done, fail });
      schedule();
    });
}
