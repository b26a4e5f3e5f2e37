/** A small diff for the person: removed and added lines, with the common ones around them; pure. */

/**
 * The line that names the file. A path with control characters or a leading quote is quoted, so
 * that no two paths give the same line.
 */
export const pathLine = (path: string): string =>
  `*** ${/^"|[\p{Cc}\p{Zl}\p{Zp}]/u.test(path) ? JSON.stringify(path) : path}`;

/**
 * The diff of two texts: the lines that both begin or end with are kept; all lines between are
 * removed and added.
 */
export function diffOf(before: string, after: string): string[] {
  const [old_lines, new_lines] = [linesOf(before), linesOf(after)];
  const most = Math.min(old_lines.length, new_lines.length);
  let head = 0;
  while (head < most && old_lines[head] === new_lines[head]) head++;
  let tail = 0;
  while (tail < most - head && old_lines.at(-1 - tail) === new_lines.at(-1 - tail)) tail++;
  const old_end = old_lines.length - tail;
  return [
    ...marked(" ", old_lines.slice(0, head)),
    ...marked("-", old_lines.slice(head, old_end)),
    ...marked("+", new_lines.slice(head, new_lines.length - tail)),
    ...marked(" ", old_lines.slice(old_end)),
  ];
}

const linesOf = (text: string): string[] => (text === "" ? [] : text.split("\n"));

const marked = (mark: string, lines: readonly string[]): string[] =>
  lines.map((line) => mark + line);
