/** Opaque list cursors: a position, bound to the caller and filter they were made for. */

import { createHash } from "node:crypto";
import { failFields } from "../errors.ts";

interface Position {
  /** What the list is sorted by: a whole number, such as milliseconds. */
  readonly at: number;
  /** Of the resource that the page ended with. */
  readonly id: string;
}

/** The cursor of a position in the list that `bound_to` describes. */
export function writeCursor({ at, id }: Position, bound_to: unknown): string {
  const position = `${at.toString(36)}.${id}`;
  return Buffer.from(`${position}.${cursorChecksum(position, bound_to)}`).toString("base64url");
}

/** `422 fields.cursor` when it is not a cursor of this list (docs/interface.md 1.5.2). */
export function readCursor(cursor: string, bound_to: unknown): Position {
  const text = Buffer.from(cursor, "base64url").toString();
  const match = /^([0-9a-z]{1,10})\.([a-z]{3}_[0-9a-f]{32})\.([\w-]{12})$/.exec(text);
  const [, at = "", id = "", checksum] = match ?? [];
  // Decoding forgives other spellings; ours is the only one that comes out as it went in.
  const ours = Buffer.from(text).toString("base64url") === cursor;
  if (!ours || checksum !== cursorChecksum(`${at}.${id}`, bound_to)) {
    failFields({ cursor: "is not a cursor of this list" });
  }
  return { at: Number.parseInt(at, 36), id };
}

/** Tells ours from others; it keeps no secret, since the scope is checked by the query itself. */
function cursorChecksum(position: string, bound_to: unknown): string {
  const text = JSON.stringify([position, bound_to]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 12);
}
