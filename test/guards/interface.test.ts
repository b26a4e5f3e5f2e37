/** The documents say what the code does: routes, fields, limits, errors, events, variables; clauses are in order. */

import { expect, test } from "bun:test";
import { FIXED_ROUTES, UNWRITTEN } from "../../scripts/docs/tables.ts";
import { jsonOf, PROCEDURES, type Schema } from "../../scripts/docs/wording.ts";
import { generatedDocuments, withTables } from "../../scripts/docs.ts";
import { ERRORS, type ErrorCode } from "../../src/errors.ts";
import { readText } from "../support/documents.ts";
import { hasClause, readDocument, rowsWith } from "./document.ts";

const document = await readDocument();

test("the documents have what the code says (if not: `bun run docs`)", async () => {
  for (const [path, text] of await generatedDocuments()) {
    expect([path, await readText(path)]).toEqual([path, text]);
    // A cell of a new row that somebody has to write.
    expect([path, text.split("\n").filter((line) => line.includes(`| ${UNWRITTEN} |`))]).toEqual([
      path,
      [],
    ]);
  }
});

test("a table takes the rows of the code, and keeps their order and what people wrote", () => {
  const source = {
    ...{ isAt: (clause: string) => clause === "1.1", key: ["Name"] },
    rows: ["a", "new", "b"].map((name) => ({ Name: `\`${name}\``, Value: `${name}!` })),
  };
  const before = "### 1.1 X\n\n| Name | Value | Text |\n|---|---|---|\n";
  const written = `${before}| \`b\` | 1 | B |\n| \`old\` | 2 | C |\n| \`a\` | 3 | A |\n`;
  expect(withTables(written, [source])).toBe(
    `${before}| \`b\` | b! | B |\n| \`a\` | a! | A |\n| \`new\` | new! | ${UNWRITTEN} |\n`,
  );
  expect(() => withTables(written.replace("1.1", "1.2"), [source])).toThrow("no table");
  const second = `${written}\n${written.replace("1.1", "1.2")}`;
  expect(() => withTables(second, [source])).toThrow("nothing for the table Name of 1.2");
});

test("the meaning of each code names the clause that its page names", () => {
  const meanings = rowsWith(document, "Status").filter(({ clause }) => clause === "9.2.1");
  const wrong = meanings.filter(({ row }) => {
    const { clause } = ERRORS[row.Code as ErrorCode];
    return !hasClause(document, clause) || !row.Meaning!.split(/[^\d.]+/).includes(clause);
  });
  expect(wrong).toEqual([]);
});

test("section 5.1 lists the routes that are not procedures", async () => {
  const source = await readText("src/app.ts");
  const paths = [...source.matchAll(/^ +"(\/[^"]+)": \{/gm)].map(([, path]) => path!);
  expect(paths.sort()).toEqual(FIXED_ROUTES.map(([route]) => route.split(" ")[1]!).sort());
});

for (const { route, input } of PROCEDURES) {
  test(`the tables of ${route} have the numbers and defaults of its fields`, () => {
    const { properties = {} } = jsonOf(input, "input") as Schema;
    const rows = ["Body field", "Parameter"].flatMap((column) => rowsWith(document, column));
    for (const { title, row } of rows) {
      if (!title.endsWith(`\`${route}\``)) continue;
      const name = (row["Body field"] ?? row.Parameter)!;
      const schema = { ...properties[name], ...properties[name]!.anyOf?.[0] } as Schema;
      const most = schema.maxLength ?? schema.maximum ?? schema.maxItems;
      if (most < Number.MAX_SAFE_INTEGER) {
        expect(row.Description).toContain(` ${most.toLocaleString("en")}`);
      }
      const [, standard] = /[Dd]efault `?(\w+)/.exec(properties[name]!.description ?? "") ?? [];
      if (standard && row.Parameter) expect([name, row.Default]).toEqual([name, standard]);
    }
  });
}

// --- clauses

test("clauses are numbered in order, without a gap", () => {
  const faults: string[] = [];
  let before: number[] = [];
  for (const clause of document.clauses) {
    const now = clause.split(".").map(Number);
    const depth = now.length;
    const next = before.slice(0, depth);
    if (next.length === depth) next[depth - 1]!++;
    else next.push(1);
    if (next.join(".") !== clause) faults.push(`${clause} follows ${before.join(".")}`);
    before = now;
  }
  expect(faults).toEqual([]);
});

test("references within the document name clauses that it has", () => {
  const prose = document.text.replace(/`[^`\n]*`/g, "").replace(/^#+ \S+|^\*\*\S+\*\*/gm, "");
  const cited = [
    ...prose.matchAll(/(?<![\d.,v/-])\b(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)\b(?![\d.]*\d)/g),
  ];
  const named = [...prose.matchAll(/\bsections? (\d+)(?: and (\d+))?/g)].flat();
  const wrong = [
    ...cited.map(([, number]) => number!),
    ...named.filter((n) => /^\d+$/.test(n ?? "")),
  ].filter((number) => !hasClause(document, number));
  expect(wrong).toEqual([]);
  expect(cited.length).toBeGreaterThan(50);
});
