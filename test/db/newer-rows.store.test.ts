/** Rows with values that only a newer version knows are skipped, and left as they are. */

import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { is } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";
import * as credentialsSchema from "../../db/credentials-schema.ts";
import * as historySchema from "../../db/history-schema.ts";
import * as notifySchema from "../../db/notify/schema.ts";
import * as oauthSchema from "../../db/oauth/schema.ts";
import * as schema from "../../db/schema.ts";
import { ADMIN, ADMIN_TOKEN, adminClient, PROCEDURES } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { ask, client, createPair, createTask, type Send, WEBHOOK } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { ROUTES } from "../support/routes.ts";
import { connectTo, createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { createWorld } from "../support/world.ts";

const NEWER = "of_a_newer_version";
const TABLES = [schema, historySchema, credentialsSchema, notifySchema, oauthSchema]
  .flatMap(Object.values<any>)
  .filter((one) => is(one, SQLiteTable))
  .map((table) => getTableConfig(table as SQLiteTable));

/** Every column that holds one of a list of values. */
const CASES = TABLES.flatMap(({ name: table, columns }) =>
  columns.flatMap(({ name, enumValues }) => (enumValues?.length ? [{ table, name }] : [])),
);

/** Columns of JSON with a value that a newer version may write; null where the column has no list of values. */
const JSON_COLUMNS: Record<string, string | null> = {
  "keys.last_client": null,
  "credentials.last_client": null,
  "channels.quiet_hours": null,
  "channels.secret": null,
  "channels.sends": JSON.stringify(["questions", NEWER]),
  "questions.action": JSON.stringify({
    client: NEWER,
    tool: "t",
    form: "command",
    folder: null,
    session: null,
    host: null,
  }),
  "items.last_task": JSON.stringify({ status: NEWER }),
  "request_log.entries": JSON.stringify([[Date.now(), NEWER, "GET /v1/tasks", 3]]),
};

test("every column with a list of values declares it, and every column of JSON is covered here", () => {
  // TypeScript's types are gone at run time, so a list that exists only in a type is never checked.
  const files = ["schema", "history-schema", "credentials-schema", "notify/schema", "oauth/schema"];
  for (const name of files) {
    const source = readFileSync(new URL(`../../db/${name}.ts`, import.meta.url), "utf8");
    expect(
      [...source.matchAll(/text\((?:"\w*")?\)\.\$type<[^>]*>/g)].map(([found]) => found),
    ).toEqual([]);
  }
  const json = TABLES.flatMap(({ name: table, columns }) =>
    columns.flatMap((column) =>
      column.dataType === "json" || ["sends", "last_task"].includes(column.name)
        ? [`${table}.${column.name}`]
        : [],
    ),
  );
  expect(json.sort()).toEqual(Object.keys(JSON_COLUMNS).sort());
  expect(CASES.length).toBeGreaterThan(20);
});

/** One account with a row of every kind, and access to its tables. */
async function createFilled() {
  const { url: database_url } = await createTestStore();
  const clock = createTestClock();
  const app = await startTestApp({ clock, database_url, env: { ...ADMIN } });
  const world = await createWorld(app);
  const raw = connectTo(database_url);
  afterAll(() => raw.close());
  const run = async (text: string, args: (string | number | null)[] = []) =>
    (await raw.execute({ sql: text, args })).rows;

  /** A row with a value in every column that requires one. */
  const insert = async (table: string, values: Record<string, string | number>) => {
    const { columns } = TABLES.find(({ name }) => name === table)!;
    const row = columns
      .filter(({ name, notNull, hasDefault }) => name in values || (notNull && !hasDefault))
      .filter(({ name, primary }) => name in values || !(primary && name === "seq"))
      .map((column): [string, string | number] => [
        column.name,
        values[column.name] ??
          column.enumValues?.[0] ??
          (column.getSQLType() === "integer" ? Date.now() + 86_400_000 : "[]"),
      ]);
    await run(
      `insert into ${table} (${row.map(([name]) => name).join()}) values (${row.map(() => "?").join()})`,
      row.map(([, value]) => value),
    );
  };
  const account_id = world.person.account.id;
  const { question_id, device_id } = world.ids as { question_id: string; device_id: string };
  const of = { account_id, recipient_id: device_id, lane: "production" };
  await insert("deliveries", {
    ...of,
    kind: "question",
    subject: question_id,
    question_id,
    urgency: 0,
  });
  await insert("delivery_records", { ...of, kind: "question", about: question_id });
  await run(
    "insert or ignore into question_deliveries (question_id, target_id, id, lane, label, status, queued_at) values (?, 'page', 'dlv_x', 'page', 'p', 'sent', 1)",
    [question_id],
  );
  await insert("approvals", {
    id: "apv_x",
    code_digest: "c",
    secret_digest: "s",
    request: "r",
    address: "a",
  });
  await world.person.send("POST /v1/messages", { key_id: world.agent.key.id, text: "hello" });
  await clock.advance(3);
  /** Changes of a device delete the target. */
  const addTarget = () =>
    run(
      "insert or ignore into delivery_targets (account_id, purpose, recipient_id, subject, lane, address, updated_at) values (?, 'alert', ?, '', 'production', 'x', 1)",
      [account_id, device_id],
    );
  return { app, clock, world, run, addTarget };
}

type Filled = Awaited<ReturnType<typeof createFilled>>;

/** Requests everything that can be read, as account, agent and operator; returns the failures. */
async function readAll({ app, world }: Filled): Promise<unknown[]> {
  const answers: { status: number; [about: string]: unknown }[] = [];
  for (const [kind, credential] of [
    ["account", world.person.token],
    ["key", world.agent.secret],
  ] as const) {
    for (const route of ROUTES) {
      const { method, path, access } = route;
      if (method !== "GET" || (access !== "any" && access !== kind)) continue;
      const own = world.ownOf(route, kind);
      const query = path === "/v1/inbox" ? "?peek=true" : "";
      const { status, body } = await client(
        app.url,
        credential,
      )(`GET ${own as `/${string}`}${query}`);
      answers.push({ as: kind, path, status, code: body?.code });
    }
  }
  const admin = adminClient(app.url);
  for (const name of PROCEDURES) {
    await (admin as any)[name]
      .query(name === "series" ? { names: [] } : undefined)
      .catch((error: Error) => {
        if (!error.message.includes("fields"))
          answers.push({ path: name, status: 500, error: error.message });
      });
  }
  const { status } = await fetch(`${app.url}/metrics`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  answers.push({ path: "/metrics", status });
  return answers.filter((one) => one.status >= 500);
}

test("a value that only a newer version knows causes no error anywhere, and stays [§17.6]", async () => {
  const filled = await createFilled();
  const { app, clock, run, addTarget } = filled;
  expect(await readAll(filled)).toEqual([]);
  const json = Object.entries(JSON_COLUMNS).flatMap(([name, value]) =>
    value === null ? [] : [{ table: name.split(".")[0]!, name: name.split(".")[1]!, value }],
  );
  const cases = [...CASES.map((one) => ({ ...one, value: NEWER })), ...json];
  for (const { table, name, value } of cases) {
    await addTarget();
    const [row] = await run(
      `select ${rowidOf(table)} as place, ${name} as before from ${table} limit 1`,
    );
    const column = `${table}.${name}`;
    expect([column, row !== undefined]).toEqual([column, true]);
    const where = `where ${rowidOf(table)} = ?`;
    const place = row!.place as string;
    await run(`update ${table} set ${name} = ? ${where}`, [value, place]);
    const faults = await readAll(filled);
    await clock.advance(5);
    await app.jobs.settled();
    await app.sender.settled();
    const failed = app.lines.filter((line) =>
      /job failed|internal error|not claimed|not settled/.test(line),
    );
    const [after] = await run(`select ${name} as now from ${table} ${where}`, [place]);
    expect({ column, faults, failed, kept: after?.now ?? value }).toEqual({
      column,
      faults: [],
      failed: [],
      kept: value,
    });
    await run(`update ${table} set ${name} = ? ${where}`, [row!.before as string, place]);
  }
}, 300_000);

/** A name of the row: tables without a rowid have a key instead. */
const rowidOf = (table: string): string =>
  ({
    credentials: "digest",
    question_deliveries: "question_id || target_id",
    delivery_targets: "recipient_id || purpose || subject",
  })[table] ?? "rowid";

/** The records of all pages of a list, two at a time. */
async function allPages(send: Send, path: string, member: string): Promise<string[]> {
  const ids: string[] = [];
  let cursor = "";
  do {
    const { status, body } = await send(`GET ${path as `/${string}`}?limit=2${cursor}`);
    expect(status).toBe(200);
    ids.push(...body[member].map(({ id }: { id: string }) => id));
    cursor = body.next_cursor === null ? "" : `&cursor=${body.next_cursor}`;
  } while (cursor !== "");
  return ids;
}

async function createTwo() {
  const { url: database_url } = await createTestStore();
  const app = await startTestApp({ database_url });
  const pair = await createPair(app.url);
  const raw = connectTo(database_url);
  afterAll(() => raw.close());
  const run = async (text: string, args: string[] = []) =>
    (await raw.execute({ sql: text, args })).rows;
  return { app, ...pair, run };
}

test("list pages continue behind records of a newer version, however many there are [§17.6]", async () => {
  const { person, agent, run } = await createTwo();
  const tasks: string[] = [];
  const questions: string[] = [];
  for (let i = 0; i < 12; i++) {
    tasks.unshift((await createTask(agent.send)).id);
    questions.unshift((await ask(agent.send)).id);
  }
  // The newest, and one between the others.
  const newer = (ids: string[]) => ids.filter((_, i) => i < 7 || i === 9);
  for (const id of newer(tasks)) {
    await run("update tasks set priority = ? where id = ?", [NEWER, id]);
  }
  for (const id of newer(questions)) {
    await run("update questions set kind = ? where id = ?", [NEWER, id]);
  }
  const rest = (ids: string[]) => ids.filter((_, i) => i === 7 || i === 8 || i > 9);
  for (const { send } of [person, agent]) {
    expect(await allPages(send, "/v1/tasks", "tasks")).toEqual(rest(tasks));
    expect(await allPages(send, "/v1/questions", "questions")).toEqual(rest(questions));
    expect((await send(`GET /v1/tasks/${tasks[0]}`)).status).toBe(404);
  }
});

test("an inbox item of a newer version stays unread between others that are read [§17.6]", async () => {
  const { person, agent, run } = await createTwo();
  const send = async (text: string): Promise<string> =>
    (await person.send("POST /v1/messages", { key_id: agent.key.id, text })).body.id;
  const [first, second, third] = [await send("1"), await send("2"), await send("3")];
  await run("update items set type = ? where id = ?", [NEWER, second!]);
  const { body } = await agent.send("GET /v1/inbox");
  expect(body.items.map(({ id }: { id: string }) => id)).toEqual([first, third]);
  expect(body.unread).toBe(1);
  await agent.send(`GET /v1/inbox?ack=${third}`);
  await run("update items set type = 'message' where id = ?", [second!]);
  const again = (await agent.send("GET /v1/inbox")).body;
  expect(again.items.map(({ id }: { id: string }) => id)).toEqual([second]);
});

test("a task is deleted with a pending question of a newer version, and other channels are listed [§17.6]", async () => {
  const { person, agent, run } = await createTwo();
  const task = await createTask(agent.send);
  const { id } = await ask(agent.send, { prompt: "Go on?", task_id: task.id });
  await run("update questions set kind = ? where id = ?", [NEWER, id]);
  expect((await agent.send(`DELETE /v1/tasks/${task.id}`)).status).toBe(204);
  const [row] = await run("select status, kind from questions where id = ?", [id]);
  expect({ ...row }).toMatchObject({ status: "cancelled", kind: NEWER });

  const made: string[] = [];
  for (let i = 0; i < 4; i++) {
    made.unshift(
      (await person.send("POST /v1/channels", { ...WEBHOOK, label: `${i}` })).body.channel.id,
    );
  }
  await run("update channels set type = ? where id = ?", [NEWER, made[1]!]);
  const sends = JSON.stringify(["questions", NEWER]);
  await run("update channels set sends = ? where id = ?", [sends, made[3]!]);
  // A change would remove what this version does not know.
  const patch = await person.send(`PATCH /v1/channels/${made[3]}`, { label: "Changed" });
  expect(patch.status).toBe(404);
  const { body } = await person.send("GET /v1/channels");
  expect(body.channels.map((channel: { id: string }) => channel.id)).toEqual([made[0], made[2]]);
});

test("a stream skips an event of a newer version and continues behind it [§17.6]", async () => {
  const { app, person, agent, run } = await createTwo();
  const stream = await openStream(app.url, person.token);
  await run(
    "insert into events (account_id, subject, name, data, created_at) values (?, 'x', ?, '{}', 0)",
    [person.account.id, NEWER],
  );
  const task = await createTask(agent.send);
  await stream.next(({ data }) => data.task?.id === task.id);
  expect(stream.events.map(({ event }) => event)).not.toContain(NEWER);
});
