/** Counts the room that a text takes in a notification, whose font and width Relay does not know (§14.3.8). */

const { raw } = String;

/** A pattern for letters, marks, digits and punctuation of the scripts with these names. */
const written = (names: string): string =>
  raw`(?=[\p{L}\p{M}\p{N}\p{P}])[${names.replace(/\w+/g, raw`\p{Script=$&}`).replaceAll(" ", "")}]`;

/** Signs that all scripts share, without tabs and the two long dashes. */
const SHARED = raw`(?![\t\u2e3a\u2e3b])(?=[\0-\uffff])[\p{Script=Common}\p{Script=Inherited}\p{Script=Braille}]`;

/** Scripts whose glyphs are hardly wider than an ideograph, and those with glyphs that are twice as wide. */
const NARROW = written(
  "Latin Greek Cyrillic Armenian Georgian Hebrew Arabic Thaana Nko Ethiopic Tifinagh Devanagari Bengali Gurmukhi " +
    "Gujarati Tibetan Thai Lao Mongolian Han Hangul Hiragana Katakana Bopomofo Yi Cherokee Canadian_Aboriginal",
);
const WIDE = written("Oriya Tamil Telugu Kannada Malayalam Sinhala Myanmar Khmer");

const ONE = new RegExp(raw`(?!\p{Emoji_Presentation})(?:${SHARED}|${NARROW})`, "u");
const TWO = new RegExp(raw`\p{Extended_Pictographic}|\p{Emoji_Presentation}|${WIDE}`, "u");

/** What anything else counts as: the widest glyphs, such as U+FDFD and those of cuneiform, are seven times as wide. */
const OTHER = 8;

const roomOf = (character: string): number =>
  ONE.test(character) ? 1 : TWO.test(character) ? 2 : OTHER;

/**
 * True if a text takes at most the room of `most` characters of an ordinary width. Ligatures and abbreviations, such as
 * U+FDFA, count as the letters that they stand for.
 */
export function fitsRoom(text: string, most: number): boolean {
  let left = most;
  for (const character of text.normalize("NFKC")) {
    left -= roomOf(character);
    if (left < 0) return false;
  }
  return true;
}
