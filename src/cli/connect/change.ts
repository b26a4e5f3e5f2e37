/**
 * Computes the changes that `relay connect` and `relay disconnect` make to the text of a configuration file, and refuses
 * if anything else would change; pure.
 */

import { isDeepStrictEqual } from "node:util";
import { ourHooks, type Piece } from "./clients.ts";
import {
  type Format,
  isObject,
  NOT_ADDED,
  type Path,
  Refusal,
  type Value,
  valueAt,
} from "./format.ts";
import { isForAnotherServer } from "./owner.ts";

/** A planned change of one file. */
export interface Change {
  /** The new text; null: there is to be no file. */
  readonly text: string | null;
  readonly kind: "added" | "updated" | "removed" | "none";
}

/** A piece as it is in a file. */
interface FoundPiece {
  readonly piece: Piece;
  /** Path of exactly the part that is Relay's. */
  readonly path: Path;
  /** The member or element that contains that part. */
  readonly value: Value;
}

/** Turns the stack overflow that a deeply nested text causes into a {@link Refusal}. */
function refuseTooDeep<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (error instanceof RangeError) throw new Refusal("cannot be parsed");
    throw error;
  }
}

/** Adds the missing pieces, and corrects the address of the others. Throws {@link Refusal}. */
export const connectText = (
  text: string,
  format: Format,
  pieces: readonly Piece[],
): Change & { readonly text: string } =>
  refuseTooDeep(() => {
    const is_first = findPieces(format.read(text), pieces).length === 0;
    let result = text;
    for (const piece of pieces) {
      const there = valueAt(format.read(result), piece.path);
      if (piece.as === "element") {
        if (Array.isArray(there) && there.some(piece.isOurs)) continue;
      } else if (there !== undefined) {
        if (!piece.isOurs(there) || isForAnotherServer(there, piece.value))
          throw new Refusal(`has another entry ${piece.path.join(".")}`);
        const [name, url] = addressIn(there, piece.value);
        if (name === null) continue;
        result = format.replace(result, [...piece.path, name], url);
        const now = valueAt(format.read(result), [...piece.path, name]);
        if (now !== url) throw new Refusal("cannot be changed safely");
        continue;
      }
      result = format.add(result, piece.path, piece.value, piece.as);
    }
    const left = findPieces(format.read(result), pieces);
    if (left.length < pieces.length) throw new Refusal("cannot be changed safely");
    checkRest(format, text, result, pieces);
    if (is_first && disconnectText(result, format, text, pieces).text !== text) {
      throw new Refusal("cannot be changed safely");
    }
    return { text: result, kind: result === text ? "none" : is_first ? "added" : "updated" };
  });

/**
 * Removes Relay's pieces, except those that another entry of the file uses. `copy`: the text that `connect` saved before
 * its change; null if there is no copy. Throws {@link Refusal}.
 */
export const disconnectText = (
  text: string,
  format: Format,
  copy: string | null,
  all: readonly Piece[],
): Change =>
  refuseTooDeep(() => {
    const root = format.read(text);
    const pieces = all.filter(({ isUsed }) => !isUsed?.(root));
    const found = findPieces(root, pieces);
    if (found.length === 0) return { text, kind: "none" };
    // A copy that has the entry is not from before `connect`.
    const is_older = copy !== null && findPieces(safeRead(format, copy), pieces).length === 0;
    const before = is_older ? copy : null;
    // The copy may be older, or a file of the person's own: also try without one.
    for (const old of before === null ? [null] : [before, null]) {
      if (isUntouched(text, format, old ?? "", found)) return { text: old, kind: "removed" };
    }
    const result = withoutPieces(text, format, before, found);
    if (findPieces(format.read(result), pieces).length > 0) throw new Refusal(NOT_ADDED);
    checkRest(format, text, result, pieces);
    return { text: result, kind: "removed" };
  });

/** True if nobody has edited the file: adding the pieces to `before` gives exactly `text`. */
function isUntouched(
  text: string,
  format: Format,
  before: string,
  found: readonly FoundPiece[],
): boolean {
  try {
    const again = found.reduce(
      (made, { piece, value }) => format.add(made, piece.path, value, piece.as),
      before,
    );
    return again === text;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

/** The member of an entry that has its address, null if that need not change, and the address to set. */
function addressIn(there: unknown, wanted: Value): readonly [name: string | null, url: string] {
  const name = isObject(there) && "url" in there ? "url" : "httpUrl";
  const [before, after] = [valueAt(there, [name]), valueAt(wanted, ["url"])];
  if (typeof before !== "string" || typeof after !== "string")
    throw new Refusal("has an unexpected structure");
  if (hasKey(wanted) && !hasKey(there)) {
    throw new Refusal("has the entry without a key");
  }
  const [here, query = ""] = before.split("?");
  const [address, added = ""] = after.split("?");
  // A query that the person added stays. `tools=approve` stays until the client is disconnected.
  const has_all = added === "" || new URLSearchParams(query).get("tools") === "approve";
  return here === address && has_all ? [null, after] : [name, after];
}

/** True if an entry refers to a key, in any client's form. */
const hasKey = (entry: unknown): boolean =>
  isObject(entry) &&
  ("bearer_token_env_var" in entry ||
    "http_headers" in entry ||
    valueAt(entry, ["headers", "Authorization"]) !== undefined);

/** Finds Relay's pieces; elements of an array in the order of the file. */
function findPieces(root: unknown, pieces: readonly Piece[]): FoundPiece[] {
  return pieces.flatMap((piece) => {
    const value = valueAt(root, piece.path);
    if (piece.as === "member") {
      return piece.isOurs(value) ? [{ piece, path: piece.path, value: value as Value }] : [];
    }
    const elements: readonly Value[] = Array.isArray(value) ? value : [];
    return elements.flatMap((element, n) => {
      if (!piece.isOurs(element)) return [];
      const path = [...piece.path, n];
      const among = ourHooks(element);
      if (among === null) return [{ piece, path, value: element }];
      return among.map((m) => ({ piece, path: [...path, "hooks", m], value: element }));
    });
  });
}

/** Removes the pieces, and the containers that this leaves empty unless `before` has them. */
function withoutPieces(
  text: string,
  format: Format,
  before: string | null,
  found: readonly FoundPiece[],
): string {
  const paths = found.map(({ path }) => path);
  let result = format.remove(text, paths);
  const kept = before === null ? {} : safeRead(format, before);
  for (const path of containersOf(found.map(({ piece }) => piece))) {
    if (isEmpty(valueAt(format.read(result), path)) && valueAt(kept, path) === undefined) {
      result = format.prune(result, path);
    }
  }
  return result;
}

/** Paths of the objects and arrays around the pieces, the deepest first. */
const containersOf = (pieces: readonly Piece[]): Path[] =>
  pieces
    .flatMap(({ path, as }) =>
      path.map((_, n) => path.slice(0, n + 1)).slice(0, as === "element" ? undefined : -1),
    )
    .sort((a, b) => b.length - a.length);

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

function safeRead(format: Format, text: string): unknown {
  try {
    return format.read(text);
  } catch (error) {
    if (error instanceof Refusal) return {};
    throw error;
  }
}

/** Throws {@link Refusal} unless both texts have the same values apart from the pieces. */
function checkRest(format: Format, before: string, after: string, pieces: readonly Piece[]): void {
  const same = isDeepStrictEqual(
    restOf(format.read(before), pieces),
    restOf(format.read(after), pieces),
  );
  // Many clients read only plain JSON.
  if (!same || (isPlainJson(before) && !isPlainJson(after))) {
    throw new Refusal("cannot be changed safely");
  }
}

function isPlainJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Copies the value without the pieces and without the containers that this leaves empty. */
function restOf(root: unknown, pieces: readonly Piece[]): unknown {
  const rest: unknown = structuredClone(root);
  const take = (path: Path) => {
    const parent = valueAt(rest, path.slice(0, -1)) as Record<string | number, unknown>;
    const name = path.at(-1)!;
    if (Array.isArray(parent)) parent.splice(name as number, 1);
    else delete parent[name];
  };
  for (const { path } of findPieces(rest, pieces).toReversed()) take(path);
  for (const path of containersOf(pieces)) if (isEmpty(valueAt(rest, path))) take(path);
  return rest;
}
