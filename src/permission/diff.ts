/** A small diff for the person: removed and added lines, with the common ones around them; pure. */

import { splitCommonEnds } from "../common-ends.ts";

/**
 * The line that names the file. A path with control characters or a leading quote is quoted, so
 * that no two paths give the same line.
 */
export const pathLine = (path: string): string =>
  `*** ${/^"|[\p{Cc}\p{Zl}\p{Zp}]/u.test(path) ? JSON.stringify(path) : path}`;

/**
 * The diff of two texts: lines that both begin or end with are kept; all between are removed and
 * added.
 */
export function diffOf(before: string, after: string): string[] {
  const { head, gone, come, tail } = splitCommonEnds(linesOf(before), linesOf(after));
  return [...marked(" ", head), ...marked("-", gone), ...marked("+", come), ...marked(" ", tail)];
}

const linesOf = (text: string): string[] => (text === "" ? [] : text.split("\n"));

const marked = (mark: string, lines: readonly string[]): string[] =>
  lines.map((line) => mark + line);
