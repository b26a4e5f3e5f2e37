/** A small diff for a person: what goes, what comes, and the lines around that stay; pure. */

/** The line that names the file, another for each path: one with control characters, or a quote in front, is quoted. */
export const pathLine = (path: string): string =>
  `*** ${/^"|[\p{Cc}\p{Zl}\p{Zp}]/u.test(path) ? JSON.stringify(path) : path}`;

/** Lines of two texts: those that both begin or end with are kept, all between goes and comes. */
export function diffOf(before: string, after: string): string[] {
  const [old_lines, new_lines] = [linesOf(before), linesOf(after)];
  const most = Math.min(old_lines.length, new_lines.length);
  let head = 0;
  while (head < most && old_lines[head] === new_lines[head]) head++;
  let tail = 0;
  while (tail < most - head && old_lines.at(-1 - tail) === new_lines.at(-1 - tail)) tail++;
  return [
    ...marked(" ", old_lines.slice(0, head)),
    ...marked("-", old_lines.slice(head, old_lines.length - tail)),
    ...marked("+", new_lines.slice(head, new_lines.length - tail)),
    ...marked(" ", old_lines.slice(old_lines.length - tail)),
  ];
}

const linesOf = (text: string): string[] => (text === "" ? [] : text.split("\n"));

const marked = (mark: string, lines: readonly string[]): string[] =>
  lines.map((line) => mark + line);
