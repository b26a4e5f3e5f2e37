/** Credentials, and the columns in which version 0.1.0 keeps their digests (§17.4). */

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
import { claim, client, createAgent, createPair, createPerson } from "../support/client.ts";
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
  replaceToken: (from: string, to: string) =>
    `update accounts set token_digest = '${digest(token(to))}' where token_digest = '${digest(token(from))}'`,
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
  const app = await startTestApp({ database_url: url });
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

test("credentials that version 0.1.0 writes to the same store work here at once [§17.4]", async () => {
  const { url } = await createEmptyStore();
  const app = await startTestApp({ database_url: url });
  const store = await open(url);
  await change(store, old.account("a", 1), old.key("k", "a", 2));
  const statuses = async (...bearers: string[]) =>
    Promise.all(bearers.map((bearer) => statusOf(app.url, bearer)));
  expect(await statuses(token("a"), secret("k"))).toEqual([200, 200]);
  const [[id]] = (await rows(store, "select id from credentials where key_id is null")) as [
    [string],
  ];
  await change(store, old.replaceToken("a", "b"));
  expect(await statuses(token("a"), token("b"), secret("k"))).toEqual([401, 200, 200]);
  // The same sign-in with another token.
  expect(await rows(store, "select id from credentials where key_id is null")).toEqual([[id!]]);
  // The next request here compares with the use of a key that version 0.1.0 recorded.
  await change(
    store,
    'update keys set last_host = \'old\', last_client = \'{"name":"c","version":"1"}\'',
  );
  const used = "select last_host, last_client from credentials where key_id = 'key_k'";
  expect(await rows(store, used)).toEqual([["old", '{"name":"c","version":"1"}']]);
  await change(store, "update keys set deleted_at = 1");
  expect(await statuses(token("b"), secret("k"))).toEqual([200, 401]);
  await change(store, "update accounts set deleted_at = 1");
  expect(await statuses(token("b"), secret("k"))).toEqual([401, 401]);
  expect(await rows(store, "select kind from credentials")).toEqual([]);
});

test("version 0.1.0 finds the credentials that this version writes [§17.4]", async () => {
  const { url } = await createEmptyStore();
  const app = await startTestApp({ database_url: url });
  const store = await open(url);
  const { person, agent } = await createPair(app.url);
  const kept = () =>
    rows(store, "select token_digest from accounts union all select secret_digest from keys");
  expect(await kept()).toEqual([[digest(person.token)], [digest(agent.secret)]]);
  const { body } = await person.send("POST /v1/account/token", {});
  expect(await kept()).toEqual([[digest(body.token)], [digest(agent.secret)]]);
  // Both versions refuse a credential that ended.
  await change(store, "delete from credentials");
  for (const bearer of [body.token, agent.secret])
    expect(await statusOf(app.url, bearer)).toBe(401);
  for (const [left] of await kept()) expect(left).toMatch(/^ended [0-9A-F]{32}$/);
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
  expect(await rows(store, "select token_digest from accounts")).toEqual([[digest(first.token)]]);
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

test("version 0.1.0 knows the oldest sign-in left, or the one added when none was left [§17.4]", async () => {
  const { url } = await createEmptyStore();
  const app = await startTestApp({ database_url: url });
  const store = await open(url);
  const person = await createPerson(app.url);
  const { id } = person.account;
  const known = async () => (await rows(store, "select token_digest from accounts"))[0]![0];
  await change(
    store,
    another(token("second"), "account_token", id, null),
    another(token("third"), "account_token", id, null).replace(", 1)", ", 2)"),
    another(token("other"), "refresh_token", id, null).replace(", 1)", ", 0)"),
  );
  const end = (bearer: string) =>
    change(store, `delete from credentials where digest = '${digest(bearer)}'`);
  await end(token("third"));
  expect(await known()).toBe(digest(person.token));
  await change(store, another(token("third"), "account_token", id, null).replace(", 1)", ", 2)"));
  await end(person.token);
  expect(await known()).toBe(digest(token("second")));
  // Version 0.1.0 can replace the token that it knows.
  await change(store, old.replaceToken("second", "renewed"));
  expect(await statusOf(app.url, token("second"))).toBe(401);
  expect(await statusOf(app.url, token("renewed"))).toBe(200);
  await end(token("renewed"));
  expect(await known()).toBe(digest(token("third")));
  await end(token("third"));
  expect(await known()).toMatch(/^ended [0-9A-F]{32}$/);
  await change(store, another(token("fourth"), "account_token", id, null));
  expect(await known()).toBe(digest(token("fourth")));
  // When version 0.1.0 deletes the account, every sign-in ends and the digest stays.
  await change(store, another(token("fifth"), "account_token", id, null));
  await change(store, "update accounts set deleted_at = 1");
  expect(await statusOf(app.url, token("fifth"))).toBe(401);
  expect(await known()).toBe(digest(token("fourth")));
});

test("pairing codes end when version 0.1.0 replaces the token or deletes the account [§17.4]", async () => {
  const { url } = await createEmptyStore();
  const app = await startTestApp({ database_url: url });
  const store = await open(url);
  const people = [];
  for (let i = 0; i < 3; i++) {
    const person = await createPerson(app.url);
    const { code } = (await person.send("POST /v1/pairings", {})).body;
    people.push({ ...person, code });
  }
  const [replaced, deleted, kept] = people;
  const of = (column: string, { token: bearer }: { token: string }) =>
    `where ${column} = '${digest(bearer)}'`;
  await change(
    store,
    `update accounts set token_digest = '${digest(token("new"))}' ${of("token_digest", replaced!)}`,
    `update accounts set deleted_at = 1 ${of("token_digest", deleted!)}`,
  );
  const statuses = [];
  for (const { code } of people) statuses.push((await claim(app.url, { code })).status);
  expect(statuses).toEqual([404, 404, 201]);
  const left = await rows(store, "select account_id from pairings");
  expect(left).toEqual([[kept!.account.id]]);
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
  // The secret that version 0.1.0 knows follows only its own credential.
  const known = async () =>
    (await rows(store, `select secret_digest from keys where id = '${id}'`))[0]![0];
  const first = await known();
  const move = (from: unknown, to: string) =>
    change(store, `update credentials set digest = '${to}' where digest = '${from}'`);
  await move(digest(secret("second")), "moved");
  expect(await known()).toBe(first);
  await move("moved", digest(secret("second")));
  await move(first, "moved");
  expect(await known()).toBe("moved");
  await move("moved", String(first));
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
