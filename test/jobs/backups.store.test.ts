/** Automatic backups: when one is due, which process makes it, what is told of it, and what a failure does. */

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { createBackupRecord } from "../../db/backups.ts";
import { openStore } from "../../db/store/open.ts";
import { systemClock } from "../../src/clock.ts";
import { BackupFault } from "../../src/jobs/backup-folder.ts";
import { createBackups } from "../../src/jobs/backups.ts";
import { createLog } from "../../src/log.ts";
import { ADMIN, ADMIN_TOKEN, adminClient } from "../support/admin.ts";
import { startTestApp, type TestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";
import { exchange } from "../support/wire.ts";

const DAY = 86_400;
const MINUTE = 60;

/** Values of the metrics of backups by name. */
async function metricsOf({ url }: TestApp): Promise<Record<string, number>> {
  const { text } = await exchange(url, "GET", "/metrics", { credential: ADMIN_TOKEN });
  const lines = text.matchAll(/^(relay_backup\S+) (\S+)$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name!, Number(value)]));
}

const checkOf = async ({ url }: TestApp) =>
  (await adminClient(url).health.query()).checks.find(({ name }) => name === "backups")!;

const linesOf = ({ lines }: TestApp, event: string) =>
  lines.filter((line) => JSON.parse(line).event === event);

test("of two processes one makes the backup when it is due, across restarts, and each tells of it", async () => {
  const clock = createTestClock();
  const { url: database_url } = await createTestStore();
  const folder = tempFolder();
  const start = (env = {}) =>
    startTestApp({ clock, database_url, env: { ...ADMIN, BACKUP_DIR: folder, ...env } });
  const apps = [await start(), await start(), await start({ BACKUP_DIR: "" })] as const;
  const [first, second, other] = apps;
  const running: TestApp[] = [first, second];
  const pass = async (seconds: number) => {
    await clock.skip(seconds);
    for (const app of running) await app.backups.settled();
  };
  await createPair(first.url);
  expect(await checkOf(first)).toMatchObject({
    state: "ok",
    text: "The first backup will be made soon.",
  });
  expect(await checkOf(other)).toMatchObject({
    state: "ok",
    text: expect.stringContaining("No automatic backups are configured: set BACKUP_DIR"),
  });
  expect(await metricsOf(other)).toEqual({});
  const count = () => readdirSync(folder).length;
  await pass(5);
  expect(count()).toBe(1);
  const made_at = Math.floor(clock.now());
  await pass(MINUTE);
  for (const app of apps) {
    expect(await checkOf(app)).toEqual({
      name: "backups",
      state: "ok",
      text: expect.stringMatching(/^The last backup is good \(\d MB\)\.$/),
      at: made_at,
      neutral: false,
    });
    expect(await metricsOf(app)).toMatchObject({
      relay_backup_last_success_timestamp_seconds: made_at,
      relay_backup_interval_seconds: DAY,
      relay_backup_failing: 0,
    });
  }
  expect(linesOf(first, "backup made").length + linesOf(second, "backup made").length).toBe(1);
  // A restart makes none before it is due.
  await second.stop();
  running[1] = await start();
  // What a killed attempt left goes before the next is due: it may take the room for it.
  const killed = `${hostname().replace(/[^A-Za-z0-9.]/g, "")}-${Bun.spawnSync(["true"]).pid}`;
  writeFileSync(join(folder, `.relay.db.${killed}-1.partial`), "");
  await pass(DAY / 2);
  await pass(DAY / 2 - 10 * MINUTE);
  expect(count()).toBe(1);
  await pass(10 * MINUTE);
  await pass(MINUTE);
  expect(count()).toBe(2);
  // What was removed by hand is not counted as a backup.
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  await pass(MINUTE);
  expect(count()).toBe(1);
});

test("a folder that cannot take backups is told at once and logged once, and the server serves", async () => {
  const clock = createTestClock();
  const folder = join(tempFolder(), "none");
  const app = await startTestApp({ clock, env: { ...ADMIN, BACKUP_DIR: folder } });
  const pass = async (seconds: number) => {
    await clock.skip(seconds);
    await app.backups.settled();
  };
  await pass(5);
  for (let minute = 0; minute < 3; minute++) await pass(MINUTE);
  const reason = `there is no folder ${folder}; create it, or mount its disk`;
  const [line, ...more] = linesOf(app, "backup failed");
  expect([JSON.parse(line!), more]).toMatchObject([{ level: "error", reason }, []]);
  expect(await checkOf(app)).toMatchObject({
    state: "fault",
    text: `Backups fail: ${reason}. There is no backup yet.`,
  });
  expect(await metricsOf(app)).toEqual({
    relay_backup_interval_seconds: DAY,
    relay_backup_failing: 1,
    'relay_backups_total{result="success"}': 0,
    'relay_backups_total{result="failure"}': 0,
  });
  // It is not created: its disk may not be mounted.
  expect(existsSync(folder)).toBe(false);
  mkdirSync(folder);
  await pass(MINUTE);
  expect(readdirSync(folder)).toHaveLength(1);
  expect(await checkOf(app)).toMatchObject({ state: "ok" });
  expect(linesOf(app, "backups work again")).toHaveLength(1);
  // The disk goes away: told before the next one is due.
  rmSync(folder, { recursive: true });
  await pass(MINUTE);
  expect(await checkOf(app)).toMatchObject({
    state: "warning",
    text: expect.stringMatching(/ mount its disk\. The last good one is 6\d seconds old\.$/),
  });
  // Another start finds the folder again, and forgets the failure.
  mkdirSync(folder);
  await pass(MINUTE);
  expect(await checkOf(app)).toMatchObject({ state: "ok" });
});

test("attempts that fail are further and further apart, in all processes and after a restart", async () => {
  const clock = createTestClock();
  const store = await openStore(
    { url: (await createTestStore()).url, auth_token: undefined },
    systemClock,
  );
  const lines: string[] = [];
  const attempts: number[] = [];
  const made: { made_at: number; bytes: number }[] = [];
  const began = clock.elapsed();
  let answersOfFolder = async () => made;
  let behave = async (_: AbortSignal): Promise<void> => {
    throw new BackupFault(`the disk is full: ${attempts.length} MB are free`);
  };
  const start = (name: string, timers = clock) => {
    const backups = createBackups({
      folder: tempFolder(),
      every: DAY,
      record: createBackupRecord(store, name),
      async make(_file, _bytes, signal) {
        attempts.push(Math.round((clock.elapsed() - began) / MINUTE));
        await behave(signal);
        made.push({ made_at: clock.now(), bytes: 1 });
      },
      list: () => answersOfFolder(),
      storeBytes: async () => 1,
      clock,
      timers,
      log: createLog("info", (line) => lines.push(line)),
    });
    backups.start();
    return backups;
  };
  let running = [start("a"), start("b")];
  const pass = async (minutes: number) => {
    for (let i = 0; i < minutes; i++) {
      await clock.skip(MINUTE);
      for (const one of running) await one.settled();
    }
  };
  await pass(10);
  for (const one of running) await one.stop();
  running = [start("c")];
  await pass(120);
  const apart = attempts.slice(1).map((at, i) => at - attempts[i]!);
  expect(attempts.length).toBeLessThan(12);
  // Looks are once a minute, so an attempt may come one later.
  for (const [i, gap] of apart.entries()) {
    expect(gap).toBeGreaterThanOrEqual(Math.min(2 ** i, 60));
    expect(gap).toBeLessThanOrEqual(Math.min(2 ** i, 60) + 2);
  }
  // Each process logs the reason once.
  const failures = lines.filter((line) => line.includes("the disk is full"));
  expect(failures.length).toBeLessThanOrEqual(3);
  expect((await running[0]!.status())?.failing).toMatchObject({
    reason: expect.stringContaining("the disk is full"),
  });
  // An attempt that hangs is cancelled by a stop, and leaves the turn to others.
  const begun = Promise.withResolvers<void>();
  let aborted = false;
  behave = (signal) => {
    begun.resolve();
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => {
        aborted = true;
        reject(signal.reason);
      }),
    );
  };
  const before = attempts.length;
  while (attempts.length === before) {
    await clock.skip(MINUTE);
    await Promise.race([begun.promise, running[0]!.settled()]);
  }
  await running[0]!.stop();
  expect(aborted).toBe(true);
  const told = lines.length;
  behave = async () => {};
  running = [start("d")];
  await clock.skip(10);
  await running[0]!.settled();
  expect(made).toHaveLength(1);
  expect(lines.slice(told).map((line) => JSON.parse(line).event)).toEqual(["backup made"]);
  expect(await running[0]!.status()).toEqual({
    every: DAY,
    made: { at: made[0]!.made_at, bytes: 1 },
    failing: null,
  });
  // A backup from the future, made while a clock was wrong, does not count.
  made[0]!.made_at = clock.now() + 400 * DAY;
  await pass(2);
  expect(made).toHaveLength(2);
  // A folder that hangs is told, and is asked nothing more until it answers.
  const answer = Promise.withResolvers<typeof made>();
  let asked = 0;
  answersOfFolder = () => {
    asked++;
    return answer.promise;
  };
  await clock.skip(MINUTE);
  await until(() => asked === 1);
  await clock.skip(30);
  await running[0]!.settled();
  await pass(3);
  expect((await running[0]!.status())?.failing?.reason).toEndWith(" does not answer");
  expect(asked).toBe(1);
  answer.resolve(made);
  await pass(2);
  expect((await running[0]!.status())?.failing).toBeNull();
  await running[0]!.stop();
  await store.close();
});
