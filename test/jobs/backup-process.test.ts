/** The process of an automatic backup: what it is told, and how it ends with its disk and with a stop. */

import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { createBackupProcess } from "../../src/jobs/backup-process.ts";
import { createTestClock } from "../support/clock.ts";
import { rejectionOf } from "../support/rejection.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";

const NEVER = new AbortController().signal;
const MEGABYTE = 1e6;

/** Backups by a process that a shell starts in the place of `relay`. */
const byShell = (text: string, timers = systemClock) =>
  createBackupProcess({
    ...{ config: readConfig({}), now: timers.now, timers },
    program: ["sh", "-c", text, "relay"],
  });

test("a backup on a disk that hangs is killed, and no other begins while its process is there", async () => {
  const clock = createTestClock();
  const folder = tempFolder();
  const file = join(folder, "relay.db");
  // Told to end, it goes on, as one that waits for its disk.
  const text = `trap '' TERM; touch ${folder}/$$; while :; do sleep 0.1; done`;
  const make = byShell(text, clock);
  const begun = (count: number) => until(() => readdirSync(folder).length === count);
  const first = rejectionOf(make(file, 12 * MEGABYTE, NEVER));
  await begun(1);
  const early = { message: `the folder ${folder} does not answer`, is_early: true };
  expect(await rejectionOf(make(file, 0, NEVER))).toMatchObject(early);
  // Five minutes, and a second for each 200 kB.
  await clock.skip(360);
  expect(clock.pendingIn(5)).toBe(1);
  expect(await rejectionOf(make(file, 0, NEVER))).toMatchObject(early);
  await clock.skip(5);
  expect(String(await first)).toEndWith("it took longer than 6 minutes");
  // Once it is gone, the next one begins. It does not obey a stop either.
  const stop = new AbortController();
  let next: Promise<unknown> | undefined;
  await until(async () => {
    next = rejectionOf(make(file, 1e6 * MEGABYTE, stop.signal));
    return (await Promise.race([next, Bun.sleep(20)])) === undefined;
  });
  await begun(2);
  expect(clock.pendingIn(3_600)).toBe(1);
  stop.abort(new Error("stopping"));
  await clock.skip(0.8);
  expect(String(await next)).toContain("stopping");
});

test("it fails with what its process says, or with how it ended", async () => {
  const reasonOf = (text: string) =>
    byShell(text)("relay.db", 0, NEVER).then(
      () => null,
      (error) => error.message,
    );
  expect(await reasonOf("echo Backed up to here.")).toBeNull();
  expect(await reasonOf("echo 'relay: there is no room left' >&2; exit 3")).toBe(
    "there is no room left",
  );
  expect(await reasonOf("exit 4")).toBe("its process ended with exit code 4");
  // As the system ends it that lacks memory.
  expect(await reasonOf("kill -KILL $$")).toBe("its process ended with SIGKILL");
  const none = createBackupProcess({
    ...{ config: readConfig({}), now: () => 1, timers: systemClock },
    program: [join(tempFolder(), "none")],
  });
  const refusal = await rejectionOf(none("relay.db", 0, NEVER));
  expect(String(refusal)).toEndWith("its process cannot be started (ENOENT)");
});

test("it gets the store of the service, and no secret in its arguments", async () => {
  const key = randomBytes(32).toString("base64");
  const make = createBackupProcess({
    config: readConfig({
      DATABASE_URL: "http://127.0.0.1:1",
      DATABASE_AUTH_TOKEN: "secret-token",
      DATABASE_ENCRYPTION_KEY: key,
      BACKUP_URL: "http://127.0.0.1:2",
      BACKUP_KEEP: "3",
    }),
    now: () => 1_700_000_000.5,
    timers: systemClock,
    program: [
      "sh",
      "-c",
      `echo "relay: $@ $DATABASE_URL $DATABASE_AUTH_TOKEN $DATABASE_ENCRYPTION_KEY $BACKUP_URL" >&2; exit 3`,
      "relay",
    ],
  });
  const refusal = (await rejectionOf(make("/b/relay.db", 0, NEVER))) as Error;
  expect(refusal.message).toBe(
    `backup /b/relay.db --keep 3 --at 1700000000.5 http://127.0.0.1:1 secret-token ${key} http://127.0.0.1:2`,
  );
});

test("a stop ends it, and its unfinished file is removed", async () => {
  // A libSQL server that never answers.
  let held = 0;
  const server = Bun.serve({
    ...{ port: 0, hostname: "127.0.0.1", idleTimeout: 0 },
    fetch: () => {
      held++;
      return new Promise<Response>(() => {});
    },
  });
  const folder = tempFolder();
  const make = createBackupProcess({
    config: readConfig({ DATABASE_URL: `http://127.0.0.1:${server.port}` }),
    now: systemClock.now,
    // It is never killed.
    timers: createTestClock(),
  });
  const stop = new AbortController();
  const refusal = rejectionOf(make(join(folder, "relay.db"), 0, stop.signal));
  await until(() => held > 0);
  expect(readdirSync(folder)).toHaveLength(1);
  stop.abort(new Error("stopping"));
  expect(String(await refusal)).toContain("stopping");
  expect(readdirSync(folder)).toEqual([]);
  await server.stop(true);
});
