/** Where a page of a list ends: after `limit` records or so many bytes of JSON (docs/interface.md 1.5.3). */

import { lacksRows } from "../../db/statement.ts";
import type { Statement, Store } from "../../db/store.ts";

interface PageBound<Row> {
  /** Records at most. */
  readonly limit: number;
  /** Bytes of JSON at most; a single record may be larger. */
  readonly bytes: number;
  /** UTF-16 units of the texts that a client chose, in one record. */
  readonly unitsOf: (row: Row) => number;
  /** What the page shows of the row; only called when the page may be too large. */
  readonly recordOf: (row: Row) => unknown;
}

/** JSON makes six bytes of a control character, and fewer of any other UTF-16 unit. */
const BYTES_PER_UNIT = 6;
/** More than the ids, numbers, names and punctuation of any record. */
const FRAME_BYTES = 1_500;

/** The rows of the page, from the first on: at least one, if there is any. */
export function endPage<Row>(rows: readonly Row[], bound: PageBound<Row>): readonly Row[] {
  const { limit, bytes, unitsOf, recordOf } = bound;
  const count = Math.min(rows.length, limit);
  let most = FRAME_BYTES * count;
  for (let i = 0; i < count; i++) most += BYTES_PER_UNIT * unitsOf(rows[i]!);
  let end = count;
  if (most > bytes) {
    // Ordinary pages never come here: their records are not rendered twice.
    let sum = 0;
    for (end = 0; end < count; end++) {
      sum += Buffer.byteLength(JSON.stringify(recordOf(rows[end]!))) + 1;
      if (sum > bytes && end > 0) break;
    }
  }
  return end === rows.length ? rows : rows.slice(0, end);
}

/**
 * Reads a page. If rows of a newer version were left out of it, it is read once more by a query that looks for
 * others in their place: `build` gets true then.
 */
export async function readPage<Row>(
  store: Pick<Store, "read">,
  build: (only_known: boolean) => Statement<Row>,
): Promise<Row[]> {
  const rows = await store.read(build(false));
  return lacksRows(rows) ? store.read(build(true)) : rows;
}
