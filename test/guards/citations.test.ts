/** The project cites only `docs/interface.md`, and only clauses that exist. */

import { expect, test } from "bun:test";
import { Glob } from "bun";
import { hasClause, readDocument } from "./document.ts";

const root = new URL("../../", import.meta.url).pathname;
const document = await readDocument();

/** Lines of the project's own text files, except the document itself. */
async function lines(): Promise<[where: string, line: string][]> {
  const found: [string, string][] = [];
  const folders = "{src,routers,db,test,bench,docs}/**/*.{ts,tsx,css,sql,toml,md}";
  for (const pattern of [folders, "*.{md,ts,json}"]) {
    for await (const file of new Glob(pattern).scan(root)) {
      if (file === "docs/interface.md" || file.startsWith("test/guards/")) continue;
      const text = await Bun.file(root + file).text();
      found.push(
        ...text.split("\n").map((line, i): [string, string] => [`${file}:${i + 1}`, line]),
      );
    }
  }
  return found;
}

const all = await lines();

test("every citation names a clause that docs/interface.md has", () => {
  const wrong: string[] = [];
  for (const [where, line] of all) {
    const titles = [...line.matchAll(/\[§([^\]]+)\]/g)].map(([, id]) => id!);
    const rest = line.replace(/\[§[^\]]+\]/g, "");
    const lists = rest.matchAll(
      /docs\/interface\.md ((?:(?:, | to )?\d+(?:\.\d+)*(?:\(\d+\))?)+)/g,
    );
    const cited = [...lists].flatMap(([, list]) => list!.split(/, | to /));
    const short = [...rest.matchAll(/§(\d+(?:\.\d+)*(?:\(\d+\))?)/g)].map(([, id]) => id!);
    for (const id of [...titles, ...cited, ...short]) {
      if (!hasClause(document, id)) wrong.push(`${where}: ${id}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("nothing outside the project is cited", () => {
  const outside = /(?<!docs\/)\binterface\.md|\bdecisions\.md|(?<![\w-])push\.md|§\d+ [A-Z]/;
  const wrong = all.filter(([where, line]) => {
    // Documents link to each other: test/guards/docs.test.ts follows the links.
    const rest = where.startsWith("docs/") ? line.replace(/\binterface\.md\b/g, "") : line;
    return outside.test(rest.replace(/\[§7\.4\.2 [^\]]+\]/g, ""));
  });
  expect(wrong.map(([where, line]) => `${where}: ${line.trim()}`)).toEqual([]);
});
