/** The rows of deleted keys and accounts are deleted in small steps, which continue after any interruption (§5.4.6). */

import { expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { createSweeper, EVENTS_KEPT } from "../../db/deletions.ts";
import { addRecord } from "../../db/notify/records.ts";
import { writeLogBlocks } from "../../db/request-log.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import type { Store } from "../../db/store/store.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createTask, DEVICE } from "../support/client.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { apart } from "../support/entries.ts";
import { connectClient } from "../support/oauth.ts";
import { seeded } from "../support/random.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { startTelegram } from "../support/telegram.ts";
import { until } from "../support/until.ts";

const STEP = fileURLToPath(new URL("../support/delete-step.ts", import.meta.url));

const telegram = await startTelegram({ strict: false });
const bot = telegram.newBot("relay_bot");
const env = { TELEGRAM_API_ROOT: telegram.url, TELEGRAM_BOT_TOKEN: bot.token };

/** Tables whose rows are deleted last, some seconds after all others. */
const LAST = ["events"];
/** Tables of the administrator, with the account that came of a row. */
const ADMIN = ["invitations"];

async function open(url: string) {
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  const rows = (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({}));
  const tables = (await rows("select name from sqlite_schema where type = 'table'")).map(
    ([name]) => name as string,
  );
  const owned: string[] = [];
  for (const table of tables.filter((name) => ![...LAST, ...ADMIN].includes(name))) {
    const columns = (await rows(`select name from pragma_table_info('${table}')`)).flat();
    const owners = ["key_id", "account_id", "question_id", "channel_id", "task_id"];
    if (columns.some((name) => owners.includes(name as string))) owned.push(table);
  }
  /** The number of rows in each table that a key, an account or a channel owns, and of accounts. */
  const counts = async (): Promise<Record<string, number>> => {
    const entries: [string, number][] = [];
    for (const table of [...owned, "accounts"]) {
      const [row] = await rows(`select count(*) from ${table}`);
      entries.push([table, row![0] as number]);
    }
    return Object.fromEntries(entries);
  };
  const total = async () => Object.values(await counts()).reduce((sum, count) => sum + count, 0);
  return { store, counts, total };
}

/** Also does the work that waits for some seconds to pass. */
async function finish(store: Store, clock: TestClock) {
  const step = createSweeper(store, clock);
  while (await step(200));
  await clock.advance(EVENTS_KEPT);
  while (await step(200));
}

/** What is left of {@link fill} once its second key is deleted. */
const KEPT = {
  keys: 1,
  tasks: 9,
  task_history: 1,
  questions: 5,
  devices: 1,
  delivery_targets: 1,
  live_activities: 0,
  deliveries: 0,
  delivery_records: 0,
  channels: 0,
  channel_messages: 0,
  // The link of the account that stays.
  channel_links: 1,
  webhook_messages: 0,
  open_pages: 0,
  question_deliveries: 5,
  items: 2,
  idempotency: 3,
  // The token, a secret, and the credentials of an OAuth client.
  credentials: 4,
  grants: 1,
  pairings: 1,
  recovery_codes: 1,
  // The log entries of its 19 requests.
  request_log: 1,
  accounts: 1,
};

/** An account with two agents, and rows in every table. */
async function fill(url: string) {
  const { person, agent } = await createPair(url);
  const second = await createAgent(url, person);
  await person.send("POST /v1/pairings", {});
  await person.send("POST /v1/channels/links", { type: "telegram", label: "Phone" });
  await person.send("POST /v1/account/recovery-code", {});
  const device_id = `dev_${crypto.randomUUID()}`;
  const apns_token = crypto.randomUUID().replaceAll("-", "");
  await person.send(`PUT /v1/devices/${device_id}`, { ...DEVICE, apns_token });
  for (const { send, key } of [agent, second]) {
    await connectClient(url, person, { key_id: key.id });
    const [task] = await Promise.all(Array.from({ length: 9 }, () => createTask(send)));
    // So long that entries leave the row of the task.
    for (const note of ["a", "b", "c"]) {
      await send(`PATCH /v1/tasks/${task!.id}`, { status_note: note.repeat(200) });
    }
    const asked = await Promise.all(Array.from({ length: 5 }, () => ask(send)));
    const receipt = (id: string) => `POST /v1/questions/${id}/receipts` as const;
    await Promise.all(asked.map(({ id }) => person.send(receipt(id), { event: "shown" })));
    for (const sender of [person.send, send === agent.send ? second.send : agent.send]) {
      const message = { key_id: key.id, text: "m" };
      await sender("POST /v1/messages", message, { headers: { "idempotency-key": key.id } });
    }
  }
  return { person, agent, second };
}

/**
 * Live activities and deliveries are deleted with their key or account itself, so leftovers are inserted
 * afterwards. A push with a copy of a token waits with its live activity until it is sent.
 */
async function leaveActivities({ store }: Awaited<ReturnType<typeof open>>) {
  const leftovers = [
    "live_activities (account_id, device_id, task_id, key_id, push_token, created_at, updated_at) select account_id, 'dev_x', id, key_id, 'ab', 0, 0 from tasks",
    "live_activities (account_id, device_id, task_id, key_id, push_token, created_at, updated_at) select account_id, 'dev_y', id, key_id, 'cd', 0, 0 from tasks group by account_id",
    // A process that lives, whose pages the jobs do not forget however far time has moved.
    "page_processes (id, until) values ('x', 9000000000000)",
    "open_pages (account_id, process_id) select id, 'x' from accounts",
    "delivery_records (delivery_id, account_id, recipient_id, key_id, kind, about, lane, outcome, attempts, created_at, done_at) select id, account_id, 'dev_x', key_id, 'task', id, 'sandbox', 'sent', 1, 0, 0 from tasks",
  ];
  for (const token of ["null", "'cd'"]) {
    leftovers.push(
      `deliveries (account_id, recipient_id, kind, subject, lane, address, parts, urgency, due_at, expires_at, created_at) select account_id, id, 'end', coalesce(${token}, ''), 'sandbox', ${token}, '[]', 1, 0, 0, 0 from devices`,
    );
  }
  leftovers.push(
    "channels (id, account_id, type, label, sends, min_priority, state, secret, origin, host, hint, created_at, revision, listener) select id, account_id, 'webhook', 'l', '[]', 'low', 'gone', '{}', '', '', '', 0, '', id from devices",
    "channel_messages (channel_id, subject, handle, at) select c.id, t.id, t.id, 0 from channels c join tasks t on t.account_id = c.account_id",
    "webhook_messages (id, account_id, channel_id, subject, type, data, created_at, due_at, expires_at, head) select id, account_id, id, id, 'channel.test', '{}', 0, 0, 9000000000000, 1 from channels",
  );
  await store.write(leftovers.map((text) => statement(sql.raw(`insert into ${text}`))({})));
}

test("an interrupted deletion continues from any step, and touches nothing else [§5.4.6(2)]", async () => {
  const { url } = await createTestStore();
  // The jobs wait for the test's clock, which stands still.
  const clock = createTestClock();
  const app = await startTestApp({ clock, database_url: url, env });
  const kept = await fill(app.url);
  const gone = await fill(app.url);
  const filled = await open(url);
  const logged = async (blocks: number) => {
    await clock.advance(0.1);
    await until(async () => (await filled.counts()).request_log === blocks);
  };
  await logged(4);
  for (let i = 5; i < 15; i++) {
    await gone.agent.send("GET /v1/tasks", undefined, apart());
    await logged(i);
  }
  await filled.store.close();
  await kept.person.send(`DELETE /v1/keys/${kept.second.key.id}`);
  await gone.person.send("DELETE /v1/account");
  const stream = await openStream(app.url, kept.person.token);
  await clock.advance(0.1);
  await app.openPages.settled();
  const first = await open(url);
  await leaveActivities(first);
  const full = await first.counts();
  expect(full).toMatchObject({
    tasks: 36,
    live_activities: 38,
    keys: 4,
    accounts: 2,
    deliveries: 4,
  });
  // Gone with the mark of the account's deletion, so the version before deletes them too.
  expect(full.channel_links).toBe(1);
  expect(full.channel_messages).toBe(36);
  for (const [table, count] of Object.entries(full))
    expect([table, count > 0]).toEqual([table, true]);
  await first.store.close();

  let steps = 0;
  for (let more = true; more; steps++) {
    // Each step runs in a new process, which knows nothing of the earlier ones.
    const { store, total } = await open(url);
    const before = await total();
    more = await createSweeper(store, systemClock)(6);
    const gone_now = before - (await total());
    expect(gone_now).toBeLessThanOrEqual(6);
    expect(gone_now > 0).toBe(more);
    await store.close();
  }
  expect(steps).toBeGreaterThan(20);

  const { store, counts } = await open(url);
  const left = {
    ...KEPT,
    live_activities: 11,
    // Two of the account that stays, and the one that waits to be sent.
    deliveries: 3,
    delivery_records: 9,
    channels: 1,
    // Those about tasks of a deleted key stay for some days.
    channel_messages: 18,
    webhook_messages: 1,
    open_pages: 2,
    // The row of the account itself says that something is left of it.
    accounts: 2,
  };
  expect(await counts()).toEqual(left);
  await finish(store, clock);
  expect(await counts()).toEqual(left);
  await store.write([statement(sql.raw("delete from deliveries where address = 'cd'"))({})]);
  await finish(store, clock);
  expect(await counts()).toEqual({ ...left, live_activities: 10, deliveries: 1, accounts: 1 });
  await store.close();
  expect((await kept.agent.send("GET /v1/tasks")).body.tasks.length).toBe(9);
  const [key] = (await kept.person.send("GET /v1/keys")).body.keys;
  expect(key.counts.todo).toBe(9);
  // No event told anyone about the deleted rows.
  await createTask(kept.agent.send);
  expect(await stream.names(1)).toEqual(["task.created"]);
  stream.close();
});

test(
  "a deletion that is killed every few steps is completed all the same [§5.4.6(2)]",
  seeded("killed steps", async (random) => {
    const { url } = await createTestStore();
    const app = await startTestApp({ clock: createTestClock(), database_url: url, env });
    const kept = await fill(app.url);
    const gone = await fill(app.url);
    await kept.person.send(`DELETE /v1/keys/${kept.second.key.id}`);
    await gone.person.send("DELETE /v1/account");
    await app.stop();
    let kills = 0;
    for (;;) {
      const strike = random() < 0.5 ? "at once" : "later";
      // Each start takes longer than the steps themselves.
      const steps = String(1 + Math.floor(random() * 4));
      const command = [process.execPath, STEP, url, "6", steps, strike];
      const child = Bun.spawn(command, { stderr: "pipe" });
      const code = await child.exited;
      if (code === 0) break;
      expect([child.signalCode, await new Response(child.stderr).text()]).toEqual(["SIGKILL", ""]);
      kills++;
    }
    expect(kills).toBeGreaterThan(6);
    const { store, counts } = await open(url);
    expect(await counts()).toEqual({ ...KEPT, accounts: 2 });
    await finish(store, createTestClock());
    expect(await counts()).toEqual(KEPT);
    await store.close();
  }),
  300_000,
);

/** The number of rows of an account and its keys in every table that has any, by table. */
async function rowsOf(store: Store, account_id: string, key_ids: readonly string[]) {
  const rows = (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({}));
  const columns = await rows(
    "select m.name, c.name from sqlite_schema m, pragma_table_info(m.name) c where m.type = 'table' and (c.name in ('account_id', 'key_id', 'from_key_id') or (c.name = 'id' and m.name in ('accounts', 'keys')))",
  );
  const ids = [account_id, ...key_ids].map((id) => `'${id}'`).join();
  const found: Record<string, number> = {};
  for (const [table, column] of columns as [string, string][]) {
    const [row] = await rows(`select count(*) from ${table} where ${column} in (${ids})`);
    if ((row![0] as number) > 0) found[`${table}.${column}`] = row![0] as number;
  }
  return { found, columns: columns.length };
}

test("the jobs of two processes delete all rows of an account, and end no stream early [§5.4.6(2)]", async () => {
  const { url } = await createTestStore();
  const clocks = [createTestClock(), createTestClock()];
  const apps = await Promise.all(
    clocks.map((clock) => startTestApp({ clock, database_url: url, env })),
  );
  const [one, two] = apps.map((app) => app.url) as [string, string];
  const kept = await createPair(one);
  const gone = await fill(one);
  const ids = [gone.agent.key.id, gone.second.key.id];
  const { store } = await open(url);
  const left = () => rowsOf(store, gone.person.account.id, ids);
  const streams = await Promise.all([one, two].map((at) => openStream(at, gone.person.token)));
  const others = await Promise.all([one, two].map((at) => openStream(at, kept.person.token)));
  const before = await left();
  expect(before.columns).toBeGreaterThan(20);
  expect(Object.keys(before.found)).toContain("events.account_id");
  expect(Object.keys(before.found)).toContain("channel_links.account_id");

  await gone.person.send("DELETE /v1/account");
  // Events of others come before and after the deleted ones.
  await createTask(kept.agent.send);
  const pass = async (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      for (const clock of clocks) await clock.advance(1);
      for (const app of apps) await app.jobs.settled();
    }
  };
  await pass(1);
  for (const stream of streams) {
    await stream.ended;
    expect(stream.events.at(-1)!.event).toBe("account.deleted");
  }
  await pass(2);
  // A slow process has these seconds to deliver them.
  expect(Object.keys((await left()).found).sort()).toEqual(["accounts.id", "events.account_id"]);
  await pass(EVENTS_KEPT + 1);
  expect((await left()).found).toEqual({});

  await createTask(kept.agent.send);
  await pass(1);
  for (const stream of others) {
    expect(await stream.names(2)).toEqual(["task.created", "task.created"]);
    stream.close();
  }
  await store.close();
  const lines = apps.flatMap((app) => app.lines);
  expect(lines.filter((line) => /job failed|fell behind/.test(line))).toEqual([]);
});

test("rows that late requests add to a deleted account are deleted too", async () => {
  const { url } = await createTestStore();
  const clock = createTestClock();
  const app = await startTestApp({ clock, database_url: url });
  const { person, agent } = await createPair(app.url);
  const { store } = await open(url);
  const { id } = person.account;
  await person.send("DELETE /v1/account");
  const step = createSweeper(store, clock);
  while (await step(200));
  const late = [
    `delivery_records (delivery_id, account_id, recipient_id, kind, about, lane, outcome, attempts, created_at, done_at) values ('x', '${id}', 'dev_x', 'task', 't', 'sandbox', 'sent', 1, 0, 0)`,
    `idempotency (id, body, resource_id, account_id, created_at) values ('x', 'x', 'x', '${id}', 0)`,
  ];
  await store.write(late.map((text) => statement(sql.raw(`insert into ${text}`))({})));
  await clock.advance(EVENTS_KEPT);
  while (await step(200));
  expect((await rowsOf(store, id, [agent.key.id])).found).toEqual({});

  // After that, not even a request that has waited as long can leave anything.
  const record = { delivery_id: "y", account_id: id, recipient_id: "dev_x", key_id: null };
  const rest = {
    kind: "task",
    about: "t",
    lane: "sandbox",
    outcome: "sent",
    reason: null,
    attempts: 1,
  } as const;
  const times = { created_at: 0, tried_at: 0, done_at: 0 };
  await store.write([
    addRecord({ ...record, ...rest, ...times }),
    writeLogBlocks([{ id: "act_x", key_id: agent.key.id, entries: [[0]] as never }]),
  ]);
  expect((await rowsOf(store, id, [agent.key.id])).found).toEqual({});
  await store.close();
});
