/** Search over tasks and questions: every word must appear, in any case and order. */

import type { Question, Task } from "./api.ts";
import { closedAt, type Store } from "./store.ts";

/** Words of a search that are used; the rest is ignored. */
const WORDS = 8;

/** The words to look for, as they were typed. */
export const wordsOf = (text: string): readonly string[] =>
  text.split(/\s+/).filter(Boolean).slice(0, WORDS);

/** Cache of lower-case texts by resource: a changed resource is another object. */
const texts = new WeakMap<Task | Question, { readonly name: string; readonly all: string }>();

export const isTask = (one: Task | Question): one is Task => "title" in one;

/** The searched texts of a task or question; its title or prompt comes first. */
export function partsOf(one: Task | Question): readonly [name: string, ...more: string[]] {
  return isTask(one)
    ? [one.title, one.status_note ?? "", one.description]
    : [
        one.prompt,
        one.answer ?? "",
        one.note ?? "",
        ...one.options,
        one.fallback ?? "",
        one.draft ?? "",
      ];
}

function textOf(one: Task | Question) {
  let text = texts.get(one);
  if (!text) {
    const parts = partsOf(one);
    text = { name: parts[0].toLowerCase(), all: parts.join("\n").toLowerCase() };
    texts.set(one, text);
  }
  return text;
}

/** When a task was last changed or a question was closed; infinite for a pending question. */
function timeOf(one: Task | Question): number {
  if (isTask(one)) return one.updated_at;
  return one.status === "pending" ? Number.POSITIVE_INFINITY : closedAt(one);
}

/**
 * The tasks and questions of the store, and those of `older`, that have all the words: matches in
 * the name first, then pending questions, then the newest.
 */
export function search(
  { all }: Store,
  older: readonly Question[],
  words: readonly string[],
): readonly (Task | Question)[] {
  if (words.length === 0) return [];
  const small = words.map((word) => word.toLowerCase());
  const labels = new Map([...all.keys.values()].map(({ id, label }) => [id, label.toLowerCase()]));
  /** 0: all words are in its name; 1: some are only elsewhere; null: not all words occur. */
  const tierOf = (one: Task | Question): number | null => {
    const text = textOf(one);
    const label = labels.get(one.key_id) ?? "";
    let tier = 0;
    for (const word of small) {
      if (text.name.includes(word)) continue;
      if (!text.all.includes(word) && !label.includes(word)) return null;
      tier = 1;
    }
    return tier;
  };
  const questions = new Map(older.map((question) => [question.id, question]));
  for (const question of all.questions.values()) questions.set(question.id, question);
  const results = [...all.tasks.values(), ...questions.values()].flatMap((one) => {
    const tier = tierOf(one);
    return tier === null ? [] : [{ one, tier, at: timeOf(one) }];
  });
  results.sort((a, b) => a.tier - b.tier || (a.at === b.at ? 0 : b.at - a.at));
  return results.map(({ one }) => one);
}

/** A pattern of the words, for marking them; null without words. */
export function patternOf(words: readonly string[]): RegExp | null {
  if (words.length === 0) return null;
  const escaped = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  return new RegExp(`(${escaped.join("|")})`, "gi");
}

/** Where a word is first in the text; negative if it is not. */
const placeOf = (text: string, word: string): number => text.search(patternOf([word])!);

/** The words that a text does not have. */
export const wordsNotIn = (text: string, words: readonly string[]): readonly string[] =>
  words.filter((word) => placeOf(text, word) < 0);

/** Characters of an excerpt in all, and those before its first word: about three lines of a phone. */
const EXCERPT = 160;
const BEFORE = 40;

/** The parts of a text around each of the words that it has; null if it has none of them. */
export function excerptOf(text: string, words: readonly string[]): string | null {
  const places = words
    .map((word) => placeOf(text, word))
    .filter((at) => at >= 0)
    .sort((a, b) => a - b);
  if (places.length === 0) return null;
  const each = Math.floor(EXCERPT / places.length);
  const before = Math.min(BEFORE, Math.floor(each / 4));
  const parts: { from: number; to: number }[] = [];
  for (const at of places) {
    const from = wholeAt(text, Math.max(0, at - before));
    const to = wholeAt(text, Math.min(text.length, at + each - before));
    const last = parts.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else parts.push({ from, to });
  }
  const shown = parts.map(({ from, to }) => text.slice(from, to)).join(" … ");
  return `${parts[0]!.from > 0 ? "…" : ""}${shown}${parts.at(-1)!.to < text.length ? "…" : ""}`;
}

/** The place, or the one before it if a character of two units would be cut. */
const wholeAt = (text: string, at: number): number =>
  /[\uDC00-\uDFFF]/.test(text.charAt(at)) ? Math.max(0, at - 1) : at;
