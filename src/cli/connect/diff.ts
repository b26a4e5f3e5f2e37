/** Shows the person which lines of a file would change. */

import { splitCommonEnds } from "../../common-ends.ts";
import { oneLine } from "../escape.ts";

/**
 * Size of the comparison, lines of one text times lines of the other. Beyond it, all lines between
 * the common ends are shown as changed.
 */
const MAX_CELLS = 1_000_000;
/** Lines shown, at most. */
const MAX_LINES = 100;
/** Characters shown of a line, at most. */
const MAX_WIDTH = 160;

const linesOf = (text: string): string[] => (text === "" ? [] : text.split(/(?<=\n)/));

/**
 * Removed lines with `-` and added ones with `+`, each run below its line number. Lines that stay
 * are not shown: they may contain secrets of other programs.
 */
export function diffOf(before: string, after: string): string[] {
  const { head, gone, come } = splitCommonEnds(linesOf(before), linesOf(after));
  const bare = (line: string) => line.trimEnd().replace(/,$/, "");
  const kept = new Set(gone.map(bare)).intersection(new Set(come.map(bare)));
  // A line that only gains or loses a comma may contain another program's secret.
  const show = (line: string) => (kept.has(bare(line)) ? hidden(line) : shortened(line));
  const shown: string[] = [];
  let [i, j] = [0, 0];
  let in_hunk = false;
  for (const step of stepsOf(gone, come)) {
    if (step === "=") {
      [i, j, in_hunk] = [i + 1, j + 1, false];
      continue;
    }
    if (!in_hunk) shown.push(`@@ line ${head.length + j + 1} @@`);
    in_hunk = true;
    shown.push(step === "-" ? `-${show(gone[i++]!)}` : `+${show(come[j++]!)}`);
  }
  const rest = shown.length - MAX_LINES;
  return rest > 0 ? [...shown.slice(0, MAX_LINES), `… and ${rest} more lines`] : shown;
}

/**
 * The steps from one text to the other, by a longest common subsequence: `=` keeps a line, `-`
 * removes and `+` adds one.
 */
function stepsOf(gone: readonly string[], come: readonly string[]): ("=" | "-" | "+")[] {
  const [n, m] = [gone.length, come.length];
  if (n * m > MAX_CELLS) return [...gone.map(() => "-" as const), ...come.map(() => "+" as const)];
  const width = m + 1;
  const common = new Uint16Array((n + 1) * width);
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      common[i * width + j] =
        gone[i] === come[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const steps: ("=" | "-" | "+")[] = [];
  for (let i = 0, j = 0; i < n || j < m; ) {
    const keeps = i < n && j < m && gone[i] === come[j];
    const removes =
      i < n && (j === m || common[(i + 1) * width + j]! >= common[i * width + j + 1]!);
    steps.push(keeps ? "=" : removes ? "-" : "+");
    if (keeps || removes) i++;
    if (keeps || !removes) j++;
  }
  return steps;
}

/** A line with the name of its member, but without the value. */
function hidden(line: string): string {
  const [, name = ""] = /^(\s*"[^"]*":)/.exec(line) ?? [];
  const text = line.trimEnd();
  return text.length <= 3 ? text : oneLine(`${name} …${text.endsWith(",") ? "," : ""}`);
}

/** A line. Of a long one, as in a file without line breaks, only the part around the entry. */
function shortened(line: string): string {
  const text = line.replace(/\r?\n$/, "");
  if (text.length <= MAX_WIDTH) return oneLine(text);
  const at = Math.max(0, text.indexOf("relay") - MAX_WIDTH / 4);
  const part = oneLine(text.slice(at, at + MAX_WIDTH));
  return `${at > 0 ? "…" : ""}${part}${at + MAX_WIDTH < text.length ? "…" : ""}`;
}
