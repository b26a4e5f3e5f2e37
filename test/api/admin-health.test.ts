/** Whether everything is well, in sentences, and the charts that outlive a restart (§4.3.2). */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { rowOf, statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { createLog } from "../../src/log.ts";
import { AdminHealth } from "../../src/model/admin.ts";
import type { BackupStatus } from "../../src/model/backup.ts";
import { createDiskSpace } from "../../src/observability/disk-space.ts";
import { createRecentFaults } from "../../src/observability/recent-faults.ts";
import { createAdminHealth } from "../../src/services/admin-health.ts";
import { ADMIN, ADMIN_TOKEN, adminClient } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { startApple } from "../support/apple.ts";
import { ask, client, createPair, createTask, DEVICE } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startNtfy } from "../support/ntfy.ts";
import { createTestStore, STORE_KIND } from "../support/store.ts";
import { tempFolder } from "../support/temp.ts";
import { exchange, expectProblem } from "../support/wire.ts";

test("/admin/health says whether all is well, to the administrator alone [§4.3.2]", async () => {
  const clock = createTestClock();
  // A process that stood still would have an error.
  const app = await startTestApp({ env: ADMIN, clock, timers: clock });
  const { status, body, headers } = await exchange(app.url, "GET", "/admin/health", {
    credential: ADMIN_TOKEN,
  });
  expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(AdminHealth.parse(body)).toEqual(body);
  const names = body.checks.map(({ name }: { name: string }) => name);
  expect(names).toContain("store");
  expect(names).not.toContain("certificate");
  expect(names.includes("disk")).toBe(STORE_KIND === "embedded");
  expect(body.checks.at(-1)).toEqual({
    name: "errors",
    state: "ok",
    text: "No errors since Relay started.",
    at: null,
    neutral: false,
  });
  const { person, agent } = await createPair(app.url);
  for (const credential of [undefined, person.token, agent.secret, "x"]) {
    expectProblem(await exchange(app.url, "GET", "/admin/health", { credential }), "unauthorized");
  }
  const without = await startTestApp();
  expectProblem(
    await exchange(without.url, "GET", "/admin/health", { credential: ADMIN_TOKEN }),
    "unknown_path",
  );
});

test("a notification that failed is said with its reason, until one arrives; errors are told in words [§4.3.2]", async () => {
  const clock = createTestClock();
  const apple = await startApple({ now: clock.now });
  const app = await startTestApp({ clock, env: { ...ADMIN, ...apple.env("SANDBOX") } });
  const admin = adminClient(app.url);
  const sentences = async () => (await admin.health.query()).checks.map(({ text }) => text);
  expect(await sentences()).toContain(
    "No notification was sent in the last 7 days. Webhooks aren't counted.",
  );
  const { person, agent } = await createPair(app.url);
  await person.send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, { ...DEVICE, apns_token: "aa" });
  const notify = async (title: string) => {
    await createTask(agent.send, { title });
    await app.sender.settled();
    await clock.advance(2);
    await app.sender.settled();
  };
  await notify("one");
  expect(await sentences()).toContain("APNs: the service accepted the last notification.");
  apple.behave(() => ({ status: 400, reason: "PayloadEmpty" }));
  await notify("secret words");
  const { state, checks, errors } = await admin.health.query();
  expect(state).toBe("warning");
  expect(checks).toContainEqual({
    name: "notifications",
    state: "warning",
    text: "APNs: the last notification failed, because the service refused it (PayloadEmpty).",
    at: expect.any(Number),
    neutral: false,
  });
  expect(errors[0]!.text).toStartWith(
    "A notification service refused a message (apns, PayloadEmpty",
  );
  expect(checks.at(-1)).toMatchObject({ name: "errors", state: "warning" });
  for (const part of ["secret words", person.account.id, ADMIN_TOKEN]) {
    expect(JSON.stringify({ checks, errors })).not.toContain(part);
  }
  apple.behave(() => undefined);
  await notify("three");
  expect(await sentences()).toContain("APNs: the service accepted the last notification.");
  // An hour later the error is still told, and no longer a warning.
  await clock.advance(3_600);
  expect((await admin.health.query()).checks.at(-1)).toMatchObject({
    name: "errors",
    state: "ok",
    neutral: true,
  });
});

test("notifications that are refused and tried again are said, by every process, until one arrives [§4.3.2]", async () => {
  const clock = createTestClock();
  const ntfy = await startNtfy();
  const { url: database_url } = await createTestStore();
  const start = () => startTestApp({ clock, database_url, env: ADMIN, jitter: () => 0.5 });
  const app = await start();
  const { person, agent } = await createPair(app.url);
  await person.send("POST /v1/channels", { type: "ntfy", label: "P", url: `${ntfy.url}/topic` });
  const askTwice = async () => {
    for (const prompt of ["One?", "Two?"]) await ask(agent.send, { prompt });
    await app.sender.settled();
    await clock.advance(2);
    await app.sender.settled();
  };
  const said = async (url = app.url) => {
    const { state, checks } = await adminClient(url).health.query();
    return [state, checks.find(({ name }) => name === "notifications")?.text];
  };
  await askTwice();
  expect(await said()).toEqual(["ok", "ntfy: the service accepted the last notification."]);
  ntfy.behave(429);
  await clock.advance(1);
  await askTwice();
  const refused =
    "ntfy: the service didn't take the last notification (status_429). Relay tries again.";
  expect(await said()).toEqual(["warning", refused]);
  const other = await start();
  expect(await said(other.url)).toEqual(["warning", refused]);
  await other.stop();
  ntfy.behave("ok");
  for (let i = 0; i < 20; i++) {
    await clock.skip(20);
    await app.sender.settled();
  }
  await askTwice();
  expect(await said()).toEqual(["ok", "ntfy: the service accepted the last notification."]);
});

test("a PUBLIC_URL by which nobody comes is told with the name that clients use [§4.3.2]", async () => {
  const env = { ...ADMIN, PUBLIC_URL: "https://relay.example", ALLOWED_HOSTS: "also.example" };
  const { local_url } = await startTestApp({ env });
  const { agent } = await createPair(local_url);
  const get = async (host: string, credential: string) => {
    await exchange(local_url, "GET", "/v1/tasks", { credential, headers: { host } });
    const { checks } = await adminClient(local_url).health.query();
    return checks.find(({ name }) => name === "address")?.text ?? null;
  };
  // What anybody can send, and names that the operator or the machine gave.
  expect(await get("evil.example", "key_of_nobody")).toBeNull();
  for (const host of ["also.example", "localhost:3000", "relay:3000"]) {
    expect(await get(host, agent.secret)).toBeNull();
  }
  expect(await get("real.example:8443", agent.secret)).toStartWith(
    "Requests come for real.example, and none for relay.example, the host of PUBLIC_URL.",
  );
  expect(await get("relay.example", agent.secret)).toBeNull();
  expect(await get("real.example", agent.secret)).toBeNull();
});

test("each fault has its sentence and its state", async () => {
  const clock = createTestClock();
  const faults = createRecentFaults(clock);
  const store_clock = {
    now: clock.now,
    ahead: (): number | null => 0.4,
    corrected: () => 0,
    differs: () => false,
    jumped: (): number | null => null,
  };
  const well = {
    clock: store_clock,
    store: {
      kind: "embedded",
      usable: () => true,
      isOther: () => false,
      writeLock: () => null,
    } as const,
    disk: createDiskSpace(tempFolder(), systemClock),
    statistics: {
      state: async () => ({ bytes: 1, latency: 0.0004 }),
      pushes: async () => ({ lanes: [], queues: [], records: [], furthest: [] }),
      refused: async () => [],
    },
    storeFaults: { current: () => null },
    otherHost: () => null,
    certificateEnds: clock.now() + 61.5 * 86_400,
    backups: { status: async (): Promise<BackupStatus | null> => null },
    laneHealth: () => [],
    reply_reader: { health: () => [{ channel: "ntfy", connections: 1, working: 1, served: 1 }] },
    channelOf: () => null,
    titleOf: (channel: string) => (channel === "ntfy" ? "ntfy" : undefined),
    faults,
  };
  const told = async (change: Partial<typeof well>) => {
    const { state, checks } = await createAdminHealth({ ...well, ...change }).read();
    const neutral = checks.flatMap((one) => (one.neutral ? [one.name] : []));
    return { state, texts: checks.map((one) => one.text).join(" "), neutral };
  };
  const all = await told({});
  expect(all.texts).toStartWith("The database answers in 0.4 ms.");
  expect(all.texts).toMatch(/ are free on the disk\./);
  expect(all.texts).toContain("This server's clock agrees with the database's.");
  expect(all.texts).toContain("The certificate is valid for another 61 days.");
  // Nothing is well or wrong with what does not exist.
  expect(all.neutral).toEqual(["backups", "notifications"]);
  const expectTold = async (change: object, state: string, text: string) => {
    const found = await told(change as Partial<typeof well>);
    expect([found.texts.includes(text) || found.texts, found.state]).toEqual([true, state]);
  };
  const day = 86_400;
  await expectTold({ certificateEnds: clock.now() + 1.5 * day }, "warning", "another day. Replace");
  await expectTold({ certificateEnds: clock.now() - 1 }, "fault", "The certificate has expired");
  const backups = { every: day, made: { at: clock.now() - 2 * day, bytes: 3.12e8 }, failing: null };
  const failing = { since: clock.now(), reason: "the disk is full" };
  const withBackups = (status: BackupStatus) => ({ backups: { status: async () => status } });
  await expectTold({}, "ok", "No automatic backups are configured: set BACKUP_DIR");
  await expectTold(withBackups(backups), "ok", "The last backup is good (312 MB).");
  expect((await told(withBackups(backups))).neutral).toEqual(["notifications"]);
  expect((await told(withBackups({ ...backups, made: null }))).neutral).toContain("backups");
  await expectTold(
    withBackups({ ...backups, failing }),
    "warning",
    "Backups fail: the disk is full. The last good one is 2 days old.",
  );
  const old = { ...backups, every: day / 2 };
  const too_old = "The last backup is too old: one should be made every 12 hours.";
  await expectTold(withBackups(old), "fault", too_old);
  await expectTold(withBackups({ ...old, failing }), "fault", `${too_old} Backups fail: the disk`);
  const clockWith = (change: object) => ({ clock: { ...store_clock, ...change } });
  const behind = clockWith({ differs: () => true, ahead: () => -7_200, corrected: () => -7_200 });
  await expectTold(behind, "warning", "clock is 2 hours behind the database's. Relay goes by the");
  const slept = clockWith({ jumped: () => 7_200 });
  await expectTold(slept, "warning", "Time jumped by 2 hours");
  const back = clockWith({ jumped: () => -300 });
  await expectTold(back, "warning", "The database's clock was set back by 5 minutes");
  const slow = { ...well.statistics, state: async () => ({ bytes: 1, latency: 0.8 }) };
  await expectTold({ statistics: slow }, "warning", "answers in 800 ms, which is slow");
  const away = {
    ...well.statistics,
    state: () => Promise.reject(),
    pushes: () => Promise.reject(),
  };
  await expectTold({ statistics: away }, "fault", "The database can't be reached");
  await expectTold(
    { store: { ...well.store, usable: () => false } },
    "fault",
    "nothing can be saved",
  );
  const full = (kind: string) => ({
    store: { ...well.store, kind, usable: () => false },
    storeFaults: { current: () => "disk full" },
  });
  await expectTold(full("embedded"), "fault", "The disk is full, so nothing can be saved.");
  await expectTold(full("server"), "fault", "The disk of the database server is full, or fails");
  await expectTold(
    { store: { ...well.store, isOther: () => true } },
    "fault",
    "different database",
  );
  const deaf = { health: () => [{ channel: "ntfy", connections: 2, working: 0, served: 3 }] };
  await expectTold({ reply_reader: deaf }, "warning", "ntfy: answers from there don't arrive");
  // What cannot be found out is left out.
  const unknown = await told({
    disk: createDiskSpace(`${tempFolder()}/none`, systemClock),
    ...clockWith({ ahead: () => null }),
  });
  expect(unknown.texts).not.toMatch(/disk|clock/);
});

test("errors are remembered in words, each kind once, at most 20, whatever the log leaves out", () => {
  const clock = createTestClock();
  const faults = createRecentFaults(clock);
  const lines: string[] = [];
  const log = faults.watch(createLog("error", (line) => lines.push(line)));
  log.warn("job failed", { job: "prune events", error: "TypeError", at: "at /home/secret/x.ts" });
  log.warn("job failed", { job: "prune events", error: "TypeError", at: "at /home/secret/x.ts" });
  log.info("quiet", {});
  log.error("something new", { account_id: "acc_1", reason: "x".repeat(500) });
  expect(lines).toHaveLength(1);
  const [newest, job] = faults.read(0);
  expect(newest).toMatchObject({ level: "error", text: `Something new (${"x".repeat(60)})` });
  expect(job).toEqual({
    text: "Background work failed, and will be tried again (prune events, TypeError)",
    level: "warn",
    times: 2,
    last_at: clock.now(),
  });
  for (let i = 0; i < 100; i++) log.warn(`event ${i}`);
  expect(faults.read(0)).toHaveLength(20);
  expect(faults.read(0)[0]!.text).toBe("Event 99");
});

test("the charts cover all processes, outlive a restart, and are bounded in the store", async () => {
  const clock = createTestClock();
  await clock.advance(60 - (clock.now() % 60));
  const { url: database_url } = await createTestStore();
  const start = () => startTestApp({ clock, database_url, env: ADMIN });
  const first = await start();
  const { person, agent } = await createPair(first.url);
  const began = clock.now();
  for (let i = 0; i < 7; i++) await agent.send("GET /v1/nothing");
  await clock.advance(60);
  await agent.send("GET /v1/tasks");
  await first.stop();
  await clock.advance(120);
  const apps = [await start(), await start()] as const;
  await client(apps[0].url, person.token)("GET /v1/account");
  await apps[0].stop();
  const third = await start();
  for (const { url } of [apps[1], third]) {
    const { minutes } = await adminClient(url).series.query();
    expect(minutes.map(({ at }) => at)).toEqual([0, 1, 2, 3].map((i) => began + i * 60));
    expect(minutes.map(({ requests, client_errors }) => [requests, client_errors])).toEqual([
      [9, 7],
      [1, 0],
      [0, 0],
      [1, 0],
    ]);
    expect(minutes[0]!.p99).toBeNumber();
    expect(minutes[2]!.p99).toBeNull();
    expect(minutes[0]!.outbox_events).toBe(0);
  }
  // A process that is killed loses only the minute that is not over: this one never stops.
  await clock.advance(60);
  const seen = async () => (await adminClient(third.url).series.query()).minutes.at(-2)!;
  expect(await seen()).toMatchObject({ at: began + 180, requests: 1 });
  for (let minute = 0; minute < 200; minute++) await clock.skip(60);
  const { minutes } = await adminClient(third.url).series.query();
  expect(minutes.length).toBe(180);
  expect(minutes[0]!.at).toBe(clock.now() - 179 * 60);
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  const count = statement(sql`select count(*) from minutes`, { returns: rowOf<[number]>() });
  // Two processes still run.
  expect((await store.read(count({})))[0]![0]).toBeLessThanOrEqual(2 * 180);
  await store.close();
});
