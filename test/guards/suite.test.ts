/** Every test file runs, and what depends on the store runs on both. */

import { expect, test } from "bun:test";
import { Glob } from "bun";
import { readPlan } from "../suite/plan.ts";

const root = new URL("../../", import.meta.url).pathname;

test("every test file is in exactly one part of the plan", async () => {
  const files = await Array.fromAsync(new Glob("**/*.test.{ts,tsx,js}").scan(`${root}test`));
  const { both, pages, plain } = await readPlan();
  expect([...both, ...pages, ...plain].sort()).toEqual(files.map((file) => `test/${file}`).sort());
});

test("a file that starts a server or a store runs on both stores, but for the browser's", async () => {
  const { both, pages, plain } = await readPlan();
  expect(both).toContain("test/api/tasks.test.ts");
  // Through two files of test/support.
  expect(both).toContain("test/push/claims.test.ts");
  expect(pages).toContain("test/web/tasks.test.ts");
  expect(plain).toContain("test/auth/limiter.test.ts");
  const starts = /\b(startTestApp|createTestStore|startProcess|createPushWorld|startSqld)\(/;
  const wrong: string[] = [];
  for (const file of plain) if (starts.test(await Bun.file(root + file).text())) wrong.push(file);
  expect(wrong).toEqual([]);
});

test("only test/support/store.ts knows on which store a run is", async () => {
  const readers: string[] = [];
  for await (const file of new Glob("**/*.ts").scan(`${root}test`)) {
    const text = await Bun.file(`${root}test/${file}`).text();
    if (/env(\.|\[")RELAY_TEST_STORE/.test(text)) readers.push(file);
  }
  expect(readers).toEqual(["support/store.ts"]);
});

test("random choices in tests come from the seed of the run", async () => {
  const wrong: string[] = [];
  for await (const file of new Glob("**/*.ts").scan(`${root}test`)) {
    const text = await Bun.file(`${root}test/${file}`).text();
    if (/\bMath\.random\(/.test(text)) wrong.push(file);
    if (/\bfc\.assert\(/.test(text) && !text.includes("seed: SEED")) wrong.push(file);
  }
  expect(wrong).toEqual([]);
});
