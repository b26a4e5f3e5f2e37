/**
 * JSON with comments and trailing commas. The text is changed at the offsets that the parser gives; every other byte
 * stays.
 */

import { getNodeValue, type Node, type ParseError, parseTree } from "jsonc-parser";
import { behindMark, type Format, type Path, Refusal, type Value } from "./format.ts";
import { applySplices, eolOf, insertion, type List, removal, type Style } from "./splice.ts";

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

const rangeOf = ({ offset, length }: Node) => ({ start: offset, end: offset + length });
const listOf = (node: Node): List => ({
  ...rangeOf(node),
  members: node.children!.map(rangeOf),
});

function styleOf(text: string): Style {
  const is_compact = !text.trim().includes("\n") && !/": /.test(text) && text.includes('":');
  return { eol: eolOf(text), unit: /^[ \t]+(?=["[{])/m.exec(text)?.[0] ?? "  ", is_compact };
}

function write(value: Value, { eol, unit, is_compact }: Style, indent: string | null): string {
  if (is_compact) return JSON.stringify(value);
  if (indent !== null) return JSON.stringify(value, null, unit).replaceAll("\n", eol + indent);
  return JSON.stringify(value, null, 1).replace(/\n */g, " ");
}

/** Puts the value inside the objects that lead to it. */
const wrap = (value: Value, names: Path): Value =>
  names.reduceRight<Value>((inner, name) => ({ [name]: inner }), value);

function add(text: string, path: Path, value: Value, as: "member" | "element"): string {
  const root = parse(text);
  let node = root;
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
  const style = styleOf(text);
  const label = name === undefined ? "" : `${JSON.stringify(name)}:${style.is_compact ? "" : " "}`;
  const member = (indent: string | null) => label + write(wrap(filled, names), style, indent);
  return applySplices(text, insertion(text, listOf(node), style, member));
}

function remove(text: string, path: Path): string {
  const root = parse(text);
  if (!root) throw new Refusal("is empty");
  const child = nodeAt(root, path);
  const parent = nodeAt(root, path.slice(0, -1));
  const member = parent.type === "object" ? child.parent! : child;
  return applySplices(text, removal(text, listOf(parent), parent.children!.indexOf(member)));
}

function replace(text: string, path: Path, value: string): string {
  const root = parse(text);
  if (!root) throw new Refusal("is empty");
  const range = rangeOf(nodeAt(root, path));
  return applySplices(text, [{ ...range, text: JSON.stringify(value) }]);
}

function prune(text: string, path: Path): string {
  const root = parse(text);
  const { start, end } = root ? rangeOf(nodeAt(root, path)) : { start: 0, end: 0 };
  return text.slice(start + 1, end - 1).trim() === "" ? remove(text, path) : text;
}

export const json: Format = behindMark({
  read: (text) => {
    const root = parse(text);
    return root ? getNodeValue(root) : {};
  },
  add,
  remove,
  replace,
  prune,
});
