/** Every test file runs, and tests that depend on the store run on both. */

import { expect, test } from "bun:test";
import { Glob } from "bun";
import { readPlan } from "../suite/plan.ts";
import times from "../suite/times.json";

const root = new URL("../../", import.meta.url).pathname;

test("every test file runs, on both stores or once, or in the soak suite", async () => {
  const files = await Array.fromAsync(new Glob("**/*.test.{ts,tsx,js}").scan(`${root}test`));
  const { both, once, soak } = await readPlan();
  expect([...both, ...once, ...soak].sort()).toEqual(files.map((file) => `test/${file}`).sort());
});

test("a test of db that starts a store runs on both kinds", async () => {
  const starts = /\b(startTestApp|create(Test|Empty)Store|startProcess|startSqld)\(/;
  const { both, once } = await readPlan();
  expect(both.length).toBeGreaterThan(0);
  const wrong: string[] = [];
  for (const file of once.filter((path) => path.startsWith("test/db/"))) {
    if (starts.test(await Bun.file(root + file).text())) wrong.push(file);
  }
  expect(wrong).toEqual([]);
});

test("the files that start first exist", async () => {
  const { both, once } = await readPlan();
  const unknown = (files: object, known: readonly string[]) =>
    Object.keys(files).filter((file) => !known.includes(file));
  expect(unknown(times.embedded, [...both, ...once])).toEqual([]);
  expect(unknown(times.server, both)).toEqual([]);
});

test("only test/support/store.ts knows which store a run uses", async () => {
  const readers: string[] = [];
  for await (const file of new Glob("**/*.ts").scan(`${root}test`)) {
    const text = await Bun.file(`${root}test/${file}`).text();
    if (/env(\.|\[")RELAY_TEST_STORE/.test(text)) readers.push(file);
  }
  expect(readers).toEqual(["support/store.ts"]);
});

test("random choices in tests come from the run's seed", async () => {
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
