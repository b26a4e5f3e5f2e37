/** Another process that holds the write lock of an embedded store. */

import { afterAll } from "bun:test";
import { fileURLToPath } from "node:url";
import { isStopped } from "./sqld.ts";

const HOLDER = `
import Database from "libsql";
const db = new Database(process.env.LOCK_FILE, { timeout: 5000 });
db.exec("begin immediate");
console.log("held");
for await (const _ of console);
db.exec("rollback");
db.close();
`;

export interface WriteLock {
  readonly pid: number;
  /** `SIGSTOP` and `SIGCONT`. */
  freeze(): void;
  thaw(): void;
  /** Resolves when the lock is free. */
  release(): Promise<void>;
}

/** Takes the lock of the file that a `file:` URL names. */
export async function holdWriteLock(url: string): Promise<WriteLock> {
  const child = Bun.spawn([process.execPath, "-e", HOLDER], {
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    env: { PATH: process.env.PATH ?? "", LOCK_FILE: url.slice("file:".length) },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  afterAll(() => child.kill("SIGKILL"));
  const { value } = await child.stdout.getReader().read();
  if (!value) throw new Error("the lock was not to be had");
  return {
    pid: child.pid,
    freeze() {
      child.kill("SIGSTOP");
      while (!isStopped(child.pid)) Bun.sleepSync(1);
    },
    thaw: () => child.kill("SIGCONT"),
    async release() {
      await child.stdin.end();
      await child.exited;
    },
  };
}
