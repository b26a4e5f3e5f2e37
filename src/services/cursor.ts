/** Opaque list cursors: a position, bound to the caller and filter they were made for. */

import { createHash } from "node:crypto";
import { failFields } from "../errors.ts";

interface Position {
  /** Seconds. */
  readonly updated_at: number;
  readonly id: string;
}

/** The cursor of a position in the list that `bound_to` describes. */
export function writeCursor({ updated_at, id }: Position, bound_to: unknown): string {
  const position = `${Math.round(updated_at * 1000).toString(36)}.${id}`;
  return Buffer.from(`${position}.${seal(position, bound_to)}`).toString("base64url");
}

/** `422 fields.cursor` when it is not a cursor of this list (decisions.md, Tasks). */
export function readCursor(cursor: string, bound_to: unknown): Position {
  const text = Buffer.from(cursor, "base64url").toString();
  const match = /^([0-9a-z]{1,10})\.(tsk_[0-9a-f]{32})\.([\w-]{12})$/.exec(text);
  const [, ms = "", id = "", mark] = match ?? [];
  // Decoding forgives other spellings; ours is the only one that comes out as it went in.
  const ours = Buffer.from(text).toString("base64url") === cursor;
  if (!ours || mark !== seal(`${ms}.${id}`, bound_to)) {
    failFields({ cursor: "is not a cursor of this list" });
  }
  return { updated_at: Number.parseInt(ms, 36) / 1000, id };
}

/** Tells ours from others; it keeps no secret, since the scope is checked by the query itself. */
function seal(position: string, bound_to: unknown): string {
  const text = JSON.stringify([position, bound_to]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 12);
}
