/** The store on a libSQL server: shared round trips, kept streams, and deadlines (db/store/server.ts). */

import { expect, test } from "bun:test";
import { createOutbox } from "../../db/outbox.ts";
import { STREAM_IDLE } from "../../db/store/hrana.ts";
import { SERVER_STORE } from "../../db/store/read-queue.ts";
import { openServer } from "../../db/store/server.ts";
import { p, sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import type { Store } from "../../db/store/store.ts";
import { STORE_SECONDS } from "../../db/store/store.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import { createFeed } from "../../src/events/feed.ts";
import { createLog } from "../../src/log.ts";
import { createTestClock } from "../support/clock.ts";
import { startPipelineProxy } from "../support/pipeline-proxy.ts";
import { startSqld } from "../support/sqld.ts";
import { STORE_KIND } from "../support/store.ts";
import { until } from "../support/until.ts";

const server = test.if(STORE_KIND === "server");

const create = statement(sql`create table probe (id text primary key, body)`);
const createEvents = statement(
  sql`create table events (seq integer primary key autoincrement, account_id text, subject text, name text, data text)`,
);
const put = statement(sql`insert into probe (id, body) values (${p("id")}, ${p("body")})`);
const get = statement(sql`select body from probe where id = ${p("id")}`, { returns: "row" });
const count = statement(sql`select count(*) from probe`, { returns: "row" });
const ids = statement(sql`select id from probe order by id`, { returns: "rows" });
/** Fails when it runs. */
const absent = statement(sql`select id from nowhere`, { returns: "row" });
/** Not even parsed: the server refuses the whole request because of it. */
const garbled = statement(sql`select from where`, { returns: "row" });
const huge = statement(sql`select 9007199254740993`, { returns: "row" });
/** 2 MB; the server answers a request with at most 10 MB. */
const large = statement(sql`select hex(zeroblob(1000000))`, { returns: "rows" });

const UNAVAILABLE = { code: "store_unavailable", status: 503 };

/** How each promise ended: its value or its error. */
const settle = async (work: readonly Promise<unknown>[]): Promise<unknown[]> =>
  (await Promise.allSettled(work)).map((end) =>
    end.status === "fulfilled" ? end.value : end.reason,
  );

/** A store behind a proxy, with the table `probe`. */
async function setUp(clock: Clock = systemClock, auth_token?: string) {
  const sqld = await startSqld();
  const proxy = startPipelineProxy(sqld.url);
  const store = openServer({ url: proxy.url, auth_token }, clock, () => {});
  await store.write([create({})]);
  proxy.requests.length = 0;
  return { sqld, proxy, store };
}

/** How often `work` has settled so far. */
function counter() {
  let settled = 0;
  const watch = <T>(work: Promise<T>): Promise<T> => {
    const done = () => {
      settled++;
    };
    work.then(done, done);
    return work;
  };
  return { watch, settled: () => settled };
}

const putMany = (store: Store, n: number) =>
  store.write(Array.from({ length: n }, (_, i) => put({ id: `${i}`, body: i })));

server("reads of one turn share round trips, of which only a few run at once", async () => {
  const { proxy, store } = await setUp();
  await putMany(store, 1_000);
  proxy.requests.length = 0;
  const rows = await settle(
    Array.from({ length: 1_000 }, (_, i) => store.read(get({ id: `${i}` }))),
  );
  expect(rows).toEqual(Array.from({ length: 1_000 }, (_, i) => [[i]]));
  const sizes = proxy.requests.map(({ steps }) => steps);
  const { reads_per_request: most } = SERVER_STORE;
  expect(sizes).toEqual([...Array(Math.floor(1_000 / most)).fill(most), 1_000 % most]);
  expect(proxy.mostUnderWay()).toBe(SERVER_STORE.read_requests);
  await store.close();
});

server("lists leave room for single rows, and owners take turns with their lists", async () => {
  const { proxy, store } = await setUp();
  await putMany(store, 1);
  proxy.requests.length = 0;
  const lists = Array.from({ length: 24 }, () => store.read({ ...ids({}), list_owner: "greedy" }));
  const modest = store.read({ ...count({}), returns: "rows", list_owner: "modest" });
  const row = store.read(get({ id: "0" }));
  await Promise.all([...lists, modest, row]);
  // The row goes first, then lists on some of the round trips, a few in each.
  const sizes = proxy.requests.map(({ steps }) => steps);
  expect(sizes).toEqual([1, ...Array(6).fill(SERVER_STORE.lists_per_request), 1]);
  expect(proxy.mostUnderWay()).toBe(1 + SERVER_STORE.list_requests);
  // The two requests that are sent at once may arrive in any order.
  const first_lists = proxy.requests.slice(1, 3).flatMap(({ texts }) => texts);
  expect(first_lists.filter((text) => text.includes("count(*)"))).toHaveLength(1);
  await store.close();
});

server("of reads that share a round trip, only the invalid one fails", async () => {
  const { proxy, store } = await setUp();
  await putMany(store, 1);
  proxy.requests.length = 0;
  const read = () => store.read(get({ id: "0" }));
  const ends = await settle([read(), store.read(absent({})), read(), store.read(huge({})), read()]);
  expect(proxy.requests).toHaveLength(1);
  const [failed, too_big] = [ends[1], ends[3]] as Error[];
  expect(ends).toEqual([[[0]], failed, [[0]], too_big, [[0]]]);
  expect(failed).toMatchObject({ code: expect.stringMatching(/^SQL/) });
  expect(too_big).toBeInstanceOf(RangeError);

  // One that the server cannot parse fails its request, and the others are sent again.
  const others = Array.from({ length: 99 }, read);
  const bad = store.read(garbled({}));
  const more = await settle([...others, bad, ...Array.from({ length: 28 }, read)]);
  expect(more.splice(99, 1)[0]).toMatchObject({ code: "SQL_PARSE_ERROR" });
  expect(more).toEqual(Array(127).fill([[0]]));
  await store.close();
});

server("responses that are too large together are requested separately", async () => {
  const { store } = await setUp();
  const ends = await settle(Array.from({ length: 8 }, () => store.read(large({}))));
  expect(ends.map((rows) => (rows as string[][])[0]?.[0]?.length)).toEqual(Array(8).fill(2e6));
  await store.close();
});

server("a stream is kept between requests, and sends the token", async () => {
  const { proxy, store } = await setUp(systemClock, "secret");
  for (let i = 0; i < 3; i++) await putMany(store, 0);
  expect(proxy.requests.map(({ baton }) => baton === null)).toEqual([false, false, false]);
  expect(proxy.requests[0]!.authorization).toBe("Bearer secret");
  await store.close();
});

const REFUSALS: readonly [string, () => Response | string][] = [
  [
    "expired",
    () =>
      Response.json(
        { message: "The stream has expired due to inactivity", code: "STREAM_EXPIRED" },
        { status: 500 },
      ),
  ],
  // The server itself refuses this one.
  ["unknown to the server", () => "AAAA"],
];

for (const [what, refuse] of REFUSALS) {
  server(`a stream that is ${what} is reopened, and no request fails because of it`, async () => {
    const { proxy, store } = await setUp();
    const refused: string[] = [];
    proxy.answer(({ forward, request }) => {
      if (request.baton === null) return forward();
      refused.push(request.baton);
      const refusal = refuse();
      return typeof refusal === "string" ? forward(refusal) : Promise.resolve(refusal);
    });
    for (let i = 0; i < 3; i++) {
      await store.write([put({ id: `${i}`, body: i })]);
      expect(await store.read(count({}))).toEqual([[i + 1]]);
    }
    expect(refused.length).toBeGreaterThanOrEqual(4);
    await store.close();
  });
}

server("a stream that the server is about to expire is not used again", async () => {
  const clock = createTestClock();
  const { proxy, store } = await setUp(clock);
  await store.read(count({}));
  proxy.requests.length = 0;
  await clock.advance(STREAM_IDLE + 0.1);
  await store.read(count({}));
  await putMany(store, 1);
  expect(proxy.requests.map(({ baton }) => baton)).toEqual([null, null]);
  await store.close();
});

server("a write with an unknown outcome is not sent again, and is 503", async () => {
  const { proxy, store } = await setUp();
  const lost = [
    () => new Response("gone", { status: 502 }),
    // The write itself has used it.
    () => new Response("Received a baton that has already been used", { status: 400 }),
  ];
  for (const [i, answer] of lost.entries()) {
    // Leaves the stream open, for the write to resume.
    await putMany(store, 0);
    proxy.answer(async ({ forward }) => {
      await forward();
      return answer();
    });
    proxy.requests.length = 0;
    const [end] = await settle([store.write([put({ id: `${i}`, body: i })])]);
    expect(end).toMatchObject(UNAVAILABLE);
    expect(proxy.requests).toHaveLength(1);
    proxy.answer(({ forward }) => forward());
    expect(await store.read(count({}))).toEqual([[i + 1]]);
  }
  await store.close();
});

server("a read that met a broken connection is sent again once", async () => {
  const { proxy, store } = await setUp();
  await store.read(count({}));
  let faults = 1;
  proxy.answer(({ forward }) =>
    faults-- > 0 ? Promise.resolve(new Response("", { status: 502 })) : forward(),
  );
  expect(await store.read(count({}))).toEqual([[0]]);
  faults = 2;
  expect(await settle([store.read(count({}))])).toMatchObject([UNAVAILABLE]);
  await store.close();
});

server(
  "each read on a hanging server is given up by itself, and reads work again once it is thawed",
  async () => {
    const clock = createTestClock();
    const { sqld, proxy, store } = await setUp(clock);
    // The hung reads fill every round trip, and the others wait behind them.
    const { watch, settled } = counter();
    sqld.freeze();
    const many = (n: number) => Array.from({ length: n }, () => watch(store.read(ids({}))));
    const hung = SERVER_STORE.read_requests * SERVER_STORE.reads_per_request;
    const early = settle(many(hung + 200));
    await until(() => proxy.requests.length === SERVER_STORE.read_requests);
    await clock.advance(2);
    const late = settle(many(5));
    const hasty = settle([watch(store.read(count({}), { within: 1 }))]);
    await clock.advance(1.2);
    expect(settled()).toBe(1);
    expect(await hasty).toMatchObject([UNAVAILABLE]);
    await clock.advance(1);
    expect(await early).toMatchObject(Array(hung + 200).fill(UNAVAILABLE));
    // Nobody waits for the reads that were under way, and the connections are free again.
    await until(() => proxy.givenUp() === SERVER_STORE.read_requests);
    expect(settled()).toBe(hung + 201);

    sqld.thaw();
    expect(await late).toEqual(Array(5).fill([]));
    await putMany(store, 1);
    expect(await store.read(count({}))).toEqual([[1]]);
    await store.close();
  },
);

server(
  "a write to a hanging server is given up, and the next one works once it is thawed",
  async () => {
    const clock = createTestClock();
    const { sqld, proxy, store } = await setUp(clock);
    sqld.freeze();
    const hung = settle([store.write([put({ id: "lost", body: 0 })])]);
    await until(() => proxy.requests.length === 1);
    await clock.advance(STORE_SECONDS + 0.1);
    expect(await hung).toMatchObject([UNAVAILABLE]);
    sqld.thaw();
    // The server may still be busy with the first write: time has to pass before another try.
    const { watch, settled } = counter();
    const next = watch(store.write([put({ id: "next", body: 0 })]));
    await until(async () => {
      await clock.advance(0.002);
      return settled();
    });
    await next;
    expect(await store.read(get({ id: "next" }))).toEqual([[0]]);
    await store.close();
  },
);

server("a stall of the process itself refuses no read or write once", async () => {
  const clock = createTestClock();
  const { sqld, proxy, store } = await setUp(clock);
  for (const stalls of [1, 2]) {
    sqld.freeze();
    proxy.requests.length = 0;
    const row = put({ id: `${stalls}`, body: 0 });
    const ends = settle([store.write([row]), store.read(count({}))]);
    await until(() => proxy.requests.length === 2);
    // The timers fire before the server's responses are read.
    for (let i = 0; i < stalls; i++) await clock.skip(STORE_SECONDS + 1);
    sqld.thaw();
    const refused = [UNAVAILABLE, UNAVAILABLE];
    // The read sees the write, or does not see it yet.
    const done = [[{ changes: 1 }], [[expect.any(Number)]]];
    expect(await ends).toMatchObject(stalls === 1 ? done : refused);
  }
  await store.close();
});

server("reads beyond the bound of the queue are refused at once", async () => {
  const clock = createTestClock();
  const { sqld, proxy, store } = await setUp(clock);
  sqld.freeze();
  const { watch, settled } = counter();
  const under_way = SERVER_STORE.read_requests * SERVER_STORE.reads_per_request;
  const read = () => watch(store.read(count({})));
  const ends = [...Array(under_way)].map(read);
  await until(() => proxy.requests.length === SERVER_STORE.read_requests);
  ends.push(...[...Array(SERVER_STORE.reads_queued)].map(read));
  await clock.advance(0);
  expect(settled()).toBe(0);
  expect(await settle([read()])).toMatchObject([UNAVAILABLE]);
  expect(settled()).toBe(1);
  sqld.thaw();
  expect(new Set((await settle(ends)).map((rows) => JSON.stringify(rows)))).toEqual(
    new Set(["[[0]]"]),
  );
  await store.close();
});

server("close does not wait for a server that hangs longer than a commit may take", async () => {
  const clock = createTestClock();
  const { sqld, proxy, store } = await setUp(clock);
  sqld.freeze();
  const hung = settle([store.write([put({ id: "lost", body: 0 })]), store.read(count({}))]);
  await until(() => proxy.requests.length === 2);
  const closed = store.close();
  await clock.advance(STORE_SECONDS + 0.1);
  await closed;
  expect(await hung).toMatchObject([UNAVAILABLE, UNAVAILABLE]);
  sqld.thaw();
});

server(
  "a hanging server counts as lost within 6 s, also for callers that wait for the check",
  async () => {
    const clock = createTestClock();
    const { sqld, proxy, store } = await setUp(clock);
    await store.write([createEvents({})]);
    const warnings: string[] = [];
    const log = createLog("warn", (line) => warnings.push(line));
    const source = { ...createOutbox(store), pollEvery: () => 0.25 };
    const feed = createFeed({ source, clock, log });
    await feed.start();
    feed.onAccount("acc_1", () => {});
    sqld.freeze();
    proxy.requests.length = 0;
    const hung = clock.advance(0.3);
    await until(() => proxy.requests.length === 1);
    await hung;
    const { watch, settled } = counter();
    const joined = settle([watch(feed.caughtUp())]);
    await clock.advance(4.5);
    expect([feed.isLost(), settled()]).toEqual([true, 1]);
    expect(await joined).toMatchObject([UNAVAILABLE]);
    // The store logs its own outages.
    expect(warnings).toEqual([]);

    sqld.thaw();
    await until(async () => {
      await clock.advance(0.3);
      return !feed.isLost();
    });
    feed.stop();
    await store.close();
  },
);

server("a server killed and restarted under load loses nothing that was acknowledged", async () => {
  const sqld = await startSqld();
  const store = openServer({ url: sqld.url, auth_token: undefined }, systemClock, () => {});
  await store.write([create({})]);
  const acknowledged: string[] = [];
  let next = 0;
  let ended = false;
  const work = async () => {
    while (!ended) {
      const id = `${next++}`.padStart(8, "0");
      const [end] = await settle([store.write([put({ id, body: 0 })])]);
      if (Array.isArray(end)) acknowledged.push(id);
      else expect(end).toMatchObject(UNAVAILABLE);
      const [read] = await settle([store.read(get({ id }))]);
      if (Array.isArray(read)) expect(read).toHaveLength(Array.isArray(end) ? 1 : read.length);
      else expect(read).toMatchObject(UNAVAILABLE);
    }
  };
  const workers = Array.from({ length: 20 }, work);
  for (let round = 0; round < 4; round++) {
    const enough = acknowledged.length + 100;
    await until(() => acknowledged.length >= enough);
    await sqld.kill();
    await sqld.restart();
  }
  const enough = acknowledged.length + 100;
  await until(() => acknowledged.length >= enough);
  ended = true;
  await Promise.all(workers);
  const stored = new Set((await store.read(ids({}))).map(([id]) => id));
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  await store.close();
});
