/** What executables are built from: every part is pinned, and the container starts parts that exist. */

import { expect, test } from "bun:test";
import { resolve } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { lockedPackages } from "../../scripts/build/parts.ts";
import { ownTarget, TARGETS } from "../../scripts/build/targets.ts";
import { CONFIG, readConfig } from "../../src/config.ts";

const ROOT = resolve(import.meta.dir, "../..");

test("the parts of every platform are pinned to the versions that the project uses", async () => {
  const pinned = await lockedPackages(`${ROOT}/bun.lock`);
  expect(TARGETS).toHaveLength(6);
  for (const { runtime, native } of TARGETS) {
    expect(pinned.get(runtime)?.[0]).toBe(manifest.devDependencies.bun);
    expect(pinned.get(native)?.[0]).toBe(manifest.dependencies.libsql);
  }
  expect(TARGETS).toContain(ownTarget());
});

test("the container sets only variables that exist, to values that the server accepts", async () => {
  const text = await Bun.file(`${ROOT}/Dockerfile`).text();
  const [, block = ""] = /^ENV ((?:.*\\\n)*.*)$/m.exec(text) ?? [];
  const set = Object.fromEntries(
    [...block.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name!, value!]),
  );
  const { BUN_TMPDIR, ...config } = set;
  expect(Object.keys(config).filter((name) => !(name in CONFIG))).toEqual([]);
  expect(readConfig(config)).toMatchObject({ ACCOUNT_CREATION: "first", HOST: "0.0.0.0" });
  // The only folder that it may write to.
  expect([BUN_TMPDIR, config.DATABASE_URL]).toEqual(["/data", "file:/data/relay.db"]);
});
