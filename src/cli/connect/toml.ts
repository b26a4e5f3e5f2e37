/**
 * TOML. What `relay connect` adds is one block of lines at the end of the file: from a mark to the next empty line. Only this
 * block is changed and removed, never a table that a person or another program wrote.
 */

import { parse } from "smol-toml";
import {
  behindMark,
  eolOf,
  type Format,
  isObject,
  NOT_ADDED,
  type Path,
  Refusal,
  type Value,
} from "./format.ts";

const MARK = "# Added by relay connect, up to the next empty line";

/** Where the block is; null if there is none. */
function blockOf(text: string): { readonly start: number; readonly end: number } | null {
  const found = new RegExp(`^${MARK}$`, "m").exec(text);
  if (!found) return null;
  let end = found.index;
  for (const line of text.slice(found.index).split(/(?<=\n)/)) {
    // Another program may append its table without an empty line.
    if (line.trim() === "" || /^\[(?!\[?(mcp_servers\.relay|hooks\.)\b)/.test(line)) break;
    end += line.length;
  }
  return { start: found.index, end };
}

/** The block; throws {@link Refusal} without one. */
function ownBlock(text: string) {
  const block = blockOf(text);
  if (!block) throw new Refusal(NOT_ADDED);
  return block;
}

// Bun's own parser refuses integers beyond 2^53, which another program may have.
function read(text: string): unknown {
  try {
    return parse(text, { integersAsBigInt: "asNeeded" });
  } catch {
    throw new Refusal("cannot be parsed");
  }
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

/** Appends lines to the block, or the block to the file. A file without a line break at its end gets none. */
function extended(text: string, lines: readonly string[]): string {
  const eol = eolOf(text);
  const block = blockOf(text);
  if (block) {
    const own = text.slice(block.start, block.end);
    const more = own.endsWith("\n")
      ? lines.map((line) => line + eol)
      : lines.map((line) => eol + line);
    return text.slice(0, block.end) + more.join("") + text.slice(block.end);
  }
  const added = [MARK, ...lines].join(eol);
  if (text === "") return added + eol;
  return text.endsWith("\n") ? text + eol + added + eol : text + eol + eol + added;
}

function add(text: string, path: Path, value: Value, as: "member" | "element"): string {
  read(text);
  const result = extended(text, tables(path, value, as));
  try {
    read(result);
  } catch {
    throw new Refusal(`cannot be extended, as it has ${path.slice(0, 1)} in another form`);
  }
  return result;
}

function replace(text: string, path: Path, value: string): string {
  const { start, end } = ownBlock(text);
  const line = new RegExp(`^(${path.at(-1)}\\s*=\\s*)("[^"\\n]*"|'[^'\\n]*')`, "m");
  const own = text.slice(start, end).replace(line, (_, name) => name + JSON.stringify(value));
  return text.slice(0, start) + own + text.slice(end);
}

function remove(text: string): string {
  const { start, end } = ownBlock(text);
  const [before, after] = [text.slice(0, start), text.slice(end)];
  const had_end = text.slice(start, end).endsWith("\n");
  return (
    (had_end ? before.replace(/(^|\n)\r?\n$/, "$1") : before.replace(/(\r?\n){2}$/, "")) + after
  );
}

export const toml: Format = behindMark({
  read,
  add,
  replace,
  remove,
  // The parent of a table is implied and disappears with its last member.
  prune: (text) => text,
});
