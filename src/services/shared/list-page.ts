/**
 * Pages of lists: where a page ends, after `limit` records or so many bytes of JSON (§1.5.3), and the opaque
 * cursor that continues it (§1.5.2).
 */

import { createHash } from "node:crypto";
import { lacksRows } from "../../../db/store/statement.ts";
import type { Statement, Store } from "../../../db/store/store.ts";
import { failFields } from "../../errors.ts";

/** The query parameters of a list in pages. */
export interface PageQuery {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

interface PageBound<Row> {
  /** Records at most. */
  readonly limit: number;
  /** Bytes of JSON at most. A single record may be larger. */
  readonly bytes: number;
  /** UTF-16 units of the texts that a client chose for one record. */
  readonly unitsOf: (row: Row) => number;
  /** The record that the page shows for the row. Called only when the page may be too large. */
  readonly recordOf: (row: Row) => unknown;
}

/** Bytes of JSON for one UTF-16 unit at most: a control character is escaped as `\u0000`. */
const BYTES_PER_UNIT = 6;
/** An upper bound for the ids, numbers, names and punctuation of any record. */
const FRAME_BYTES = 1_500;

/** The first rows, as many as the page may hold, and at least one if there are any. */
export function endPage<Row>(rows: readonly Row[], bound: PageBound<Row>): readonly Row[] {
  const { limit, bytes, unitsOf, recordOf } = bound;
  const count = Math.min(rows.length, limit);
  let most = FRAME_BYTES * count;
  for (let i = 0; i < count; i++) most += BYTES_PER_UNIT * unitsOf(rows[i]!);
  let end = count;
  if (most > bytes) {
    // Ordinary pages do not get here, so their records are not rendered twice.
    let sum = 0;
    for (end = 0; end < count; end++) {
      sum += Buffer.byteLength(JSON.stringify(recordOf(rows[end]!))) + 1;
      if (sum > bytes && end > 0) break;
    }
  }
  return end === rows.length ? rows : rows.slice(0, end);
}

/**
 * Reads the rows of a page. If rows of a newer version were left out, reads once more with `only_known`, so that
 * other rows take their place.
 */
export async function readPage<Row>(
  store: Pick<Store, "read">,
  build: (only_known: boolean) => Statement<Row>,
): Promise<Row[]> {
  const rows = await store.read(build(false));
  return lacksRows(rows) ? store.read(build(true)) : rows;
}

interface Position {
  /** The sort key of the list: a whole number, such as milliseconds. */
  readonly at: number;
  /** Id of the last resource on the page. */
  readonly id: string;
}

/** The cursor of a position. It is valid only for the list, caller and filter that `bound_to` describes. */
export function writeCursor({ at, id }: Position, bound_to: unknown): string {
  const position = `${at.toString(36)}.${id}`;
  return Buffer.from(`${position}.${cursorChecksum(position, bound_to)}`).toString("base64url");
}

/** Throws `422 fields.cursor` for a text that is not a cursor of this list (§1.5.2). */
export function readCursor(cursor: string, bound_to: unknown): Position {
  const text = Buffer.from(cursor, "base64url").toString();
  const match = /^([0-9a-z]{1,10})\.([a-z]{3}_[0-9a-f]{32})\.([\w-]{12})$/.exec(text);
  const [, at = "", id = "", checksum] = match ?? [];
  // Decoding accepts other spellings of the same bytes: only ours survives the way back.
  const ours = Buffer.from(text).toString("base64url") === cursor;
  if (!ours || checksum !== cursorChecksum(`${at}.${id}`, bound_to)) {
    failFields({ cursor: "is not a cursor of this list" });
  }
  return { at: Number.parseInt(at, 36), id };
}

/** Detects other texts and other lists. It is no secret: the query itself checks what the caller may see. */
function cursorChecksum(position: string, bound_to: unknown): string {
  const text = JSON.stringify([position, bound_to]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 12);
}
