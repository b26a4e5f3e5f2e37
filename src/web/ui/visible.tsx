/**
 * Text that a person decides by: characters that are invisible, or push the rest out of view, are
 * replaced by visible marks.
 */

import { Fragment } from "react";
import { HIDDEN } from "../../text/hidden.ts";
import { Command } from "./command.tsx";

/** A part of a text: as it was written, or the words of the mark that replaces it. */
export type Part = { readonly text: string } | { readonly mark: string };

/** Longest white space that is shown as it is: in line breaks, and in characters. */
const NEWLINES = 3;
const SPACES = 64;

/**
 * White space; runs of one invisible character, or of one that marks use; and so many combining marks that
 * they would draw over other lines.
 */
const SPECIAL = new RegExp(`[ \\t\\n]+|(${HIDDEN}|[⟨⟩\\p{Cs}])\\1*|\\p{M}{4,}`, "gu");

const NAMES: Readonly<Record<string, string>> = {
  "\0": "NUL",
  "\b": "BS",
  "\r": "CR",
  "\u001b": "ESC",
  "\u00a0": "no-break space",
};

/**
 * The parts of a text, in order. Marks are between `⟨` and `⟩`, which are marked themselves.
 */
export function partsOf(text: string): readonly Part[] {
  const parts: Part[] = [];
  let at = 0;
  for (const found of text.matchAll(SPECIAL)) {
    const [run, character] = found;
    const length = character === undefined ? lengthOfHidden(run) : run.length;
    if (length === 0) continue;
    if (found.index > at) parts.push({ text: text.slice(at, found.index) });
    const hidden = run.slice(0, length);
    parts.push({
      mark: character === undefined ? describe(hidden) : nameOf(run, character),
    });
    at = found.index + length;
  }
  if (at < text.length) parts.push({ text: text.slice(at) });
  return parts;
}

/** Length of the part of a run that a mark replaces; 0: the run is shown as it is. */
function lengthOfHidden(run: string): number {
  if (!/^\s/.test(run)) return run.length;
  const lines = run.split("\n");
  if (lines.length - 1 <= NEWLINES && run.length <= SPACES) return 0;
  // Keep the last line break, so that the text after it still begins a line.
  const last = lines.at(-1)!.length;
  return lines.length > 1 && last <= SPACES ? run.length - last - 1 : run.length;
}

const count = (number: number, what: string): string =>
  `${number.toLocaleString("en-US")} ${what}${number === 1 ? "" : "s"}`;

function describe(run: string): string {
  if (!/^\s/.test(run)) return count([...run].length, "combining mark");
  const numbers = { newline: "\n", space: " ", tab: "\t" };
  return Object.entries(numbers)
    .map(([what, one]) => [what, run.split(one).length - 1] as const)
    .filter(([, number]) => number > 0)
    .map(([what, number]) => count(number, what))
    .join(" and ");
}

function nameOf(run: string, character: string): string {
  const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
  const name = NAMES[character] ?? `U+${code}`;
  const times = run.length / character.length;
  return times === 1 ? name : `${times.toLocaleString("en-US")} × ${name}`;
}

/** Shows the parts of a text, with each mark set off from the text around it. */
export function Visible({ parts }: { parts: readonly Part[] }) {
  return parts.map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have no ids.
    <Fragment key={at}>
      {"text" in part ? (
        <Command text={part.text} />
      ) : (
        <span className="rounded-sm bg-warn-soft font-sans text-warn">{`⟨${part.mark}⟩`}</span>
      )}
    </Fragment>
  ));
}

/** The parts of each line. */
export function linesOf(parts: readonly Part[]): readonly (readonly Part[])[] {
  const lines: Part[][] = [[]];
  for (const part of parts) {
    if ("mark" in part) {
      lines.at(-1)!.push(part);
      continue;
    }
    for (const [at, text] of part.text.split("\n").entries()) {
      if (at > 0) lines.push([]);
      if (text !== "") lines.at(-1)!.push({ text });
    }
  }
  return lines;
}
