/** Every clause of the interface has a test that cites it, except those that are listed here. */

import { expect, test } from "bun:test";
import { Glob } from "bun";
import { readDocument } from "./document.ts";

const root = new URL("../", import.meta.url).pathname;
const { clauses, items } = await readDocument();

/** Clauses and items that no test cites, by the reason. */
const UNCITED: Readonly<Record<string, string>> = {
  "They describe Relay, or what a client does":
    "1.1.1 1.1.2 1.1.3 1.1.4 1.2.9 1.7.1 3.3.5 4.2.3 5.12.3 17.2 18.1.1 18.1.2 2.5.4 16",
  "Their tables are written from the code": "2.14 2.15 2.16 5.1.1 8.1 10.7",
  "No test cites them yet, although many tests need them. This list may only become shorter":
    "1.3.3 1.3.5 1.3.6 1.3.7 1.4.2 1.4.4 1.5.3 1.5.4 1.6 2.2.1 2.2.2 2.3.6 2.4.1 3.1.4 3.2.1 4.1.2 4.2.4 4.3.1 5.2.6 " +
    "5.2.7(3) 5.3.1 5.4.6(3) 5.7.6 5.7.10(5) 5.8 5.9.3 5.9.6(4) 5.15.1 5.15.4 6.4 7.1.3 7.3.3 9.1.1 " +
    "9.1.2 9.3 9.4.2 9.4.3 11.1.2 11.2.3 11.3.2 11.4.3 11.4.5 11.4.6 11.5.1 11.6.2 12.2.3 12.3.3 " +
    "12.3.7 12.4.3 12.5.1 12.5.3 13.2 13.3 13.5 14.1.2 14.1.3 14.3.1 14.3.3 14.3.4 " +
    "14.5.3 14.5.5 18.6.5 19.1.1 19.9.2",
};
const uncited = Object.values(UNCITED).flatMap((ids) => ids.split(" "));

/** The ids in the titles of tests: a clause, its item as in `5.3.2(3)`, or the first cell of a row as in `7.2 ready`. */
async function citations(): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const file of new Glob("**/*.{test,rules}.ts").scan(root)) {
    const text = await Bun.file(root + file).text();
    // Titles are the first argument of `test(` or of a function that stands for it.
    const titles = text.matchAll(/\w+(?:\.\w+)?(?:\([^\n]*?\))?\(\s*["'`]([^\n]*\[§[^\n]*)/g);
    for (const [, title] of titles) {
      for (const [, id] of title!.matchAll(/\[§([^\]]+)\]/g)) found.add(id!);
    }
  }
  return found;
}

const cited = await citations();

test("each clause is cited by a test: itself, a row of its table, or else each of its items", () => {
  const sections = new Set(clauses.map((one) => one.slice(0, one.lastIndexOf("."))));
  const missing = clauses.flatMap((clause) => {
    if (sections.has(clause) || cited.has(clause)) return [];
    if ([...cited].some((id) => id.startsWith(`${clause} `))) return [];
    const own = items.filter((item) => item.startsWith(`${clause}(`));
    return own.some((item) => cited.has(item)) ? own.filter((item) => !cited.has(item)) : [clause];
  });
  expect(missing.sort()).toEqual(uncited.sort());
});
