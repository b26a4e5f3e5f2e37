/** Credentials: those of version 0.1.0 after an upgrade, and several of one account or key (§4.1, §17.4). */

import { afterAll, expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { openEmbedded } from "../../db/store/embedded.ts";
import { openStore } from "../../db/store/open.ts";
import { openServer } from "../../db/store/server.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import type { Store } from "../../db/store/store.ts";
import { systemClock } from "../../src/clock.ts";
import { digest } from "../../src/ids.ts";
import { startTestApp } from "../support/app.ts";
import { client, createAgent, createPair, createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createEmptyStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";

const migrationsFolder = fileURLToPath(new URL("../../db/migrations", import.meta.url));
/** Migrations of version 0.1.0. */
const OF_0_1_0 = 16;

const rows = (store: Store, text: string) =>
  store.read(statement(sql.raw(text), { returns: "rows" })({}));
const change = (store: Store, ...texts: string[]) =>
  store.write(texts.map((text) => statement(sql.raw(text))({})));

async function open(url: string): Promise<Store> {
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  afterAll(() => store.close());
  return store;
}

/** A store as version 0.1.0 leaves it. */
async function createOldStore() {
  const { url } = await createEmptyStore();
  const store = url.startsWith("file:")
    ? await openEmbedded(url, systemClock, () => {})
    : openServer({ url, auth_token: undefined }, systemClock, () => {});
  afterAll(() => store.close());
  await change(
    store,
    "create table relay_migrations (hash text primary key, applied_at integer not null)",
  );
  for (const { hash, sql: steps } of readMigrationFiles({ migrationsFolder }).slice(0, OF_0_1_0)) {
    await change(store, ...steps, `insert into relay_migrations values ('${hash}', 0)`);
  }
  return { url, store };
}

const token = (name: string) => `mca_${name.padEnd(43, "0")}`;
const secret = (name: string) => `mck_${name.padEnd(43, "0")}`;

/** Statements of version 0.1.0. */
const old = {
  account: (id: string, at: number) =>
    `insert into accounts (id, created_at, live_activities, token_digest, change_id) values ('acc_${id}', ${at}, 1, '${digest(token(id))}', 'x')`,
  key: (id: string, account: string, at: number, used = "null", deleted = "null") =>
    `insert into keys (id, account_id, label, prefix, last4, secret_digest, created_at, last_used_at, tasks_todo, tasks_in_progress, tasks_done, tasks_cancelled, change_id, deleted_at) values ('key_${id}', 'acc_${account}', 'l', 'p', 'l', '${digest(secret(id))}', ${at}, ${used}, 0, 0, 0, 0, 'x', ${deleted})`,
};

const statusOf = async (url: string, credential: string) =>
  (await client(url, credential)("GET /v1/tasks")).status;

test("tokens and secrets in a store of version 0.1.0 remain valid [§17.4]", async () => {
  const { url, store } = await createOldStore();
  await change(
    store,
    old.account("one", 1_000),
    old.account("two", 2_000),
    old.key("used", "one", 3_000, "4000"),
    old.key("new", "two", 5_000),
    old.key("gone", "two", 6_000, "null", "7000"),
  );
  const env = { UPGRADE_WITHOUT_BACKUP: "0.3.0" };
  const app = await startTestApp({ database_url: url, env });
  const bearers = [token("one"), token("two"), secret("used"), secret("new"), secret("gone")];
  const statuses = await Promise.all(bearers.map((bearer) => statusOf(app.url, bearer)));
  expect(statuses).toEqual([200, 200, 200, 200, 401]);
  expect((await client(app.url, token("two"))("GET /v1/account")).body.id).toBe("acc_two");

  const found = await rows(
    store,
    "select digest, kind, account_id, key_id, label, made_by, created_at, expires_at from credentials order by created_at",
  );
  const account = (id: string, at: number) =>
    [digest(token(id)), "account_token", `acc_${id}`, null, null, "account", at, null] as const;
  const key = (id: string, owner: string, at: number) =>
    [
      digest(secret(id)),
      "key_secret",
      `acc_${owner}`,
      `key_${id}`,
      null,
      "account",
      at,
      null,
    ] as const;
  expect(found).toEqual([
    [...account("one", 1_000)],
    [...account("two", 2_000)],
    [...key("used", "one", 3_000)],
    [...key("new", "two", 5_000)],
  ]);
  // The form of every id that the code makes: the milliseconds, version 7 and the variant.
  const ids = (await rows(store, "select id, created_at from credentials order by created_at")) as [
    string,
    number,
  ][];
  for (const [id, at] of ids) {
    const ms = at.toString(16).padStart(12, "0");
    expect(id).toMatch(new RegExp(`^(ses|crd)_${ms}7[0-9a-f]{3}[89ab][0-9a-f]{15}$`));
  }
});

/** Adds a credential to an account or a key, as later versions do. */
const another = (bearer: string, kind: string, account_id: string, key_id: string | null) =>
  `insert into credentials (digest, id, kind, account_id, key_id, made_by, created_at) values ('${digest(bearer)}', '${bearer}', '${kind}', '${account_id}', ${key_id === null ? "null" : `'${key_id}'`}, 'account', 1)`;

test("each sign-in of an account replaces its own token and leaves the others [§5.2.4]", async () => {
  const { url } = await createEmptyStore();
  const app = await startTestApp({ database_url: url });
  const store = await open(url);
  const first = await createPerson(app.url);
  const second = client(app.url, token("second"));
  await change(store, another(token("second"), "account_token", first.account.id, null));
  expect((await second("GET /v1/account")).body).toEqual(first.account);
  const stream = await openStream(app.url, first.token);
  const replaced = await second("POST /v1/account/token", { token: token("third") });
  expect(replaced.status).toBe(200);
  expect((await second("GET /v1/account")).status).toBe(401);
  const third = client(app.url, token("third"));
  expect((await third("GET /v1/account")).status).toBe(200);
  expect((await first.send("GET /v1/account")).status).toBe(200);
  // The token of one sign-in cannot become the new token of the other.
  const taken = await first.send("POST /v1/account/token", { token: token("third") });
  expect([taken.status, taken.body.fields]).toEqual([422, { token: "must be new" }]);
  // The stream of the other sign-in stayed open all the while.
  await createAgent(app.url, first);
  expect(await stream.names(1)).toEqual(["key.created"]);
  stream.close();
  await first.send("DELETE /v1/account");
  expect((await third("GET /v1/account")).status).toBe(401);
});

test("a key has several credentials, which end with it or when they expire [§4.1.5]", async () => {
  const { url } = await createEmptyStore();
  const clock = createTestClock();
  const app = await startTestApp({ database_url: url, clock });
  const store = await open(url);
  const { person, agent } = await createPair(app.url);
  const { id } = agent.key;
  await change(
    store,
    another(secret("second"), "key_secret", person.account.id, id),
    another(secret("other"), "refresh_token", person.account.id, id),
  );
  const statuses = () =>
    Promise.all(
      [agent.secret, secret("second"), secret("other")].map((one) => statusOf(app.url, one)),
    );
  // A credential that another version uses for something else is not a bearer token here.
  expect(await statuses()).toEqual([200, 200, 401]);
  const used = await rows(
    store,
    "select credentials.last_used_at = keys.last_used_at from credentials, keys where kind = 'key_secret'",
  );
  expect(used).toEqual([[1], [1]]);

  const due = Math.round((clock.now() + 60) * 1000);
  await change(
    store,
    `update credentials set expires_at = ${due} where id = '${secret("second")}'`,
  );
  await clock.advance(59);
  expect(await statuses()).toEqual([200, 200, 401]);
  await clock.advance(1);
  expect(await statuses()).toEqual([200, 401, 401]);
  await change(store, "update credentials set expires_at = null");
  await person.send(`DELETE /v1/keys/${id}`);
  expect(await statuses()).toEqual([401, 401, 401]);
});
