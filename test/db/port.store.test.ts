/** The contract of the store port, for a file and for a libSQL server alike (db/store/store.ts). */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { events } from "../../db/schema.ts";
import { openStore } from "../../db/store/open.ts";
import { p, sql } from "../../db/store/sql.ts";
import { insertWhere, qb, select, statement } from "../../db/store/statement.ts";
import type { Statement, Store } from "../../db/store/store.ts";
import { systemClock } from "../../src/clock.ts";
import { createEmptyStore, STORE_KIND } from "../support/store.ts";

const { url } = await createEmptyStore();
const open = () => openStore({ url, auth_token: undefined }, systemClock);

const put = statement(sql`insert into probe (id, body) values (${p("id")}, ${p("body")})`);
const putReturning = statement(
  sql`insert into probe (id, body) values (${p("id")}, ${p("body")}) returning id, body`,
  { returns: "rows" },
);
const putUnlessThere = statement(
  sql`insert into probe (id, body) select ${p("id")}, ${p("body")} where not exists (select 1 from probe where id = ${p("id")})`,
);
const rewrite = statement(
  sql`update probe set body = ${p("body")} where id like ${p("like")} and body is not ${p("body")}`,
);
const get = statement(sql`select body from probe where id = ${p("id")}`, {
  returns: "rows",
});
const ids = statement(sql`select id from probe where id like ${p("like")} order by nr`, {
  returns: "rows",
});
const numbers = statement(sql`select nr from probe where id like ${p("like")} order by nr`, {
  returns: "rows",
});

let store: Store;
/** The store as another process sees it: only what is committed. */
let other: Store;

beforeAll(async () => {
  store = await open();
  other = await open();
  // `body` has no type, so it keeps any value as given.
  await store.write([
    statement(
      sql`create table probe (nr integer primary key autoincrement, id text not null unique, body)`,
    )({}),
  ]);
});

afterAll(async () => {
  await store.close();
  await other.close();
});

const idsLike = async (like: string): Promise<unknown[]> =>
  (await other.read(ids({ like }))).map(([id]) => id);

/** How a promise ended: its error, or null. */
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

/** A statement with arguments that its type forbids, as a bug of ours would send them. */
const withArgs = (args: readonly unknown[]): Statement => ({
  ...put({ id: "", body: "" }),
  args: args as Statement["args"],
});

test("a batch is all or nothing, and an invalid statement is not a 503", async () => {
  await store.write([put({ id: "whole/taken", body: 0 })]);
  const error = await errorOf(
    store.write([
      put({ id: "whole/before", body: 1 }),
      put({ id: "whole/taken", body: 2 }),
      put({ id: "whole/after", body: 3 }),
    ]),
  );
  expect(error).toBeInstanceOf(Error);
  expect(error).not.toMatchObject({ code: "store_unavailable" });
  expect(await idsLike("whole/%")).toEqual(["whole/taken"]);
  expect((await other.read(get({ id: "whole/taken" })))[0]?.[0]).toBe(0);
});

test("a batch is committed, and visible to every process, once its promise resolves [§11.1.1]", async () => {
  for (let i = 0; i < 20; i++) {
    await store.write([put({ id: `seen/${i}`, body: i })]);
    expect(await other.read(get({ id: `seen/${i}` }))).toHaveLength(1);
  }
});

test("of many concurrent batches, only the invalid ones fail", async () => {
  await store.write([put({ id: "alone/taken", body: "" })]);
  const bad = new Set([0, 17, 50, 51, 99]);
  const results = await Promise.allSettled(
    Array.from({ length: 100 }, (_, i) =>
      store.write([
        put({ id: `alone/${i}/a`, body: i }),
        put({ id: bad.has(i) ? "alone/taken" : `alone/${i}/b`, body: i }),
      ]),
    ),
  );
  const expected = ["alone/taken"];
  results.forEach((result, i) => {
    expect(result.status).toBe(bad.has(i) ? "rejected" : "fulfilled");
    if (!bad.has(i)) expected.push(`alone/${i}/a`, `alone/${i}/b`);
  });
  expect(await idsLike("alone/%")).toEqual(expected);
});

test("a statement runs if its query returns a row, and a file skips it otherwise", async () => {
  const putIf = statement(sql`insert into probe (id, body) values (${p("id")}, ${p("body")})`, {
    only_if: ({ body }) => get({ id: body }),
  });
  // The query sees what the batch has done so far.
  const results = await store.write([
    putIf({ id: "only-if-none", body: "only-if-first" }),
    put({ id: "only-if-first", body: "" }),
    putIf({ id: "only-if-some", body: "only-if-first" }),
  ]);
  const left_out = STORE_KIND === "embedded";
  const changes = results.map((result) => result.changes);
  expect(changes).toEqual([left_out ? 0 : 1, 1, 1]);
  const rest = ["only-if-first", "only-if-some"];
  expect(await idsLike("only-if-%")).toEqual(left_out ? rest : ["only-if-none", ...rest]);
});

test("each of many concurrent batches gets its own results", async () => {
  const results = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      store.write(
        Array.from({ length: 1 + (i % 3) }, (_, j) =>
          putReturning({ id: `own/${i}/${j}`, body: i * 10 + j }),
        ),
      ),
    ),
  );
  results.forEach((result, i) => {
    expect(result.map(({ rows }) => rows)).toEqual(
      Array.from({ length: 1 + (i % 3) }, (_, j) => [[`own/${i}/${j}`, i * 10 + j]]),
    );
  });
});

test("the store counts batches that shared a commit, failed and wait", async () => {
  await store.write([put({ id: "told/taken", body: "" })]);
  /** Commits and batches so far, and the failed batches. */
  const told = () => {
    const { durations, groups, failed } = store.stats();
    const commits = groups.counts.reduce((sum, count) => sum + count, 0);
    expect(durations.counts.reduce((sum, count) => sum + count, 0)).toBe(commits);
    return { commits, batches: groups.sum(), failed };
  };
  const before = told();
  const good = Array.from({ length: 10 }, (_, i) =>
    store.write([put({ id: `told/${i}`, body: i }), put({ id: `told/${i}/b`, body: i })]),
  );
  expect(store.stats().queued).toBe(10);
  await Promise.all(good);
  const { commits, batches, failed } = before;
  expect(told()).toEqual({ commits: commits + 1, batches: batches + 10, failed });
  expect(store.stats().queued).toBe(0);
  // An invalid batch splits its group, whose batches then commit one by one.
  const mixed = ["told/x", "told/taken", "told/y"].map((id) => store.write([put({ id, body: 0 })]));
  await Promise.allSettled(mixed);
  expect(told()).toEqual({ commits: commits + 3, batches: batches + 12, failed: failed + 1 });
  expect(store.walBytes() === null).toBe(STORE_KIND === "server");
});

test("batches of a process commit in the order of their calls", async () => {
  await store.write([put({ id: "order/taken", body: "" })]);
  const names = Array.from({ length: 700 }, (_, i) => `order/${i}`);
  const settled: number[] = [];
  const writes = names.map((id, i) =>
    // Some fail, so that their groups commit batch by batch; some come in later turns of the loop.
    store.write([put({ id: i % 100 === 60 ? "order/taken" : id, body: i })]).then(
      () => settled.push(i),
      () => {},
    ),
  );
  await Promise.resolve();
  const late = Array.from({ length: 20 }, (_, i) => `order/late/${i}`);
  for (const id of late)
    writes.push(store.write([put({ id, body: "" })]).then(() => settled.push(0)));
  await Promise.all(writes);
  const good = names.filter((_, i) => i % 100 !== 60);
  expect(await idsLike("order/%")).toEqual(["order/taken", ...good, ...late]);
  // Callers learn of their commits in that order too: the events of a process are delivered by it.
  const heard = settled.slice(0, good.length);
  expect(heard).toEqual(heard.toSorted((a, b) => a - b));
});

test("a statement gives the rows that it returns, or else the number of its changes", async () => {
  const results = await store.write([
    put({ id: "result/1", body: 1 }),
    putReturning({ id: "result/2", body: null }),
    rewrite({ like: "result/%", body: "x" }),
    rewrite({ like: "result/%", body: "x" }),
  ]);
  expect(results.map(({ rows }) => rows)).toEqual([[], [["result/2", null]], [], []]);
  expect([0, 2, 3].map((i) => results[i]!.changes)).toEqual([1, 2, 0]);
});

test("an insert gives the number of its row or no change, also among many concurrent batches", async () => {
  const [taken, ...others] = await Promise.all([
    store.write([put({ id: "row/0", body: "" }), putUnlessThere({ id: "row/0", body: "" })]),
    ...[1, 2, 3].map((i) => store.write([putUnlessThere({ id: `row/${i}`, body: i })])),
  ]);
  expect(taken!.map(({ changes }) => changes)).toEqual([1, 0]);
  const given = [taken!, ...others].map((results) => results[0]!.row_id);
  const stored = await other.read(numbers({ like: "row/%" }));
  expect(stored).toEqual(given.map((nr) => [nr]));
});

test("a read that finds nothing gives no row", async () => {
  expect(await store.read(get({ id: "nowhere" }))).toEqual([]);
});

test("an invalid query is not a 503", async () => {
  const error = await errorOf(
    store.read(statement(sql`select nothing from nowhere`, { returns: "rows" })({})),
  );
  expect(error).toBeInstanceOf(Error);
  expect(error).not.toMatchObject({ code: "store_unavailable" });
});

const IMPOSSIBLE: readonly [string, unknown][] = [
  ["true", true],
  ["false", false],
  ["undefined", undefined],
  ["NaN", Number.NaN],
  ["an infinity", Number.NEGATIVE_INFINITY],
  ["text with NUL", "a\0b"],
  ["a lone high surrogate", "a\ud83d"],
  ["a lone low surrogate", "\ude00b"],
  ["a big integer", 1n],
  ["an object", {}],
  ["a date", new Date(0)],
];

test.each(IMPOSSIBLE)(
  "%s is refused as a parameter, and nothing is written",
  async (name, value) => {
    const [bad, neighbour, read] = await Promise.all([
      errorOf(
        store.write([
          put({ id: `guard/${name}/before`, body: "" }),
          withArgs([`guard/${name}`, value]),
        ]),
      ),
      errorOf(store.write([put({ id: `guard/${name}/neighbour`, body: "" })])),
      errorOf(store.read({ ...get({ id: "" }), args: [value] as Statement["args"] })),
    ]);
    expect(bad).toBeInstanceOf(TypeError);
    expect(read).toBeInstanceOf(TypeError);
    // The message goes to the log, which must not hold content.
    if (typeof value === "string") expect((bad as Error).message).not.toContain(value);
    expect(neighbour).toBeNull();
    expect(await idsLike(`guard/${name}%`)).toEqual([`guard/${name}/neighbour`]);
  },
);

test("too few or too many parameters never use those of an earlier call", async () => {
  await store.write([put({ id: "count/full", body: "of another" })]);
  expect(await errorOf(store.write([withArgs(["count/few"])]))).toBeInstanceOf(Error);
  expect(await errorOf(store.write([withArgs(["count/many", "", ""])]))).toBeInstanceOf(Error);
  // @ts-expect-error: the compiler finds it too.
  expect(() => put({ id: "count/unnamed" })).toThrow();
  expect(await idsLike("count/%")).toEqual(["count/full"]);
});

const VALUES: readonly [string, string | number | null][] = [
  ["null", null],
  ["empty text", ""],
  ["text that looks like a number", "007"],
  ["quotes and line breaks", 'it\'s "so" `then` \\ \r\n\t ; -- ?1 :a'],
  ["emoji", "👩🏽‍🚀🇨🇭 e\u0301 \u{10ffff} \uffff \ufeff"],
  ["right-to-left text", "שלום \u202e عالم"],
  ["long text", "ä😀".repeat(50_000)],
  ["zero", 0],
  ["a negative integer", -1],
  ["a number beyond 32 bits", 2 ** 32 + 1],
  ["a timestamp in ms", 1_763_719_953_123],
  ["the largest exact integer", Number.MAX_SAFE_INTEGER],
  ["the smallest exact integer", Number.MIN_SAFE_INTEGER],
  ["a fraction", 0.1 + 0.2],
  ["a tiny number", 5e-324],
  ["a negative fraction", -1763719953.123],
];

test.each(VALUES)("%s is read exactly as it was written", async (name, body) => {
  const [result] = await store.write([putReturning({ id: `value/${name}`, body })]);
  expect(result!.rows).toEqual([[`value/${name}`, body]]);
  for (const reader of [store, other]) {
    expect((await reader.read(get({ id: `value/${name}` })))[0]?.[0]).toBe(body);
  }
});

test("timestamps are exact to the millisecond", async () => {
  const insert = statement(insertWhere(events, sql`true`));
  const stamps = select(
    qb.select({ at: events.created_at }).from(events),
    sql`where account_id = ${p("account_id")} order by seq`,
  );
  const stored = statement(
    sql`select created_at, typeof(created_at) from events where account_id = ${p("account_id")} order by seq`,
    { returns: "rows" },
  );
  const account_id = "acc_stamps";
  // Every fraction of a second, on both sides of 2^31.
  const ms = Array.from({ length: 2_000 }, (_, i) =>
    i < 1_000 ? 1_763_719_953_000 + i : 2_147_483_648_000 + i,
  );
  await store.write(
    ms.map((at) =>
      insert({ account_id, subject: "", name: "key.created", data: "", created_at: at / 1000 }),
    ),
  );
  expect((await other.read(stamps({ account_id }))).map(({ at }) => at)).toEqual(
    ms.map((at) => at / 1000),
  );
  expect(await other.read(stored({ account_id }))).toEqual(ms.map((at) => [at, "integer"]));
});

test("close finishes the batches under way and refuses later calls", async () => {
  const closing = await open();
  const under_way = Array.from({ length: 300 }, (_, i) =>
    closing.write([put({ id: `close/${i}`, body: i })]),
  );
  const closed = closing.close();
  const refused = { code: "store_unavailable", status: 503 };
  expect(await errorOf(closing.write([put({ id: "close/late", body: "" })]))).toMatchObject(
    refused,
  );
  await Promise.all([closed, ...under_way]);
  expect(await idsLike("close/%")).toEqual(under_way.map((_, i) => `close/${i}`));
  expect(await errorOf(closing.read(get({ id: "close/0" })))).toMatchObject(refused);
  expect(await errorOf(closing.write([put({ id: "close/later", body: "" })]))).toMatchObject(
    refused,
  );
  expect(await idsLike("close/late%")).toEqual([]);
});
