/** Every test file runs, and what depends on the store runs on both. */

import { expect, test } from "bun:test";
import { Glob } from "bun";
import { ON_ONE_STORE, readPlan, readSoak } from "../suite/plan.ts";
import times from "../suite/times.json";

const root = new URL("../../", import.meta.url).pathname;

test("every test file runs, on both stores or once, or in the soak suite", async () => {
  const files = await Array.fromAsync(new Glob("**/*.test.{ts,tsx,js}").scan(`${root}test`));
  const { both, once, pages } = await readPlan();
  const all = [...both, ...once, ...pages, ...(await readSoak())];
  expect(all.sort()).toEqual(files.map((file) => `test/${file}`).sort());
});

test("what starts a server or a store runs on both, but for pages and the files that are listed", async () => {
  const { both, once, pages } = await readPlan();
  expect(both).toContain("test/api/tasks.test.ts");
  // Through two files of test/support.
  expect(both).toContain("test/notify/claims.test.ts");
  expect(pages).toContain("test/web/tasks.test.ts");
  expect(once).toContain("test/auth/limiter.test.ts");
  const starts =
    /\b(startTestApp|create(Test|Empty)Store|startProcess|create(Push|Activity)World|startNtfyWorld|startSqld)\(/;
  const starters: string[] = [];
  for (const file of once) {
    const text = await Bun.file(root + file).text();
    if (starts.test(text)) starters.push(file);
  }
  expect(starters).toEqual([...ON_ONE_STORE]);
});

test("the files that start first are there", async () => {
  const { both, once, pages } = await readPlan();
  const all = [...both, ...once, ...pages];
  const missing = (files: object) => Object.keys(files).filter((file) => !all.includes(file));
  expect(Object.values(times).flatMap(missing)).toEqual([]);
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

test("no test uses `rejects` or `resolves` of `expect`, under which a commit to a file can hang", async () => {
  // Bun runs a nested event loop for them. If it starts while a native module delivers a result, that
  // module delivers no other (oven-sh/bun#36828). test/support/rejection.ts has `rejectionOf` instead.
  const wrong: string[] = [];
  for await (const file of new Glob("**/*.{ts,tsx}").scan(`${root}test`)) {
    const text = await Bun.file(`${root}test/${file}`).text();
    if (/\.(rejects|resolves)\b/.test(text)) wrong.push(file);
  }
  expect(wrong).toEqual([]);
});
