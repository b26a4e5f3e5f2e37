/** Every clause of the interface has a test, and every clause that a test cites exists. */

import { expect, test } from "bun:test";
import { Glob } from "bun";
import { CLAUSES } from "./clauses.ts";

const root = new URL("../", import.meta.url).pathname;

/** Clause id -> the test files that cite it in a test's title. */
async function citations(): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for await (const file of new Glob("**/*.{test,rules}.ts").scan(root)) {
    const text = await Bun.file(root + file).text();
    // Titles are the first argument of `test(` or of a function that stands for it.
    const titles = [...text.matchAll(/\w+(?:\.\w+)?(?:\([^\n]*?\))?\(\s*["'`]([^\n]*\[§[^\n]*)/g)];
    for (const [, title] of titles) {
      for (const [, id] of title!.matchAll(/\[(§[^\]]+)\]/g)) {
        found.set(id!, [...(found.get(id!) ?? []), file]);
      }
    }
  }
  return found;
}

test("each clause is listed once", () => {
  const ids = CLAUSES.map(({ id }) => id);
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
});

test("each clause is cited by a test", async () => {
  const cited = await citations();
  const missing = CLAUSES.filter(({ id }) => !cited.has(id));
  expect(missing).toEqual([]);
});

test("tests cite only clauses of the list", async () => {
  const known = new Set(CLAUSES.map(({ id }) => id));
  expect([...(await citations())].filter(([id]) => !known.has(id))).toEqual([]);
});
