/** Migrations: each is applied once and completely, also by processes that start at once (db/store/migrate.ts). */

import { expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { is } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";
import * as adminSchema from "../../db/admin-schema.ts";
import * as credentialsSchema from "../../db/credentials-schema.ts";
import * as historySchema from "../../db/history-schema.ts";
import * as listenSchema from "../../db/notify/reply-schema.ts";
import * as notifySchema from "../../db/notify/schema.ts";
import * as oauthSchema from "../../db/oauth/schema.ts";
import * as schema from "../../db/schema.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import type { Cell } from "../../db/store/store.ts";
import { systemClock } from "../../src/clock.ts";
import { WEBHOOK_LIMITS } from "../../src/notification-limits.ts";
import { client, createAgent, createPerson, createTask } from "../support/client.ts";
import { startProcess } from "../support/process.ts";
import { createEmptyStore } from "../support/store.ts";
import { tempFolder } from "../support/temp.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MIGRATIONS = join(ROOT, "db/migrations");
const FILES = readdirSync(MIGRATIONS).filter((name) => name.endsWith(".sql"));
const PROCESSES = 4;

/** Runs one query on a store of this tree or of a copy. */
async function readAll(url: string, text: string): Promise<Cell[][]> {
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  try {
    return await store.read(statement(sql.raw(text), { returns: "rows" })({}));
  } finally {
    await store.close();
  }
}

/** Everything about the tables that a migration could have changed. */
const schemaOf = (url: string) =>
  readAll(url, "select type, name, tbl_name, sql from sqlite_schema order by type, name");

/** A copy of the code whose migrations a test may change. */
function copyCode() {
  const folder = tempFolder();
  for (const name of ["db", "src", "package.json", "tsconfig.json"]) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const journal = join(folder, "db/migrations/meta/_journal.json");
  return {
    folder,
    /** Adds the next migration. */
    addMigration(text: string): void {
      const { entries, ...head } = JSON.parse(readFileSync(journal, "utf8"));
      const last = entries.at(-1);
      const entry = {
        ...last,
        idx: last.idx + 1,
        when: last.when + 1,
        tag: `${last.idx + 1}_test`,
      };
      writeFileSync(join(folder, `db/migrations/${entry.tag}.sql`), text);
      writeFileSync(journal, JSON.stringify({ ...head, entries: [...entries, entry] }));
    },
  };
}

/** Opens the store of each line of standard input, and reports the outcome. */
const OPENER = `
import { openStore } from "./db/store/open.ts";
import { systemClock } from "./src/clock.ts";
console.log("ready");
for await (const url of console) {
  console.log(await openStore({ url, auth_token: undefined }, systemClock).then(
    async (store) => (await store.close(), "up"),
    (error) => "failed: " + error.message,
  ));
}
`;

/** A process that runs {@link OPENER} on a copy of the code. */
async function startOpener(folder: string) {
  const child = Bun.spawn([process.execPath, "opener.ts"], {
    cwd: folder,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  const nextLine = async (): Promise<string> => {
    while (!rest.includes("\n")) {
      const { value, done } = await lines.read();
      if (done) throw new Error("the opener ended");
      rest += value;
    }
    const end = rest.indexOf("\n");
    const line = rest.slice(0, end);
    rest = rest.slice(end + 1);
    return line;
  };
  expect(await nextLine()).toBe("ready");
  return {
    async open(url: string): Promise<string> {
      child.stdin.write(`${url}\n`);
      child.stdin.flush();
      return nextLine();
    },
    end: () => child.kill(),
  };
}

test("four processes that start at once on a new store all start and serve it", async () => {
  const { url } = await createEmptyStore();
  const processes = await Promise.all(
    Array.from({ length: PROCESSES }, () => startProcess({ DATABASE_URL: url })),
  );
  const [first, ...others] = processes;
  const person = await createPerson(first!.url);
  const agent = await createAgent(first!.url, person);
  const task = await createTask(agent.send);
  for (const other of others) {
    const answer = await client(other.url, person.token)(`GET /v1/tasks/${task.id}`);
    expect(answer).toMatchObject({ status: 200, body: task });
  }
  // The triggers of a migration keep the counts: if applied twice, they would count twice.
  const { body } = await person.send("GET /v1/keys");
  expect(body.keys[0].counts.todo).toBe(1);
  expect(await readAll(url, "select hash from relay_migrations")).toHaveLength(FILES.length);
}, 300_000);

test("of processes that start at once, one applies each migration", async () => {
  const code = copyCode();
  code.addMigration("-- Isn't it? One comment, no parameter.\nCREATE TABLE proof (n integer);");
  // The store would accept these statements a second time: only the claim prevents it.
  const numbers = Array.from({ length: 12 }, (_, n) => [n]);
  for (const [n] of numbers) code.addMigration(`INSERT INTO proof VALUES (${n});`);
  writeFileSync(join(code.folder, "opener.ts"), OPENER);
  const openers = await Promise.all(
    Array.from({ length: PROCESSES }, () => startOpener(code.folder)),
  );
  for (let round = 0; round < 5; round++) {
    const { url, sqld } = await createEmptyStore();
    const outcomes = await Promise.all(openers.map(({ open }) => open(url)));
    expect(outcomes).toEqual(outcomes.map(() => "up"));
    expect(await readAll(url, "select n from proof order by n")).toEqual(numbers);
    const claims = await readAll(url, "select distinct hash from relay_migrations");
    expect(claims).toHaveLength(FILES.length + 1 + numbers.length);
    await sqld?.kill();
  }
  for (const { end } of openers) end();
}, 300_000);

test("a failing migration changes nothing, stops the start, and applies once repaired", async () => {
  const code = copyCode();
  code.addMigration(
    "CREATE TABLE proof (n integer);\n--> statement-breakpoint\nINSERT INTO proof VALUES (1, 2);",
  );
  writeFileSync(join(code.folder, "opener.ts"), OPENER);
  const { url } = await createEmptyStore();
  const opener = await startOpener(code.folder);
  expect(await opener.open(url)).toStartWith("failed: ");
  expect(await readAll(url, "select name from sqlite_schema where name = 'proof'")).toEqual([]);
  expect(await readAll(url, "select hash from relay_migrations")).toHaveLength(FILES.length);
  const [file] = readdirSync(join(code.folder, "db/migrations")).filter((name) =>
    name.endsWith("_test.sql"),
  );
  writeFileSync(join(code.folder, "db/migrations", file!), "CREATE TABLE proof (n integer);");
  expect(await opener.open(url)).toBe("up");
  expect(await readAll(url, "select n from proof")).toEqual([]);
  opener.end();
}, 300_000);

test("a start on an up-to-date store applies nothing", async () => {
  const { url } = await createEmptyStore();
  const claims = () => readAll(url, "select hash, applied_at from relay_migrations order by hash");
  const before = [await schemaOf(url), await claims()];
  expect(before[1]).toHaveLength(FILES.length);
  const person = await createPerson((await startProcess({ DATABASE_URL: url })).url);
  const again = await startProcess({ DATABASE_URL: url });
  // The data that the first process wrote is still there.
  const answer = await client(again.url, person.token)("GET /v1/account");
  expect(answer).toMatchObject({ status: 200, body: person.account });
  expect([await schemaOf(url), await claims()]).toEqual(before);
}, 300_000);

test("a migrated store has exactly the tables, columns and indexes of the schemas in db", async () => {
  const { url } = await createEmptyStore();
  const expected = [
    schema,
    adminSchema,
    historySchema,
    credentialsSchema,
    notifySchema,
    listenSchema,
    oauthSchema,
  ]
    .flatMap(Object.values<any>)
    .flatMap((table) => {
      if (!is(table, SQLiteTable)) return [];
      const { name, columns, indexes, primaryKeys } = getTableConfig(table);
      // The position of a column in a primary key of several columns.
      const place = (column: (typeof columns)[number]) =>
        (primaryKeys[0]?.columns.findIndex((one) => one.name === column.name) ?? -1) + 1;
      return [
        ...columns.map((column) => [
          name,
          column.name,
          column.getSQLType(),
          column.notNull ? 1 : 0,
          column.primary ? 1 : place(column),
        ]),
        ...indexes.map((index) => [
          name,
          index.config.name,
          "index",
          index.config.unique ? 1 : 0,
          0,
        ]),
      ];
    });
  const own =
    "m.name not like 'sqlite_%' and m.name not like 'libsql_%' and m.name <> 'relay_migrations'";
  const columns = await readAll(
    url,
    `select m.name, c.name, lower(c.type), c."notnull", c.pk from sqlite_schema m, pragma_table_info(m.name) c where m.type = 'table' and ${own}`,
  );
  const indexes = await readAll(
    url,
    `select m.name, i.name, 'index', i."unique", 0 from sqlite_schema m, pragma_index_list(m.name) i where m.type = 'table' and ${own} and i.origin = 'c'`,
  );
  const sorted = (rows: readonly (readonly unknown[])[]) => rows.map(String).sort();
  expect(sorted([...columns, ...indexes])).toEqual(sorted(expected));
});

test("the trigger that queues webhooks uses the numbers of the table of limits [§19.4.5]", async () => {
  const { url } = await createEmptyStore();
  const [[text] = []] = await readAll(
    url,
    "select sql from sqlite_schema where name = 'events_webhooks'",
  );
  expect(text).toContain(`>= ${WEBHOOK_LIMITS.queued} OR`);
  expect(text).toContain(`< ${WEBHOOK_LIMITS.queued} AND`);
  expect(text).toContain(`>= ${WEBHOOK_LIMITS.queued_bytes})`);
  expect(text).toContain(`< ${WEBHOOK_LIMITS.queued_bytes};`);
  expect(text).toContain(`+ ${WEBHOOK_LIMITS.message_life * 1000},`);
});
