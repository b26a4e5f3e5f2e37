/** Inserts members into a list in a text, and removes them; every other byte stays. */

export interface Range {
  readonly start: number;
  /** After the last character. */
  readonly end: number;
}

/** Replaces a range, which may be empty, by a text. */
export interface Splice extends Range {
  readonly text: string;
}

/** An object, array or inline table with its brackets. */
export interface List extends Range {
  readonly members: readonly Range[];
}

/** How the file is formatted. */
export interface Style {
  readonly eol: "\n" | "\r\n";
  /** One level of indentation. */
  readonly unit: string;
  /** True if it has no white space at all. */
  readonly is_compact: boolean;
}

/** Writes a member on several lines with this indentation, or on one line for null. */
type Write = (indent: string | null) => string;

/** Applies the splices by position; those at the same position in the given order. */
export function applySplices(text: string, splices: readonly Splice[]): string {
  let result = "";
  let at = 0;
  for (const splice of splices.toSorted((a, b) => a.start - b.start)) {
    result += text.slice(at, splice.start) + splice.text;
    at = splice.end;
  }
  return result + text.slice(at);
}

/** The first line break of a text. */
export const eolOf = (text: string): "\n" | "\r\n" =>
  /\r?\n/.exec(text)?.[0] === "\r\n" ? "\r\n" : "\n";

const cut = (start: number, end: number): Splice => ({ start, end, text: "" });
const put = (at: number, text: string): Splice => ({ start: at, end: at, text });

/** Offsets of the first comma and line break outside comments, in a range between values; null if there is none. */
function gapOf(text: string, from: number, to: number) {
  let comma: number | null = null;
  let line_end: number | null = null;
  for (const { 0: token, index } of text
    .slice(from, to)
    .matchAll(/\/\/[^\n]*?(?=\r?\n|$)|\/\*[\s\S]*?\*\/|#[^\n]*?(?=\r?\n|$)|,|\r?\n/g)) {
    if (token === ",") comma ??= from + index;
    else if (token.trim() === "") line_end ??= from + index;
  }
  return { comma, line_end };
}

const lineStart = (text: string, at: number): number => text.lastIndexOf("\n", at - 1) + 1;
/** White space at the beginning of the line. */
const indentAt = (text: string, at: number): string =>
  /[ \t]*/y.exec(text.slice(lineStart(text, at), at))?.[0] ?? "";
const startsLine = (text: string, at: number): boolean =>
  lineStart(text, at) > 0 && text.slice(lineStart(text, at), at).trim() === "";
/** Where the line break before this line begins. */
function breakBefore(text: string, at: number): number {
  const feed = lineStart(text, at) - 1;
  return text[feed - 1] === "\r" ? feed - 1 : feed;
}

/** Adds a member after the others, formatted like the last one. */
export function insertion(text: string, list: List, style: Style, write: Write): Splice[] {
  const last = list.members.at(-1);
  if (!last) return filling(text, list, style, write);
  const { comma, line_end } = gapOf(text, last.end, list.end - 1);
  if (line_end !== null && startsLine(text, last.start)) {
    const indent = indentAt(text, last.start);
    // After a comment that follows the last member.
    const at = Math.max(line_end, (comma ?? -1) + 1);
    const member = style.eol + indent + write(indent);
    return comma === null ? [put(last.end, ","), put(at, member)] : [put(at, `${member},`)];
  }
  const space = style.is_compact ? "" : " ";
  return comma === null
    ? [put(last.end, `,${space}${write(null)}`)]
    : [put(comma + 1, `${space}${write(null)},`)];
}

/** Adds the first member to a list, which may contain comments. */
function filling(text: string, list: List, style: Style, write: Write): Splice[] {
  const [from, to] = [list.start + 1, list.end - 1];
  const inner = text.slice(from, to);
  const outer = indentAt(text, list.start);
  const indent = outer + style.unit;
  if (inner.trim() === "") {
    const { eol, is_compact } = style;
    const member = is_compact ? write(null) : eol + indent + write(indent) + eol + outer;
    return [{ start: from, end: to, text: member }];
  }
  // There are comments.
  if (inner.includes("\n")) return [put(breakBefore(text, to), style.eol + indent + write(indent))];
  return [put(to, `${inner.endsWith(" ") ? "" : " "}${write(null)} `)];
}

/** Removes a member, with the comma and white space that {@link insertion} adds. */
export function removal(text: string, list: List, index: number): Splice[] {
  const { [index - 1]: previous, [index]: member, [index + 1]: next } = list.members;
  if (!member) return [];
  const close = list.end - 1;
  const after = gapOf(text, member.end, next?.start ?? close);
  const end = after.comma === null ? member.end : after.comma + 1;
  const line = startsLine(text, member.start) ? breakBefore(text, member.start) : null;
  if (previous) {
    const { comma } = gapOf(text, previous.end, member.start);
    const spaces = /[ \t]*$/.exec(text.slice(previous.end, member.start))![0].length;
    const own = cut(line ?? member.start - spaces, end);
    return after.comma === null && comma !== null ? [cut(comma, comma + 1), own] : [own];
  }
  if (next) {
    if (line !== null) return [cut(line, end)];
    return [cut(member.start, text.slice(end, next.start).trim() === "" ? next.start : end)];
  }
  const rest = text.slice(list.start + 1, member.start) + text.slice(end, close);
  if (rest.trim() === "") return [cut(list.start + 1, close)];
  return [cut(line ?? member.start, line === null && text[end] === " " ? end + 1 : end)];
}
