/** A small diff for a person: what goes, what comes, and the lines around that stay; pure. */

import { splitCommonEnds } from "../common-ends.ts";

/** The line that names the file, another for each path: one with control characters, or a quote in front, is quoted. */
export const pathLine = (path: string): string =>
  `*** ${/^"|[\p{Cc}\p{Zl}\p{Zp}]/u.test(path) ? JSON.stringify(path) : path}`;

/** Lines of two texts: those that both begin or end with are kept, all between goes and comes. */
export function diffOf(before: string, after: string): string[] {
  const { head, gone, come, tail } = splitCommonEnds(linesOf(before), linesOf(after));
  return [...marked(" ", head), ...marked("-", gone), ...marked("+", come), ...marked(" ", tail)];
}

const linesOf = (text: string): string[] => (text === "" ? [] : text.split("\n"));

const marked = (mark: string, lines: readonly string[]): string[] =>
  lines.map((line) => mark + line);
