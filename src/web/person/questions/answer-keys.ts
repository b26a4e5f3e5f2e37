/** The keys that answer a question: which option each one stands for, and which one was pressed. */

import type { KeyboardEvent } from "react";
import type { Question } from "../../state/api.ts";

/** Keys of the two answers shown side by side, such as Yes and No. */
const PAIR = ["Y", "N"] as const;
const DIGITS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"] as const;
/** Without those that mean something else on a card; enough for four options that begin with four of them. */
const LETTERS = ["A", "B", "C", "D", "F", "G", "H", "I"] as const;

/** Begins or ends with a number, such as `3 days`, `(1)` or `Node 22`: a digit could be meant for it. */
const NUMBERED = /^[^\p{L}\p{N}]*\p{N}|\p{N}[^\p{L}\p{N}]*$/u;
/** Begins or ends with a single letter, such as `b)` or `Plan B`. */
const LETTERED = /^[^\p{L}\p{N}]*\p{L}(?!\p{L})|(?<![\p{L}\p{N}])\p{L}[^\p{L}\p{N}]*$/u;

/** True if the answers are side by side, as for a Yes-or-No question or a request for permission. */
export const isPaired = ({ kind, action }: Question): boolean =>
  kind === "confirm" || action !== undefined;

/** The keys of the options, in order; further options have none. */
export function keysOf(question: Question): readonly string[] {
  // No digits for a request for permission: coding agents number their answers in other orders.
  if (isPaired(question)) return PAIR;
  if (question.kind !== "choice") return [];
  const { options } = question;
  if (!options.some((option) => NUMBERED.test(option))) return DIGITS;
  if (options.some((option) => LETTERED.test(option))) return [];
  // A letter that an option begins with could be meant for it.
  const initials = options.map(initialOf);
  return LETTERS.filter((letter) => !initials.includes(letter));
}

/** The first letter of a text, as it is on a key; empty if a number comes first. */
const initialOf = (text: string): string =>
  /^[^\p{L}\p{N}]*(\p{L})/u.exec(text)?.[1]?.normalize("NFKD").charAt(0).toUpperCase() ?? "";

/** The option that a key stands for; undefined if none. */
export function optionOf(question: Question, key: string | null): string | undefined {
  const at = key === null ? -1 : keysOf(question).indexOf(key);
  return at < 0 ? undefined : question.options[at];
}

type Pressed = Pick<
  KeyboardEvent["nativeEvent"],
  | "key"
  | "code"
  | "ctrlKey"
  | "metaKey"
  | "altKey"
  | "shiftKey"
  | "isComposing"
  | "getModifierState"
>;

/**
 * The upper-case letter or the digit on a key; null if it has none, or is part of a shortcut or of text that an input
 * method composes. Where the layout has other signs there, such as Cyrillic letters, the position of the key counts.
 */
export function keyOf(event: Pressed): string | null {
  const { ctrlKey, metaKey, altKey, shiftKey, isComposing } = event;
  if (isComposing || ctrlKey || metaKey || altKey || event.getModifierState("AltGraph"))
    return null;
  // Full-width letters and digits are the same keys.
  const key = event.key.normalize("NFKC").toUpperCase();
  if (/^[A-Z1-9]$/.test(key)) return key;
  if ([...key].length !== 1) return null;
  const [, letter, digit] = /^(?:Key([A-Z])|Digit([1-9]))$/.exec(event.code) ?? [];
  if (digit !== undefined) return shiftKey ? null : digit;
  return /\p{L}/u.test(key) && !/\p{Script=Latin}/u.test(key) ? (letter ?? null) : null;
}
