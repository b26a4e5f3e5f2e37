/** Bounds on the depth and width of received JSON, checked before any schema (§1.3.8). */

import { LIMITS } from "../limits.ts";

/** Why a body that nests too deep is invalid, for its field `body`. */
export const TOO_DEEP_REASON = `must nest at most ${LIMITS.json_depth} levels deep`;

/** Stands for JSON that nests too deep, which is refused without being parsed. */
export const TOO_DEEP = Symbol("too deep");

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/** Parses JSON text; returns {@link TOO_DEEP} for text that nests too deep. Throws when the text is not JSON. */
export function parseJson(text: string): unknown {
  const nesting = nestingOf(text);
  if (nesting === "deep") return TOO_DEEP;
  if (nesting === "broken") throw new SyntaxError("brackets are not closed");
  return JSON.parse(text);
}

/**
 * `deep` when objects and arrays nest deeper than `LIMITS.json_depth` levels, `broken` when they do and are not
 * all closed, so that the text is not JSON. Brackets within strings do not count. This needs no parser, so
 * `shallow` text may still not be JSON.
 */
export function nestingOf(text: string): "shallow" | "deep" | "broken" {
  // Nearly every body holds too few brackets of any kind to nest so deep.
  if (!holdsManyBrackets(text)) return "shallow";
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length && depth >= 0; i++) {
    const unit = text.charCodeAt(i);
    if (unit === QUOTE) i = endOfString(text, i);
    // `[` and `{` differ in this bit alone, as do `]` and `}`.
    else if ((unit | 0x20) === 0x7b) deepest = Math.max(deepest, ++depth);
    else if ((unit | 0x20) === 0x7d) depth--;
  }
  if (deepest <= LIMITS.json_depth) return "shallow";
  return depth === 0 ? "deep" : "broken";
}

/** Counts the commas outside the strings of a JSON text, which are about as many as its values. */
export function commasIn(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === QUOTE) i = endOfString(text, i);
    else if (unit === COMMA) count++;
  }
  return count;
}

function holdsManyBrackets(text: string): boolean {
  let count = 0;
  for (const bracket of "[{") {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++count > LIMITS.json_depth) return true;
    }
  }
  return false;
}

/** Index of the quote that closes the string opened at `start`. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === BACKSLASH) i++;
    else if (unit === QUOTE) return i;
  }
  return text.length;
}

/**
 * Returns the value itself, or a copy with the first `LIMITS.members` members of an object that has more. Every
 * schema is strict and has far fewer, so such an object is refused anyway, without work for each unknown name.
 */
export function cutMembers(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const names = Object.keys(value);
  if (names.length <= LIMITS.members) return value;
  // Without a prototype, so that a field named `__proto__` is like any other.
  const cut: Record<string, unknown> = Object.create(null);
  for (const name of names.slice(0, LIMITS.members)) {
    cut[name] = (value as Record<string, unknown>)[name];
  }
  return cut;
}
