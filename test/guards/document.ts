/**
 * Reads `docs/interface.md`: its clauses, and its tables by the clause that contains them. Clauses that only an operator
 * needs are on the pages of `docs/operating`.
 */

import { Glob } from "bun";

/** A table; each row has its cells by the column's header, without backticks around the whole. */
interface Table {
  /** Number of the clause or section that contains it, such as `5.5.2`. */
  readonly clause: string;
  /** Title of that section, as written. */
  readonly title: string;
  readonly header: readonly string[];
  readonly rows: readonly Readonly<Record<string, string>>[];
}

export interface Document {
  /** That of `docs/interface.md` alone. */
  readonly text: string;
  /** Numbers of all sections and clauses, in order: as written, with those of the operator's pages in their places. */
  readonly clauses: readonly string[];
  /** Items of clauses, such as `5.3.2(3)`. */
  readonly items: readonly string[];
  readonly tables: readonly Table[];
}

const DOCS = new URL("../../docs/", import.meta.url).pathname;
const collator = new Intl.Collator("en", { numeric: true });
const HEADING = /^#{2,4} (\d+(?:\.\d+)*) (.*)$/;
const CLAUSE = /^\*\*(\d+(?:\.\d+)+)\*\* /;

/** Numbers of the clauses on the operator's pages. */
async function movedClauses(): Promise<string[]> {
  const found: string[] = [];
  for await (const path of new Glob("*.md").scan({ cwd: `${DOCS}operating`, absolute: true })) {
    const lines = (await Bun.file(path).text()).split("\n");
    found.push(...lines.flatMap((line) => CLAUSE.exec(line)?.[1] ?? []));
  }
  return found;
}

export async function readDocument(): Promise<Document> {
  const text = await Bun.file(`${DOCS}interface.md`).text();
  const clauses: string[] = [];
  const items: string[] = [];
  const tables: Table[] = [];
  let clause = "";
  let title = "";
  let block: string[] = [];
  const endBlock = () => {
    if (block.length > 1) tables.push(toTable(block, clause, title));
    block = [];
  };
  for (const line of text.split("\n")) {
    if (line.startsWith("|")) {
      block.push(line);
      continue;
    }
    endBlock();
    const [, section, heading = ""] = HEADING.exec(line) ?? [];
    const number = section ?? CLAUSE.exec(line)?.[1];
    if (section) title = heading;
    if (number) {
      clause = number;
      clauses.push(number);
    }
    const [, item] = /^(\d+)\. /.exec(line) ?? [];
    if (item) items.push(`${clause}(${item})`);
  }
  endBlock();
  for (const number of await movedClauses()) {
    const next = clauses.findIndex((clause) => collator.compare(clause, number) > 0);
    clauses.splice(next, 0, number);
  }
  return { text, clauses, items, tables };
}

function toTable([head, , ...lines]: readonly string[], clause: string, title: string): Table {
  const header = cellsOf(head!);
  const rows = lines.map((line) =>
    Object.fromEntries(cellsOf(line).map((cell, i) => [header[i]!, cell])),
  );
  return { clause, title, header, rows };
}

function cellsOf(line: string): string[] {
  const cells = line.slice(1, line.lastIndexOf("|")).split("|");
  return cells.map((cell) => cell.trim().replace(/^`([^`]*)`$/, "$1"));
}

/** The names in backticks of a cell, in order. */
export function namesIn(cell: string): string[] {
  return cell.includes("`") ? [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!) : [cell];
}

/** Rows of all tables that have this first column, each with the clause that contains it. */
export function rowsWith({ tables }: Document, column: string) {
  return tables
    .filter(({ header }) => header[0] === column)
    .flatMap(({ clause, title, rows }) => rows.map((row) => ({ clause, title, row })));
}

/** Whether the document has what a citation names: a clause, a clause's item, or a table row. */
export function hasClause(document: Document, citation: string): boolean {
  const [, number = "", row] = /^(\S+)(?: (.+))?$/.exec(citation) ?? [];
  if (row === undefined)
    return document.clauses.includes(number) || document.items.includes(number);
  const tables = document.tables.filter(({ clause }) => clause === number);
  return tables.some(({ header, rows }) => rows.some((cells) => cells[header[0]!] === row));
}
