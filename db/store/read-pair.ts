/** Runs a look-up of one row and the read after it as one statement, which takes the locks of a file once. */

import type { openConnection } from "./connection.ts";
import type { Cell, Statement, WriteResult } from "./store.ts";

type Result = WriteResult | Promise<WriteResult>;

interface PairedReadsOptions {
  readonly connection: Pick<ReturnType<typeof openConnection>, "prepare" | "run">;
  /** Runs one query by itself, within these seconds. */
  readonly runAlone: (statement: Statement, within: number) => Result;
}

/** The query that is held back. */
interface Held {
  readonly statement: Statement;
  readonly within: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** A query with the columns of two others. */
interface Pair {
  readonly sql: string;
  /** The number of columns of the first. */
  readonly columns: number;
}

const resultOf = (row: Cell[] | null): WriteResult => ({
  rows: row ? [row] : [],
  changes: 0,
  row_id: 0,
});

export function createPairedReads({ connection, runAlone }: PairedReadsOptions) {
  /** By the text of the first query, then of the second. */
  const pairs = new Map<string, Map<string, Pair>>();
  let held: Held | null = null;

  const pairOf = (first: string, second: string): Pair => {
    const of_first = pairs.get(first) ?? new Map<string, Pair>();
    pairs.set(first, of_first);
    let pair = of_first.get(second);
    if (!pair) {
      // The column between them is null only without a second row, whose own cells may all be null.
      const sql = `select * from (${first}) left join (select 1, * from (${second}))`;
      pair = { sql, columns: connection.prepare(first).columns().length };
      of_first.set(second, pair);
    }
    return pair;
  };

  /** The result of `second`, and that of the held query settled; null if they could not run together. */
  const runTogether = ({ statement: first, resolve }: Held, second: Statement) => {
    // Of two queries with at most one row, the pair has as many rows as the first.
    if (first.returns !== "row" || second.returns !== "row") return null;
    try {
      const { sql, columns } = pairOf(first.sql, second.sql);
      const args = [...first.args, ...second.args];
      const [cells] = connection.run({ sql, args, returns: "row" }).rows;
      if (!cells) return null;
      resolve(resultOf(cells.slice(0, columns)));
      return resultOf(cells[columns] === null ? null : cells.slice(columns + 1));
    } catch {
      // Each by itself then meets its own fault.
      return null;
    }
  };

  const settleAlone = ({ statement, within, resolve, reject }: Held): void => {
    try {
      resolve(runAlone(statement, within));
    } catch (error) {
      reject(error);
    }
  };

  const runHeld = (): void => {
    const first = held;
    held = null;
    if (first) settleAlone(first);
  };

  return {
    /** Holds a query back until the next {@link run}, {@link hold} or {@link runHeld}. */
    hold(statement: Statement, within: number): Promise<WriteResult> {
      runHeld();
      return new Promise((resolve, reject) => {
        held = { statement, within, resolve, reject };
      });
    },

    /** Runs a query, together with the held one if both have at most one row. */
    run(statement: Statement, within: number): Result {
      const first = held;
      if (!first) return runAlone(statement, within);
      held = null;
      const result = runTogether(first, statement);
      if (!result) settleAlone(first);
      return result ?? runAlone(statement, within);
    },

    /** Runs the held query by itself, if there is one. */
    runHeld,
  };
}
