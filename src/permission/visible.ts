/** Makes hidden characters visible, since a person decides by what they see (§2.5.6). */

import { HIDDEN } from "../text/hidden.ts";

const HIDDEN_ONES = new RegExp(HIDDEN, "gu");

const escaped = (sign: string): string => `\\u{${sign.codePointAt(0)!.toString(16)}}`;

/** The text with each hidden character escaped, such as `\u{202e}`. */
export const makeVisible = (text: string): string => text.replace(HIDDEN_ONES, escaped);

/** The text on one line: hidden characters, line feeds and tabs are escaped. */
export const oneVisibleLine = (text: string): string =>
  makeVisible(text).replace(/[\n\t]/g, escaped);

/** White space, and so many combining marks that they would cover other lines. */
const RUNS = /[ \t\n]+|\p{M}{4,}/gu;

/** Longest white space that is kept: in line breaks, and in characters. */
const NEWLINES = 3;
const SPACES = 64;

/**
 * Like {@link makeVisible}, but also replaces runs that would push the rest out of view by marks such as `⟨150 spaces⟩`,
 * as the page does. `⟨` and `⟩` in the text are escaped.
 */
export const makeCompact = (text: string): string =>
  makeVisible(text).replace(/[⟨⟩]/g, escaped).replace(RUNS, compactRun);

function compactRun(run: string): string {
  if (!/^\s/.test(run)) return `⟨${count([...run].length, "combining mark")}⟩`;
  const lines = run.split("\n");
  if (lines.length - 1 <= NEWLINES && run.length <= SPACES) return run;
  // Keep the last line break, so that the text after it still begins a line.
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
