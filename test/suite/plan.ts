/** Which test files run on which kind of store: their names say it. */

import { resolve } from "node:path";
import { Glob } from "bun";

const ROOT = resolve(import.meta.dir, "../..");

/**
 * Tests that are unsteady by nature, since they kill processes, cut connections or change a page at random moments, and
 * slow tests of rare circumstances.
 */
const SOAK = "test/soak/";

export interface Plan {
  /** Files named `*.store.test.ts`, which run on each kind of store. */
  readonly both: readonly string[];
  /** All other files, which run once, on the embedded store if they use one. */
  readonly once: readonly string[];
  /** Files of `test/soak`, which are not part of the suite. */
  readonly soak: readonly string[];
}

/** Lists every test file. Paths are relative to the project's folder and sorted. */
export async function readPlan(): Promise<Plan> {
  const files = await Array.fromAsync(new Glob("test/**/*.test.ts").scan(ROOT));
  const suite = files.filter((file) => !file.startsWith(SOAK)).sort();
  return {
    both: suite.filter((file) => file.endsWith(".store.test.ts")),
    once: suite.filter((file) => !file.endsWith(".store.test.ts")),
    soak: files.filter((file) => file.startsWith(SOAK)).sort(),
  };
}
