/** Shows the person which lines of a file would change. */

import { diffArrays } from "diff";
import { oneLine } from "../escape.ts";

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
  // Without a limit: `connect` and `disconnect` change few lines, and the time grows with those.
  const changes = diffArrays(linesOf(before), linesOf(after));
  const bare = (line: string) => line.trimEnd().replace(/,$/, "");
  const bareLines = (side: "removed" | "added") =>
    new Set(changes.filter((change) => change[side]).flatMap(({ value }) => value.map(bare)));
  const kept = bareLines("removed").intersection(bareLines("added"));
  // A line that only gains or loses a comma may contain another program's secret.
  const show = (line: string) => (kept.has(bare(line)) ? hidden(line) : shortened(line));
  const shown: string[] = [];
  let line = 1;
  let in_hunk = false;
  for (const { added, removed, value } of changes) {
    const changed = added || removed;
    if (changed) {
      if (!in_hunk) shown.push(`@@ line ${line} @@`);
      shown.push(...value.map((text) => `${added ? "+" : "-"}${show(text)}`));
    }
    in_hunk = changed;
    if (!removed) line += value.length;
  }
  const rest = shown.length - MAX_LINES;
  return rest > 0 ? [...shown.slice(0, MAX_LINES), `… and ${rest} more lines`] : shown;
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
