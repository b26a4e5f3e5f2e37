/** The characters that a person cannot see: one set for requests for permission, drafts, notifications and the page. */

const { raw } = String;

/**
 * Source of a pattern (flag `u`) for one hidden character: control, format, private and unassigned ones, those that a font
 * may leave out, every white space except U+0020, tab and line feed, and symbols that are blank.
 */
export const HIDDEN = raw`(?![ \t\n])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{13441}\u{13442}\u{16fe4}\u{1d159}]`;

const oneOf = (scripts: readonly string[]): string =>
  scripts.map((name) => raw`\p{Script=${name}}`).join("");

/** A letter or mark of scripts, but none of the joiners and selectors that some of them own. */
const letterOf = (scripts: readonly string[]): string =>
  raw`(?=[\p{L}\p{M}])(?!${HIDDEN})[${oneOf(scripts)}]`;

const JOINED = letterOf([
  ...["Arabic", "Syriac", "Mongolian", "Nko", "Devanagari", "Bengali", "Gurmukhi", "Gujarati"],
  ...["Oriya", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Khmer", "Myanmar", "Tibetan"],
]);
const RIGHT_TO_LEFT = letterOf(["Hebrew", "Arabic", "Syriac", "Thaana", "Nko", "Adlam"]);

/** A symbol with a colour of skin or a selector, if any. One that is newer than this engine counts as well. */
const SYMBOL = raw`\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|[\ufe0e\ufe0f])?`;

/** Between a letter and a mark of direction: nothing, or one sign such as a full stop. */
const SIGN = raw`[^\p{L}\p{C}]?`;

/** Hidden characters that a text needs where they stand. They are so few there that they can spell nothing. */
const NEEDED = [
  // The flags of England, Scotland and Wales; up to four symbols in one, as in families; keys such as 1️⃣.
  raw`\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}`,
  raw`${SYMBOL}(?:\u200d${SYMBOL}){0,3}`,
  raw`[0-9#*]\ufe0f\u20e3`,
  // One joiner or selector after a letter, in scripts that use them.
  raw`(?<=${JOINED})[\u200c\u200d](?!${HIDDEN})`,
  raw`(?<=(?=\p{L})\p{Script=Mongolian})[\u180b-\u180f]`,
  // One mark of direction beside a letter from right to left.
  raw`(?<=${RIGHT_TO_LEFT}${SIGN})[\u200e\u200f\u061c]|[\u200e\u200f\u061c](?=${SIGN}${RIGHT_TO_LEFT})`,
  // Line breaks, and spaces of other widths one by one.
  raw`\r\n|[\u2028\u2029\u00a0\u3000]|(?<!\p{Zs})\p{Zs}(?!\p{Zs})`,
  // Signs of the Arabic script that enclose digits, such as U+06DD.
  raw`(?!\p{Default_Ignorable_Code_Point})(?=\p{Cf})[\u0600-\u08ff]`,
];

/** Hidden characters of scripts, which one text has a few of: at most {@link FEW}, and one more for each ten characters. */
const OF_SCRIPTS = /[\u061c\u200c-\u200f]|[\u180b-\u180f]/gu;
const FEW = 8;
const EMOJI = new RegExp(`${SYMBOL}(?:\\u200d${SYMBOL}){0,3}`, "gu");

/** True if so many stand between letters that their choice can spell words, also where each of them is needed. */
function canSpell(text: string): boolean {
  const count = text.replace(EMOJI, "").match(OF_SCRIPTS)?.length ?? 0;
  return count > FEW + (text.length - count) / 10;
}

const HIDDEN_ONE = new RegExp(HIDDEN, "u");
const NEEDED_ONES = new RegExp(NEEDED.join("|"), "gu");

/**
 * True if a text has hidden characters other than those that emoji, scripts and typography need where they stand, so that a
 * person who approves it may approve words that they cannot see (§14.3.9).
 */
export const hidesText = (text: string): boolean =>
  HIDDEN_ONE.test(text.replace(NEEDED_ONES, "")) || canSpell(text);
