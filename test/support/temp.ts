/** Temporary folders. */

import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new empty folder, removed when the file or test that created it ends. */
export function tempFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "relay-test-"));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
