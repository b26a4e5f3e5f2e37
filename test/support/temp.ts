/** Temporary folders that go when the test file ends. */

import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new empty folder. */
export function tempFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "relay-test-"));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
