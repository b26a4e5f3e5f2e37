/** Bounds on the depth and width of JSON that was sent, checked before any schema. */

import { LIMITS } from "./limits.ts";

/** The reason of a body that nests too deep, for its field `body`. */
export const TOO_DEEP_REASON = `must nest at most ${LIMITS.json_depth} levels deep`;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/** What the brackets of a body tell of it. */
export type Nesting = "shallow" | "deep" | "broken";

/**
 * `deep` when objects and arrays nest deeper than `LIMITS.json_depth` levels (docs/interface.md 1.3.8),
 * `broken` when they do and are not all closed, so that the text is no JSON.
 * Brackets within strings do not count. Neither needs a parser; `shallow` text may still be no JSON.
 */
export function nestingOf(text: string): Nesting {
  // Nearly every body holds too few brackets of any kind to nest so deep.
  if (!holdsManyBrackets(text)) return "shallow";
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length && depth >= 0; i++) {
    const unit = text.charCodeAt(i);
    if (unit === QUOTE) i = endOfString(text, i);
    // `[` and `{`, then `]` and `}`: each pair differs in this bit alone.
    else if ((unit | 0x20) === 0x7b) deepest = Math.max(deepest, ++depth);
    else if ((unit | 0x20) === 0x7d) depth--;
  }
  if (deepest <= LIMITS.json_depth) return "shallow";
  return depth === 0 ? "deep" : "broken";
}

/** The number of commas outside the strings of a JSON text: about that of its values. */
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

/** Index of the quote that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === BACKSLASH) i++;
    else if (unit === QUOTE) return i;
  }
  return text.length;
}

/**
 * The value itself; of an object with more than `LIMITS.members` members, a copy with the first of
 * them. Every schema is strict and knows far fewer, so that such an object is refused in any case,
 * without work for each unknown name (docs/interface.md 1.3.8).
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
