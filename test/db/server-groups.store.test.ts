/** What a libSQL server runs for a group of batches (db/store/write-group.ts). */

import { expect, test } from "bun:test";
import { openServer } from "../../db/store/server.ts";
import { p, sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startPipelineProxy } from "../support/pipeline-proxy.ts";
import { startSqld } from "../support/sqld.ts";
import { STORE_KIND } from "../support/store.ts";

const server = test.if(STORE_KIND === "server");

const create = statement(sql`create table probe (id text primary key, body)`);
const createEvents = statement(
  sql`create table events (seq integer primary key autoincrement, account_id text, subject text)`,
);
const put = statement(sql`insert into probe (id, body) values (${p("id")}, ${p("body")})`);
const get = statement(sql`select body from probe where id = ${p("id")}`, { returns: "row" });
const ids = statement(sql`select id from probe order by id`, { returns: "rows" });
const putIf = statement(sql`insert into probe (id, body) values (${p("id")}, ${p("body")})`, {
  only_if: ({ body }) => get({ id: body }),
});

/** A store behind a proxy, with its tables. */
async function setUp() {
  const sqld = await startSqld();
  const proxy = startPipelineProxy(sqld.url);
  const store = openServer({ url: proxy.url, auth_token: undefined }, systemClock, () => {});
  await store.write([create({}), createEvents({})]);
  proxy.requests.length = 0;
  return { proxy, store };
}

server(
  "a statement whose query returns no row is not sent until the query returns one",
  async () => {
    const { proxy, store } = await setUp();
    const inserts = () => {
      const texts = proxy.requests.splice(0).map((request) => request.texts);
      return texts.map((sent) => sent.filter((text) => text.startsWith("insert")).length);
    };
    const write = (id: string) => store.write([putIf({ id, body: "on" })]);
    const skipped = await Promise.all(["a", "b", "c"].map(write));
    expect(skipped.flat().map(({ changes }) => changes)).toEqual([0, 0, 0]);
    expect(inserts().every((sent) => sent === 0)).toBe(true);

    await store.write([put({ id: "on", body: "" })]);
    proxy.requests.length = 0;
    const done = await Promise.all([write("d"), store.write([put({ id: "e", body: "" })])]);
    expect(done.flat().map(({ changes }) => changes)).toEqual([1, 1]);
    // The check undid the whole group, which ran again after the query was read.
    expect(inserts()).toEqual([1, 0, 2]);
    await write("f");
    expect(inserts()).toEqual([1]);
    expect((await store.read(ids({}))).flat()).toEqual(["d", "e", "f", "on"]);
    await store.close();
  },
);

server("a statement runs if its query returns a row only inside the batch", async () => {
  const { store } = await setUp();
  const batch = [put({ id: "on", body: "" }), putIf({ id: "a", body: "on" })];
  expect((await store.write(batch)).map(({ changes }) => changes)).toEqual([1, 1]);
  await store.close();
});

server(
  "equal inserts of independent batches become one statement, with a result each",
  async () => {
    const { proxy, store } = await setUp();
    await store.write([put({ id: "taken", body: "another" })]);
    proxy.requests.length = 0;
    const putNew = statement(
      sql`insert into probe (id, body) select ${p("id")}, 'own' where not exists (select 1 from probe where id = ${p("id")})`,
    );
    const tell = statement(
      sql`insert into events (account_id, subject) select ${p("account_id")}, ${p("subject")} where exists (select 1 from probe where id = ${p("subject")} and body = 'own')`,
      { many: { row_id: "seq", key: "subject" } },
    );
    const batch = (id: string) => [putNew({ id }), tell({ account_id: "acc_1", subject: id })];
    const add = (id: string) => store.write(batch(id), { is_independent: true });
    const results = await Promise.all([
      ...["a", "taken", "b"].map(add),
      store.write(batch("c")),
      ...["d", "e"].map(add),
    ]);
    expect(results.map(([, told]) => [told!.changes, told!.row_id])).toEqual([
      [1, 1],
      [0, 0],
      [1, 2],
      [1, 3],
      [1, 4],
      [1, 5],
    ]);
    // A batch that is not independent keeps its place between the others.
    const texts = proxy.requests.flatMap((request) => request.texts);
    const told = texts.filter((text) => text.startsWith("insert into events"));
    expect(told.map((text) => text.includes("json_each"))).toEqual([true, false, true]);
    await store.close();
  },
);
