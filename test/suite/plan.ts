/** Which test files run on which store: found from what each file imports, so that no list goes stale. */

import { dirname, join, relative, resolve } from "node:path";
import { Glob, Transpiler } from "bun";

const ROOT = resolve(import.meta.dir, "../..");

/** The one file that reads `RELAY_TEST_STORE`: a test that does not reach it is the same on every store. */
const STORE = "test/support/store.ts";
/** Its tests run in a real browser, on the embedded store alone. */
const BROWSER = "test/web/browser.ts";

export interface Plan {
  /** Files that use the store of the run: they run on both. */
  readonly both: readonly string[];
  /** Files with a real browser. */
  readonly pages: readonly string[];
  /** Files that use neither. */
  readonly plain: readonly string[];
}

/** Reads every test file. Paths are relative to the project's folder and sorted. */
export async function readPlan(): Promise<Plan> {
  const reach = createReach();
  const both: string[] = [];
  const pages: string[] = [];
  const plain: string[] = [];
  const files = await Array.fromAsync(new Glob("test/**/*.test.ts").scan(ROOT));
  for (const file of files.sort()) {
    const reached = await reach(file);
    if (reached.has(BROWSER)) pages.push(file);
    else if (reached.has(STORE)) both.push(file);
    else plain.push(file);
  }
  return { both, pages, plain };
}

/** Gives the files under `test` that a file imports, directly or not, itself included; types do not count. */
function createReach() {
  const transpiler = new Transpiler({ loader: "ts" });
  const read = new Map<string, Promise<string[]>>();
  const importsOf = async (file: string): Promise<string[]> => {
    const text = await Bun.file(join(ROOT, file)).text();
    return transpiler
      .scanImports(text)
      .filter(({ path }) => path.startsWith("."))
      .map(({ path }) => relative(ROOT, resolve(ROOT, dirname(file), path)))
      .filter((path) => path.startsWith("test/") && path.endsWith(".ts"));
  };
  return async (start: string): Promise<ReadonlySet<string>> => {
    const seen = new Set([start]);
    // A set can grow while it is iterated: what is added is visited too.
    for (const file of seen) {
      if (!read.has(file)) read.set(file, importsOf(file));
      for (const next of (await read.get(file))!) seen.add(next);
    }
    return seen;
  };
}
