/**
 * `bun run docs` writes what documents take from the code: cells of tables of docs/interface.md and
 * docs/configuration.md, and all of docs/triggers.md. What people write stays as it is.
 */

import { fileURLToPath } from "node:url";
import {
  type Cells,
  CONFIGURATION,
  interfaceTables,
  type Source,
  UNWRITTEN,
} from "./docs/tables.ts";
import { triggersPage } from "./docs/triggers.ts";

const HEADING = /^#{2,4} (\d+(?:\.\d+)*) (.*)$/;
const CLAUSE = /^\*\*(\d+(?:\.\d+)+)\*\* /;

interface Block {
  readonly clause: string;
  readonly title: string;
  readonly header: readonly string[];
  /** Its rows by key, in order; of each the cells by column, as written. */
  readonly rows: Map<string, Readonly<Record<string, string>>>;
  /** Lines of the document: of the first row, and after the last one. */
  readonly from: number;
  readonly to: number;
}

const cellsOf = (line: string): string[] =>
  line
    .slice(1, line.lastIndexOf("|"))
    .split("|")
    .map((cell) => cell.trim());

/** What identifies a row, from the first columns; the backticks do not count. */
const keyOf = (row: Readonly<Record<string, unknown>>, key: readonly string[]): string =>
  key.map((column) => String(row[column]).replaceAll("`", "")).join(" ");

/** The tables of a text, without their rows' keys. */
function* blocksOf(lines: readonly string[]) {
  let clause = "";
  let title = "";
  for (let i = 0; i < lines.length; i++) {
    const [, section, heading = ""] = HEADING.exec(lines[i]!) ?? [];
    if (section) [clause, title] = [section, heading];
    clause = CLAUSE.exec(lines[i]!)?.[1] ?? clause;
    if (!lines[i]!.startsWith("|")) continue;
    const header = cellsOf(lines[i]!);
    const from = i + 2;
    while (lines[i + 1]?.startsWith("|")) i++;
    yield { clause, title, header, from, to: i + 1 };
  }
}

/**
 * The text with the cells of its tables as the sources have them. A row stays where it is; a new one follows the row
 * before it in the code, with `UNWRITTEN` for what people write. Throws if a source with rows has no table, and if a
 * table begins like those of a source and belongs to none.
 */
export function withTables(text: string, sources: readonly Source[]): string {
  const lines = text.split("\n");
  const tables = [...blocksOf(lines)];
  const written: { block: Block; rows: string[] }[] = [];
  for (const { isAt, key, rows } of sources) {
    const blocks: Block[] = tables
      .filter(({ clause, title, header }) => isAt(clause, title) && header[0] === key[0])
      .map((table) => {
        const found = lines.slice(table.from, table.to).map((line) => {
          const cells = cellsOf(line);
          return Object.fromEntries(table.header.map((column, i) => [column, cells[i] ?? ""]));
        });
        return { ...table, rows: new Map(found.map((row) => [keyOf(row, key), row])) };
      });
    if (blocks.length === 0) {
      if (rows.length === 0) continue;
      throw new Error(`no table has the row ${keyOf(rows[0]!, key)}: write the head of one`);
    }
    const order = blocks.map((block) => [...block.rows.keys()]);
    let [place, after] = [0, -1];
    for (const row of rows) {
      const name = keyOf(row, key);
      const has = order.findIndex((names) => names.includes(name));
      if (has >= 0) [place, after] = [has, order[has]!.indexOf(name)];
      else order[place]!.splice(++after, 0, name);
    }
    const derived = new Map(rows.map((row) => [keyOf(row, key), row]));
    for (const [i, block] of blocks.entries()) {
      const names = order[i]!.filter((name) => derived.has(name));
      const texts = names.map((name) =>
        lineOf(block.header, derived.get(name)!, block.rows.get(name)),
      );
      written.push({ block, rows: texts });
    }
  }
  // Routes of OAuth are no procedures.
  const columns = new Set(sources.map(({ key }) => key[0]).filter((column) => column !== "Method"));
  const known = new Set(written.map(({ block }) => block.from));
  const other = tables.find(({ header, from }) => columns.has(header[0]) && !known.has(from));
  if (other)
    throw new Error(`the code has nothing for the table ${other.header[0]} of ${other.clause}`);
  for (const { block, rows } of written.sort((one, other) => other.block.from - one.block.from)) {
    lines.splice(block.from, block.to - block.from, ...rows);
  }
  return lines.join("\n");
}

function lineOf(
  header: readonly string[],
  derived: Cells,
  before: Readonly<Record<string, string>> | undefined,
): string {
  const cells = header.map((column) => {
    const cell = derived[column];
    const old = before?.[column];
    return typeof cell === "function" ? cell(old ?? "") : (cell ?? old ?? UNWRITTEN);
  });
  return `|${cells.map((cell) => (cell === "" ? " " : ` ${cell} `)).join("|")}|`;
}

/** The documents that are written from the code, by their path, as they have to be. */
export async function generatedDocuments(): Promise<ReadonlyMap<string, string>> {
  const read = (path: string) => Bun.file(pathOf(path)).text();
  const contract = await read("docs/interface.md");
  const headings = contract.matchAll(/^#### (\S+) .*`([A-Z]+ \/\S*)`$/gm);
  const clauses = new Map([...headings].map(([, clause, route]) => [route, clause]));
  const tables = interfaceTables((route) => clauses.get(route) ?? UNWRITTEN);
  return new Map([
    ["docs/interface.md", withTables(contract, tables)],
    ["docs/configuration.md", withTables(await read("docs/configuration.md"), [CONFIGURATION])],
    ["docs/triggers.md", triggersPage()],
  ]);
}

const pathOf = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

if (import.meta.main) {
  for (const [path, text] of await generatedDocuments()) await Bun.write(pathOf(path), text);
}
