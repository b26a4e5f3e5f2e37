/** Shows what a text would hide: a person decides by what they see (docs/interface.md §2.5.6). */

/**
 * Controls other than line feed and tab, format characters such as those of writing direction,
 * characters without a glyph or a meaning, and every space but the usual one.
 */
const HIDDEN =
  /(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

const escaped = (sign: string): string => `\\u{${sign.codePointAt(0)!.toString(16)}}`;

/** The text with each such character as `\u{202e}`. */
export const makeVisible = (text: string): string => text.replace(HIDDEN, escaped);

/** The same with line feeds and tabs escaped too. */
export const oneVisibleLine = (text: string): string =>
  makeVisible(text).replace(/[\n\t]/g, escaped);

/** White space, and combining marks in a number that draws over other lines. */
const RUNS = /[ \t\n]+|\p{M}{4,}/gu;

/** White space that is written as it is: line breaks in a row, and characters in all. */
const NEWLINES = 3;
const SPACES = 64;

/**
 * The text as {@link makeVisible} writes it, and with runs that would push the rest out of view as marks, such as
 * `⟨150 spaces⟩`: as the page writes them. `⟨` and `⟩` themselves are escaped.
 */
export const makeCompact = (text: string): string =>
  makeVisible(text).replace(/[⟨⟩]/g, escaped).replace(RUNS, compactRun);

function compactRun(run: string): string {
  if (!/^\s/.test(run)) return `⟨${count([...run].length, "combining mark")}⟩`;
  const lines = run.split("\n");
  if (lines.length - 1 <= NEWLINES && run.length <= SPACES) return run;
  // What follows begins a line of its own, where it did.
  const last = lines.at(-1)!.length;
  const kept = lines.length > 1 && last <= SPACES ? last + 1 : 0;
  const hidden = run.slice(0, run.length - kept);
  const numbers = { newline: "\n", space: " ", tab: "\t" };
  const counts = Object.entries(numbers)
    .map(([what, one]) => [what, hidden.split(one).length - 1] as const)
    .filter(([, number]) => number > 0)
    .map(([what, number]) => count(number, what));
  return `⟨${counts.join(" and ")}⟩${run.slice(hidden.length)}`;
}

const count = (number: number, what: string): string =>
  `${number.toLocaleString("en-US")} ${what}${number === 1 ? "" : "s"}`;
