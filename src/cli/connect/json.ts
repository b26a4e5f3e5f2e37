/**
 * JSON with comments and trailing commas. An entry is put before the others of its object, so that no comma or comment of
 * theirs moves; every other byte stays.
 */

import {
  applyEdits,
  createScanner,
  getNodeValue,
  modify,
  type Node,
  type ParseError,
  parseTree,
} from "jsonc-parser";
import { behindMark, eolOf, type Format, type Path, Refusal, type Value } from "./format.ts";

/** The syntax tree; null for a blank text. Throws {@link Refusal}. */
function parse(text: string): Node | null {
  if (text.trim() === "") return null;
  const errors: ParseError[] = [];
  let root: Node | undefined;
  try {
    root = parseTree(text, errors, { allowTrailingComma: true });
  } catch {
    // The stack overflowed: the nesting is too deep.
  }
  if (!root || errors.length > 0) throw new Refusal("cannot be parsed");
  return root;
}

/** The value of a child; undefined if there is none. */
function childOf(node: Node, name: string | number): Node | undefined {
  if (node.type === "array") return typeof name === "number" ? node.children?.[name] : undefined;
  if (node.type !== "object") return undefined;
  const [member, ...more] = node.children!.filter(({ children }) => children![0]!.value === name);
  if (more.length > 0) throw new Refusal(`has ${JSON.stringify(name)} more than once`);
  return member?.children?.[1];
}

function nodeAt(root: Node, path: Path): Node {
  let node: Node | undefined = root;
  for (const name of path) node = node && childOf(node, name);
  if (!node) throw new Refusal(`has no ${path.join(".")}`);
  return node;
}

/** Puts the value inside the objects that lead to it. */
const wrap = (value: Value, names: Path): Value =>
  names.reduceRight<Value>((inner, name) => ({ [name]: inner }), value);

const replaced = (text: string, start: number, end: number, by = ""): string =>
  text.slice(0, start) + by + text.slice(end);

const lineStart = (text: string, at: number): number => text.lastIndexOf("\n", at - 1) + 1;
/** White space at the beginning of the line. */
const indentAt = (text: string, at: number): string =>
  /[ \t]*/y.exec(text.slice(lineStart(text, at), at))![0];
/** Where the line break before `at` begins, if only white space is between; null otherwise. */
function breakBefore(text: string, at: number): number | null {
  const start = lineStart(text, at);
  if (start === 0 || text.slice(start, at).trim() !== "") return null;
  return text[start - 2] === "\r" ? start - 2 : start - 1;
}

/** Offset of a comma that follows, apart from comments; null if something else does. */
function commaAfter(text: string, at: number): number | null {
  const scanner = createScanner(text, true);
  scanner.setPosition(at);
  scanner.scan();
  return text[scanner.getTokenOffset()] === "," ? scanner.getTokenOffset() : null;
}

function add(text: string, path: Path, value: Value, as: "member" | "element"): string {
  let node = parse(text);
  let depth = 0;
  for (; node?.type === "object" && depth < path.length; depth++) {
    const next = childOf(node, path[depth]!);
    if (!next) break;
    node = next;
  }
  const [name, ...names] = path.slice(depth);
  const filled = as === "element" && name !== undefined ? [value] : value;
  if (!node) return `${JSON.stringify(wrap(filled, path), null, 2)}\n`;
  const wanted = name === undefined ? "array" : "object";
  if (node.type !== wanted) {
    const place = path.slice(0, depth).join(".") || "its content";
    throw new Refusal(`cannot be extended, as ${place} is not an ${wanted}`);
  }
  const label = name === undefined ? "" : `${JSON.stringify(name)}: `;
  const start = node.offset + 1;
  const inner = text.slice(start, node.offset + node.length - 1);
  const [first] = node.children!;
  if (inner.trim() !== "" && !inner.includes("\n")) {
    const at = first?.offset ?? start;
    const member = label + JSON.stringify(wrap(filled, names));
    return replaced(text, at, at, first ? `${member}, ` : member);
  }
  const eol = eolOf(text);
  const unit = /^[ \t]+(?=["[{])/m.exec(text)?.[0] ?? "  ";
  const outer = indentAt(text, node.offset);
  const is_alone = !first || breakBefore(text, first.offset) === null;
  const indent = is_alone ? outer + unit : indentAt(text, first.offset);
  const lines = JSON.stringify(wrap(filled, names), null, unit).replaceAll("\n", eol + indent);
  const entry = eol + indent + label + lines;
  if (inner.trim() === "") return replaced(text, start, start + inner.length, entry + eol + outer);
  // After a comment in the line of the bracket.
  const comment = /^[ \t]*(\/\/.*|\/\*[^*]*\*\/[ \t]*)(?=\r?\n)/.exec(inner)?.[0].length ?? 0;
  const at = start + comment;
  return replaced(text, at, at, first ? `${entry},` : entry);
}

/** Removes a member or element with the comma, the line break and the white space that {@link add} gives it. */
function remove(text: string, path: Path): string {
  const root = parse(text);
  if (!root) throw new Refusal("is empty");
  const child = nodeAt(root, path);
  const parent = nodeAt(root, path.slice(0, -1));
  const member = parent.type === "object" ? child.parent! : child;
  const index = parent.children!.indexOf(member);
  const { [index - 1]: previous, [index + 1]: next } = parent.children!;
  const [start, end] = [parent.offset + 1, parent.offset + parent.length - 1];
  const member_end = member.offset + member.length;
  const comma = commaAfter(text, member_end);
  const after = comma === null ? member_end : comma + 1;
  const rest = text.slice(start, member.offset) + text.slice(after, end);
  if (rest.trim() === "") return replaced(text, start, end);
  const line = breakBefore(text, member.offset);
  if (line === null && !previous && next && text.slice(after, next.offset).trim() === "") {
    return replaced(text, member.offset, next.offset);
  }
  const spaces = previous
    ? /[ \t]*$/.exec(text.slice(previous.offset, member.offset))![0].length
    : 0;
  const left = replaced(text, line ?? member.offset - spaces, after);
  // The one before is now the last.
  const lost =
    previous && comma === null ? commaAfter(text, previous.offset + previous.length) : null;
  return lost === null ? left : replaced(left, lost, lost + 1);
}

function prune(text: string, path: Path): string {
  const { offset, length } = nodeAt(parse(text)!, path);
  return text.slice(offset + 1, offset + length - 1).trim() === "" ? remove(text, path) : text;
}

export const json: Format = behindMark({
  read: (text) => {
    const root = parse(text);
    return root ? getNodeValue(root) : {};
  },
  add,
  replace: (text, path, value) => applyEdits(text, modify(text, [...path], value, {})),
  // From the last to the first: removing an element moves those after it.
  remove: (text, paths) => paths.reduceRight(remove, text),
  prune,
});
