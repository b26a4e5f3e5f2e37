/** TOML. New tables are appended to the file; other changes are made at the offsets that the parser gives. */

import { type AST, getStaticTOMLValue, parseTOML } from "toml-eslint-parser";
import { behindMark, type Format, isObject, type Path, Refusal, type Value } from "./format.ts";
import {
  applySplices,
  eolOf,
  insertion,
  type List,
  type Range,
  removal,
  type Splice,
} from "./splice.ts";

function parse(text: string): AST.TOMLProgram {
  try {
    return parseTOML(text);
  } catch {
    throw new Refusal("cannot be parsed");
  }
}

const namesOf = ({ keys }: AST.TOMLKey): Path =>
  keys.map((key) => (key.type === "TOMLBare" ? key.name : key.value));
const rangeOf = ({ range: [start, end] }: AST.TOMLNode): Range => ({ start, end });
const startsWith = (path: Path, start: Path): boolean => start.every((name, n) => path[n] === name);

/** The members of an inline table or array with their paths; null for other values. */
function membersOf(value: AST.TOMLContentNode, path: Path) {
  if (value.type === "TOMLArray") {
    return value.elements.map((element, n) => ({
      value: element,
      path: [...path, n],
      ...rangeOf(element),
    }));
  }
  if (value.type !== "TOMLInlineTable") return null;
  return value.body.map((pair) => ({
    value: pair.value,
    path: [...path, ...namesOf(pair.key)],
    ...rangeOf(pair),
  }));
}

/** What a file has at a path or below it. */
interface PathContent {
  /** Tables with their lines. */
  readonly tables: Range[];
  readonly lines: Range[];
  /** The value at exactly this path. */
  value: AST.TOMLContentNode | null;
  /** The inline table or array that contains the value, and its index there. */
  inside: { readonly list: List; readonly index: number } | null;
}

function find({ body: [{ body }] }: AST.TOMLProgram, path: Path): PathContent {
  const found: PathContent = { tables: [], lines: [], value: null, inside: null };
  const descend = (value: AST.TOMLContentNode, at: Path): void => {
    if (at.length === path.length) found.value = value;
    const members = at.length < path.length ? (membersOf(value, at) ?? []) : [];
    for (const [index, member] of members.entries()) {
      if (startsWith(member.path, path)) {
        found.inside = { list: { ...rangeOf(value), members }, index };
      }
      if (startsWith(path, member.path)) descend(member.value, member.path);
    }
  };
  const visitLine = (line: AST.TOMLKeyValue, base: Path): void => {
    const at = [...base, ...namesOf(line.key)];
    if (startsWith(at, path)) found.lines.push(rangeOf(line));
    if (startsWith(path, at)) descend(line.value, at);
  };
  for (const node of body) {
    if (node.type === "TOMLKeyValue") visitLine(node, []);
    else if (startsWith(node.resolvedKey, path)) found.tables.push(rangeOf(node));
    else for (const line of node.body) visitLine(line, node.resolvedKey);
  }
  return found;
}

/** Writes a value on one line. */
function inline(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const pairs = Object.entries(value).map(([name, its]) => `${name} = ${inline(its as Value)}`);
  return `{ ${pairs.join(", ")} }`;
}

/** Writes the lines of a table. A member that is an array of objects follows as tables of its own. */
function tables(path: Path, value: Value, as: "member" | "element"): string[] {
  const header = path.join(".");
  const own: string[] = [];
  const below: string[] = [];
  for (const [name, its] of Object.entries(value)) {
    const elements: readonly Value[] =
      Array.isArray(its) && its.every(isObject) ? (its as readonly Value[]) : [];
    if (elements.length === 0) own.push(`${name} = ${inline(its)}`);
    for (const element of elements) below.push(...tables([...path, name], element, "element"));
  }
  return [as === "element" ? `[[${header}]]` : `[${header}]`, ...own, ...below];
}

function add(text: string, path: Path, value: Value, as: "member" | "element"): string {
  const program = parse(text);
  const eol = eolOf(text);
  // An inline table or array cannot be extended by a table below it, so it is extended inline.
  for (let depth = path.length; depth > 0; depth--) {
    const { value: content } = find(program, path.slice(0, depth));
    if (!content) continue;
    const members = membersOf(content, []);
    const [name, ...names] = path.slice(depth);
    const is_array = content.type === "TOMLArray";
    if (!members || is_array !== (name === undefined)) {
      throw new Refusal(
        `cannot be extended, as ${path.slice(0, depth).join(".")} has another type`,
      );
    }
    const filled = as === "element" && !is_array ? [value] : value;
    const inner = names.reduceRight<Value>((its, key) => ({ [key]: its }), filled);
    const member = (name === undefined ? "" : `${name} = `) + inline(inner);
    const style = { eol, unit: "  ", is_compact: false };
    const list = { ...rangeOf(content), members };
    if (members.length > 0 || is_array) {
      return applySplices(
        text,
        insertion(text, list, style, () => member),
      );
    }
    return applySplices(text, [{ ...rangeOf(content), text: `{ ${member} }` }]);
  }
  const block = tables(path, value, as).join(eol);
  if (text === "") return block + eol;
  return text.endsWith("\n") ? text + eol + block + eol : text + eol + eol + block;
}

/** Cuts whole lines, with the blank line before a table. */
function cutLines(text: string, { start, end }: Range, is_table: boolean): Splice {
  const first = text.lastIndexOf("\n", start - 1) + 1;
  const blank = is_table ? (/(?:^|\n)(\r?\n)$/.exec(text.slice(0, first))?.[1]?.length ?? 0) : 0;
  const feed = text.indexOf("\n", end);
  return { start: first - blank, end: feed < 0 ? text.length : feed + 1, text: "" };
}

function remove(text: string, path: Path): string {
  const found = find(parse(text), path);
  const splices = [
    ...found.tables.map((table) => cutLines(text, table, true)),
    ...found.lines.map((line) => cutLines(text, line, false)),
  ];
  if (found.inside) splices.push(...removal(text, found.inside.list, found.inside.index));
  if (splices.length === 0) throw new Refusal(`has no ${path.join(".")}`);
  const rest = applySplices(text, splices);
  const reached_end = splices.some(({ end }) => end === text.length);
  // A file that did not end with a line break still does not.
  return reached_end && !text.endsWith("\n") ? rest.replace(/\r?\n$/, "") : rest;
}

function replace(text: string, path: Path, value: string): string {
  const { value: content } = find(parse(text), path);
  if (!content) throw new Refusal(`has no ${path.join(".")}`);
  return applySplices(text, [{ ...rangeOf(content), text: JSON.stringify(value) }]);
}

export const toml: Format = behindMark({
  read: (text) => getStaticTOMLValue(parse(text)),
  add,
  remove,
  replace,
  // The parent of a table is implied and disappears with its last member.
  prune: (text) => text,
});
