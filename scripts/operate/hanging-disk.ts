/**
 * Freezes the disk of the automatic backups while one is made of a libSQL server. Relay must go on answering, tell of the
 * failure, and make a backup once the disk answers again.
 */

import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startRelay, startSqld, stopAll } from "../../bench/process.ts";
import { freePort } from "../../test/support/sqld.ts";
import { backupMade } from "./backup-made.ts";

/** Megabytes of the disk, and of the store. */
const SIZE = { disk: 128, store: 40 } as const;
/** Seconds that the disk hangs: a copy of a server gives up after 10. */
const FROZEN = 30;
/** Milliseconds that an answer may take. */
const SLOWEST = 2_000;
const TOKEN = "admin-token-of-the-hanging-disk-0123";

const run = (...command: string[]): boolean =>
  Bun.spawnSync(command, { stdio: ["ignore", "ignore", "ignore"] }).success;

/** Returns false if Relay stood still, or did not recover. */
export async function hangingDisk(print: (line: string) => void): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "relay-operate-"));
  const children: Bun.Subprocess[] = [];
  const [image, disk] = [join(folder, "disk.img"), join(folder, "disk")];
  writeFileSync(image, "");
  truncateSync(image, SIZE.disk * 1e6);
  mkdirSync(disk);
  const can =
    process.getuid?.() === 0 &&
    ["mkfs.ext4", "fsfreeze", "mount"].every((name) => Bun.which(name)) &&
    run("mkfs.ext4", "-q", image) &&
    run("mount", "-o", "loop", image, disk);
  if (!can) {
    print(
      "a backup on a disk that hangs: not run, which needs root, loop devices, mkfs.ext4 and fsfreeze",
    );
    rmSync(folder, { recursive: true });
    return true;
  }
  let frozen = false;
  const thaw = () => {
    if (frozen) run("fsfreeze", "-u", disk);
    frozen = false;
  };
  try {
    const { url } = await startSqld(join(folder, "server"), freePort(), children);
    const env = { DATABASE_URL: url, ADMIN_TOKEN: TOKEN, BACKUP_EVERY: "1m" };
    const first = await startRelay(folder, children, { env });
    const created = children.find(({ pid }) => pid === first.pid)!;
    created.kill("SIGTERM");
    await created.exited;
    const rows = SIZE.store * 1_000;
    await query(
      url,
      `with recursive c(n) as (select 1 union all select n + 1 from c where n < ${rows})
        insert into secrets (name, value) select 'row ' || n, hex(randomblob(500)) from c`,
    );
    const { port } = await startRelay(folder, children, {
      env: { ...env, BACKUP_DIR: disk },
    });
    const base = `http://127.0.0.1:${port}`;
    while (!readdirSync(disk).some((name) => name.endsWith(".partial"))) await Bun.sleep(5);
    frozen = run("fsfreeze", "-f", disk);
    const was_made = readdirSync(disk).some((name) => name.endsWith(".db"));
    let [slowest, told] = [0, ""];
    for (const until = performance.now() + FROZEN * 1000; performance.now() < until; ) {
      const since = performance.now();
      const headers = { authorization: `Bearer ${TOKEN}` };
      const answer = await fetch(`${base}/admin/health`, { headers }).then((one) => one.text());
      slowest = Math.max(slowest, performance.now() - since);
      told = /Backups fail: [^"]*/.exec(answer)?.[0] ?? told;
      await Bun.sleep(100);
    }
    thaw();
    // The next attempt begins a minute after the one that failed.
    await Bun.sleep(60_000);
    const recovered = await backupMade(base, TOKEN);
    print(
      `a backup on a disk that hangs: slowest answer ${slowest.toFixed(0)} ms; told: ${told}; ${recovered ? "the next is good" : "WRONG: no backup afterwards"}`,
    );
    const good =
      !was_made && slowest < SLOWEST && told.includes("nothing was written") && recovered;
    if (!good) print(`  WRONG${was_made ? ": the backup was made before the disk hung" : ""}`);
    return good;
  } finally {
    thaw();
    run("umount", "-l", disk);
    await stopAll(children, folder);
  }
}

/** Runs a statement on a libSQL server. */
async function query(url: string, sql: string): Promise<void> {
  const answer = await fetch(`${url}/v2/pipeline`, {
    method: "POST",
    body: JSON.stringify({ requests: [{ type: "execute", stmt: { sql } }] }),
  });
  const text = await answer.text();
  if (!answer.ok || text.includes('"type":"error"')) throw new Error(text);
}
