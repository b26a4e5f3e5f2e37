/** Encryption at rest: what the files of a store hold, which key opens them, and how the key is changed. */

import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { backupStore } from "../../db/backup/backup.ts";
import { listBackups } from "../../db/backup/list.ts";
import { moveStore } from "../../db/backup/move.ts";
import { originOf } from "../../db/backup/origin.ts";
import { restoreStore } from "../../db/backup/restore.ts";
import { rekey } from "../../db/rekey.ts";
import { sharedSecret } from "../../db/secrets.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { createVault } from "../../db/store/vault.ts";
import { systemClock } from "../../src/clock.ts";
import { createUser } from "../support/cli.ts";
import { client, createPerson, WEBHOOK } from "../support/client.ts";
import { startEveryService } from "../support/every-channel.ts";
import { rejectionOf } from "../support/rejection.ts";
import { startSqld } from "../support/sqld.ts";
import { STORE_KIND } from "../support/store.ts";
import { tempFolder } from "../support/temp.ts";

const embedded = test.if(STORE_KIND === "embedded");
const server = test.if(STORE_KIND === "server");

const [KEY, OTHER] = [randomBytes(32), randomBytes(32)];

/** A new store without tables, and the folder of its files. */
async function newStore() {
  const folder = tempFolder();
  const path = join(folder, "relay.db");
  const url = STORE_KIND === "embedded" ? `file:${path}` : (await startSqld(folder)).url;
  return { folder, path, url };
}

/** Every file below a folder. */
const filesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

const isInFiles = (folder: string, text: string) =>
  filesOf(folder).some((path) => readFileSync(path).includes(text));

const open = (url: string, encryption_key?: Buffer) =>
  openStore({ url, auth_token: undefined, encryption_key }, systemClock);
const change = (url: string, from: Buffer | undefined, to: Buffer | undefined) =>
  rekey({ url, auth_token: undefined, from, to, clock: systemClock, noticed: 0 });

type Store = Awaited<ReturnType<typeof open>>;

/** Every table that may hold an address or a secret, as one text. */
async function valuesOf(store: Store): Promise<string> {
  const read = (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({}));
  const tables = [
    "secrets",
    "channels",
    "delivery_targets",
    "deliveries",
    "channel_links",
    "listeners",
  ];
  return JSON.stringify(await Promise.all(tables.map((one) => read(`select * from ${one}`))));
}

const world = await startEveryService();
const { startOn, stop, works } = world;

test("with a key, every channel works, and no address or secret of one is in the store [§11.4.11]", async () => {
  const { folder, url } = await newStore();
  const app = await startOn(url, KEY);
  const made = await world.reachable(app);
  await works(app, made);
  // Another process, which has nothing but the store.
  await stop(app);
  const second = await startOn(url, KEY);
  await works(second, made);
  const send = client(second.url, made.person.token);
  expect((await send(`GET /v1/channels/links/${made.link.id}`)).body.link).toBe(made.link.link);
  // A browser that is gone is forgotten, by the address as it is stored.
  world.push.behave({ status: 410 });
  await send(`POST /v1/channels/${made.browser.channel.id}/test`);
  world.push.behave("ok");

  const store = await open(url, KEY);
  const secrets = [];
  for (const name of ["signing", "vapid"]) secrets.push(await sharedSecret(store, name, ""));
  expect(JSON.parse(secrets[1]!).privateKey).toHaveLength(43);
  const planted = [...made.planted, ...secrets];
  const values = await valuesOf(store);
  expect(values).toContain("enc1:");
  expect(planted.filter((one) => values.includes(one))).toEqual([]);
  expect(planted.filter((one) => values.includes(JSON.stringify(one).slice(1, -1)))).toEqual([]);
  const targets = sql`select count(*) from delivery_targets where lane = 'web_push'`;
  expect(await store.read(statement(targets, { returns: "rows" })({}))).toEqual([[0]]);
  await store.close();
  await stop(second);
  expect(planted.filter((one) => isInFiles(folder, one))).toEqual([]);
  // A server encrypts no file, which shows that this would be found.
  expect(isInFiles(folder, made.person.account.id)).toBe(STORE_KIND === "server");
}, 300_000);

test("a start with the wrong key, without one, or with one for a plain store is refused and changes nothing [§11.4.11]", async () => {
  const NEEDS = /^DATABASE_URL: the store is encrypted; set DATABASE_ENCRYPTION_KEY to its key/;
  const OTHER_KEY = /the store is encrypted with another key than DATABASE_ENCRYPTION_KEY/;
  const PLAIN = /the store is not encrypted, but DATABASE_ENCRYPTION_KEY is set; run relay rekey/;
  const cases = [
    [KEY, undefined, NEEDS],
    [KEY, OTHER, OTHER_KEY],
    [undefined, KEY, PLAIN],
  ] as const;
  for (const [right, wrong, words] of cases) {
    const { folder, url } = await newStore();
    const app = await startOn(url, right);
    const person = await createPerson(app.url);
    await stop(app);
    const contents = () => filesOf(folder).map((path) => readFileSync(path).toString("base64"));
    const before = contents();
    const { name, message } = (await rejectionOf(startOn(url, wrong))) as Error;
    expect([name, words.test(message)]).toEqual(["ConfigError", true]);
    if (STORE_KIND === "embedded") expect(contents()).toEqual(before);
    const again = await startOn(url, right);
    expect((await client(again.url, person.token)("GET /v1/account")).status).toBe(200);
    await stop(again);
  }
});

embedded(
  "after a crash, a wrong key leaves the log of an encrypted file as it was [§11.4.11]",
  async () => {
    const { path, url } = await newStore();
    const store = await open(url, KEY);
    await sharedSecret(store, "test", "kept");
    const crashed = join(tempFolder(), "relay.db");
    for (const end of ["", "-wal"]) copyFileSync(path + end, crashed + end);
    await store.close();
    const files = () => ["", "-wal"].map((end) => readFileSync(crashed + end).toString("base64"));
    const before = files();
    for (const key of [undefined, OTHER]) {
      expect(((await rejectionOf(open(`file:${crashed}`, key))) as Error).name).toBe(
        "RefusedStore",
      );
      expect(files()).toEqual(before);
    }
    // Its key can be changed, since what the log holds is copied too.
    const changed = join(tempFolder(), "relay.db");
    for (const end of ["", "-wal"]) copyFileSync(crashed + end, changed + end);
    await change(`file:${changed}`, KEY, OTHER);
    const other = await open(`file:${changed}`, OTHER);
    expect(await sharedSecret(other, "test", "another")).toBe("kept");
    await other.close();
    // Two processes recover it at once.
    const both = await Promise.all([0, 1].map(() => open(`file:${crashed}`, KEY)));
    for (const one of both) {
      expect(await sharedSecret(one, "test", "another")).toBe("kept");
      await one.close();
    }
  },
);

test("the key of a store can be set, changed and removed, and its channels work on [§11.4.11]", async () => {
  const { folder, path, url } = await newStore();
  const app = await startOn(url, undefined);
  const made = await world.reachable(app);
  await stop(app);
  let store = await open(url);
  const before = await valuesOf(store);
  expect(made.planted.filter((one) => !before.includes(JSON.stringify(one).slice(1, -1)))).toEqual(
    [],
  );
  await store.close();

  const steps = [
    [undefined, KEY],
    [KEY, OTHER],
    [OTHER, undefined],
  ] as const;
  for (const [from, to] of steps) {
    const { kept } = await change(url, from, to);
    expect(kept).toBe(STORE_KIND === "embedded" ? `${path}.before-rekey` : null);
    if (kept !== null) {
      expect(((await rejectionOf(change(url, to, KEY))) as Error).message).toContain(kept);
      rmSync(kept);
    }
    store = await open(url, to);
    const values = await valuesOf(store);
    await store.close();
    const found = made.planted.filter((one) => values.includes(JSON.stringify(one).slice(1, -1)));
    expect(found).toEqual(to ? [] : [...made.planted]);
    if (to && STORE_KIND === "embedded") {
      expect(made.planted.filter((one) => isInFiles(folder, one))).toEqual([]);
    }
  }
  const again = await startOn(url, undefined);
  await works(again, made);
  await stop(again);
  expect(readdirSync(folder).filter((name) => name.includes("rekey"))).toEqual([]);
}, 300_000);

embedded(
  "the key of a file in use is not changed, and the file stays as it is [§11.4.11]",
  async () => {
    const { path, url } = await newStore();
    const store = await open(url);
    const refusal = (await rejectionOf(change(url, undefined, KEY))) as Error;
    expect([refusal.name, refusal.message]).toEqual([
      "RefusedStore",
      "another process uses the file; stop every Relay first",
    ]);
    await sharedSecret(store, "test", "kept");
    await store.close();
    expect(existsSync(`${path}.rekeyed`)).toBe(false);
    // A wrong old key changes nothing either.
    const { kept } = await change(url, undefined, KEY);
    rmSync(kept!);
    expect(((await rejectionOf(change(url, OTHER, KEY))) as Error).name).toBe("RefusedStore");
    await (await open(url, KEY)).close();
  },
);

embedded("relay rekey takes the keys from files, and names what is wrong with them", async () => {
  const { folder, path, url } = await newStore();
  await (await open(url)).close();
  const [first, second] = [KEY, OTHER].map((key, i) => {
    const file = join(folder, `${i}.key`);
    writeFileSync(file, `${key.toString("hex")}\n`, { mode: 0o600 });
    return file;
  }) as [string, string];
  const user = createUser({ clock: systemClock });
  const run = (key: string | null, ...words: string[]) => {
    const env = { DATABASE_URL: url, ...(key && { DATABASE_ENCRYPTION_KEY_FILE: key }) };
    return user.run(["rekey", ...words], { env });
  };
  // The environment may have the new key already.
  const done = await run(first, "--new-key-file", first);
  expect([done.code, done.err]).toEqual([0, ""]);
  expect(done.out).toContain(`DATABASE_ENCRYPTION_KEY_FILE=${first}`);
  expect(done.out).toContain(`${path}.before-rekey. Delete it`);
  await (await open(url, KEY)).close();

  const refusals = [
    [null, [], "--new-key-file or --remove-key"],
    [first, ["--new-key-file", path], "--new-key-file: must be 32 random bytes"],
    [first, ["--new-key-file", `${first}.none`], "--new-key-file: there is no file"],
    [null, ["--remove-key"], "DATABASE_ENCRYPTION_KEY must be set"],
    [second, ["--remove-key"], ".before-rekey is left from an earlier change"],
  ] as const;
  for (const [key, words, said] of refusals) {
    const { code, out, err } = await run(key, ...words);
    expect([code, out, err.includes(said), err.split("\n").length]).toEqual([3, "", true, 2]);
    for (const one of [KEY, OTHER]) expect(err).not.toContain(one.toString("hex"));
  }
  await (await open(url, KEY)).close();
});

server(
  "a change of the key on a server that was cut off keeps every start out, and is completed by a repetition [§11.4.11]",
  async () => {
    const { url } = await newStore();
    const running = await open(url);
    for (const name of ["signing", "test"]) await sharedSecret(running, name, `the ${name}`);
    const run = (text: string) => running.write([statement(sql.raw(text))({})]);
    // As a change leaves it whose process was killed after one value.
    const value = createVault(KEY).seal("secret signing", "the signing");
    await run("insert into secrets (name, value) values ('rekeying', '1')");
    await run(`update secrets set value = '${value}' where name = 'signing'`);
    for (const key of [undefined, KEY]) {
      const { message } = (await rejectionOf(open(url, key))) as Error;
      expect(message).toBe("a change of its encryption key was cut off; run relay rekey again");
    }
    const { message } = (await rejectionOf(change(url, undefined, OTHER))) as Error;
    expect(message).toMatch(/neither key opens/);
    await change(url, undefined, KEY);
    await running.close();
    const store = await open(url, KEY);
    for (const name of ["signing", "test"]) {
      expect(await sharedSecret(store, name, "")).toBe(`the ${name}`);
    }
    await store.close();
  },
);

test("a backup, a restored and a moved store have the key of the store [§11.4.11]", async () => {
  const { folder, url } = await newStore();
  const app = await startOn(url, KEY);
  const person = await createPerson(app.url);
  await person.send("POST /v1/channels", { ...WEBHOOK, url: "http://127.0.0.1:9/planted" });
  await stop(app);
  const at = (url: string, encryption_key: Buffer | undefined = KEY) => ({
    store: { url, auth_token: undefined, encryption_key },
    clock: systemClock,
  });
  const file = join(tempFolder(), "relay.db");
  const made = [];
  for (let i = 0; i < 3; i++) made.push(await backupStore({ ...at(url), file, keep: 2 }));
  expect(made[2]!.removed).toEqual([made[0]!.file]);
  const newest = made[2]!.file;
  const origin = await originOf(newest, createVault(KEY));
  expect(await listBackups(file, origin!)).toHaveLength(2);
  for (const text of [person.account.id, "/planted", "SQLite format"]) {
    expect(readFileSync(newest).includes(text)).toBe(false);
  }

  const restored = await newStore();
  const old = STORE_KIND === "embedded" ? join(folder, "relay.db") : null;
  const to = { ...at(restored.url), file: newest, as_copy: false, old, run: "a run" };
  await restoreStore(to);
  const moved = await newStore();
  const [from, place] = [at(restored.url).store, at(moved.url).store];
  // The binding keeps the connections of the restoration until their statements are collected.
  Bun.gc(true);
  await moveStore({ from, to: place, run: "another", clock: systemClock });
  for (const one of [restored, moved]) {
    const again = await startOn(one.url, KEY);
    const { body } = await client(again.url, person.token)("GET /v1/channels");
    expect(body.channels).toHaveLength(1);
    await stop(again);
    expect(isInFiles(one.folder, "/planted")).toBe(false);
    expect(isInFiles(one.folder, person.account.id)).toBe(STORE_KIND === "server");
  }
});

test("an encrypted value opens only in its place, with its key, and unchanged", () => {
  const vault = createVault(KEY);
  const sealed = vault.seal("address chn_1", "secret");
  expect(vault.seal("address chn_1", "secret")).not.toBe(sealed);
  expect(vault.open("address chn_1", sealed)).toBe("secret");
  expect(vault.open("address chn_1", "stored as it is")).toBe("stored as it is");
  const wrong = [
    () => vault.open("address chn_2", sealed),
    () => createVault(OTHER).open("address chn_1", sealed),
    () => createVault(undefined).open("address chn_1", sealed),
    ...[0, 5, 20, -1].map(
      (end) => () => vault.open("address chn_1", `enc1:${sealed.slice(5).slice(0, end)}`),
    ),
  ];
  for (const one of wrong) expect(one).toThrow(/address chn_[12]/);
});
