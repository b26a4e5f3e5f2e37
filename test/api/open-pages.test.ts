/** Which accounts have an open page in any process, and the questions that were sent to one. */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { fail } from "../../src/errors.ts";
import { createIds } from "../../src/ids.ts";
import { LIMITS } from "../../src/limits.ts";
import { createLog } from "../../src/log.ts";
import { createOpenPages, OPEN_PAGES } from "../../src/services/open-pages.ts";
import { startTestApp } from "../support/app.ts";
import { ask, client, createPair, type Person, type Send } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { type EventStream, openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const { url: database_url } = await createTestStore();
const clock = createTestClock();
const app = await startTestApp({ clock, database_url });
const peer = await startTestApp({ clock, database_url });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);

const rows = (text: string) =>
  store.read(statement(sql.raw(text), { returns: "rows" })({})) as Promise<unknown[][]>;
const rowsOf = async ({ account }: Person) =>
  (await rows(`select count(*) from open_pages where account_id = '${account.id}'`))[0]![0];
const settle = () => Promise.all([app.openPages.settled(), peer.openPages.settled()]);
/** Moves time in steps of at most 5 seconds, each of which fires every timer once. */
async function advance(seconds: number) {
  for (let left = seconds; left > 0; left -= 5) {
    await clock.skip(Math.min(5, left));
    await settle();
    await Promise.all([app.jobs.settled(), peer.jobs.settled()]);
  }
}

const read = async (send: Send, id: string) =>
  (await send(`GET /v1/questions/${id}/deliveries`)).body;
async function isReachable(agent: { readonly send: Send }) {
  const { id } = await ask(agent.send, { prompt: "?", expires_in: 60 });
  const { reach } = await read(agent.send, id);
  await agent.send(`DELETE /v1/questions/${id}`);
  return reach.reachable;
}

/** Closes streams and waits until the server notices. */
async function close(streams: readonly EventStream[], of = app) {
  const before = of.streams.count();
  for (const stream of streams) stream.close();
  await until(() => of.streams.count() === before - streams.length);
}

test("a question sent to open pages has one delivery for all of them [§2.11]", async () => {
  const { person, agent } = await createPair(app.url);
  const streams = [];
  for (const url of [app.url, app.url, peer.url]) streams.push(await openStream(url, person.token));
  await advance(1);
  const asked_at = clock.now();
  const { id } = await ask(agent.send);
  // The other process looks for events by the clock.
  await clock.advance(0.1);
  for (const stream of streams) await stream.names(1);
  await advance(1);
  const { deliveries, reach } = await read(person.send, id);
  const at = { queued_at: asked_at, sent_at: asked_at, shown_at: null, opened_at: null };
  expect(deliveries).toEqual([
    {
      id: expect.stringMatching(/^dlv_[0-9a-f]{32}$/),
      target: { type: "page", id: "page", label: "Open page" },
      status: "sent",
      reason: null,
      ...at,
    },
  ]);
  const none = { reachable: true, typical_answer_seconds: null };
  expect(reach).toEqual({ state: "sent", at: asked_at, ...none });
  await close(streams.slice(0, 2));
  await close(streams.slice(2), peer);

  await advance(OPEN_PAGES.linger + 1);
  const later = await ask(agent.send);
  await advance(1);
  const nobody = await read(person.send, later.id);
  expect(nobody).toEqual({
    deliveries: [],
    reach: { state: "none", at: null, reachable: false, typical_answer_seconds: null },
  });
});

test("an account is reachable while any process has a page open, and for some seconds longer", async () => {
  const { person, agent } = await createPair(app.url);
  const there = { send: client(peer.url, agent.secret) };
  expect(await isReachable(agent)).toBe(false);
  const stream = await openStream(app.url, person.token);
  await advance(0.1);
  expect([await isReachable(agent), await isReachable(there)]).toEqual([true, true]);
  // The lease is renewed for as long as the page is open.
  await advance(300);
  expect(await isReachable(there)).toBe(true);
  await close([stream]);
  await advance(OPEN_PAGES.linger - 1);
  expect(await isReachable(there)).toBe(true);
  // A page that reloads was never away.
  const again = await openStream(app.url, person.token);
  await advance(3);
  expect([await isReachable(there), await rowsOf(person)]).toEqual([true, 1]);
  await close([again]);
  await advance(OPEN_PAGES.linger + 1);
  expect([await isReachable(agent), await isReachable(there)]).toEqual([false, false]);
  expect(await rowsOf(person)).toBe(0);
});

test("50 open pages of an account are one row, which is deleted with the last page", async () => {
  const { person, agent } = await createPair(app.url);
  const streams: EventStream[] = [];
  for (let i = 0; i < 50; i++) streams.push(await openStream(app.url, person.token));
  await advance(1);
  expect(await rowsOf(person)).toBe(1);
  await close(streams.slice(-LIMITS.streams, -1));
  await advance(OPEN_PAGES.linger + 1);
  expect([await rowsOf(person), await isReachable(agent)]).toEqual([1, true]);
  await close(streams.slice(-1));
  await advance(OPEN_PAGES.linger + 1);
  expect([await rowsOf(person), await isReachable(agent)]).toEqual([0, false]);
});

/** Runs only the open pages of a process. */
function pagesOf(own = clock, faults: { write?: typeof store.write } = {}) {
  return createOpenPages({
    store: { write: store.write, ...faults },
    clock: { ...own, now: clock.now },
    ids: createIds(own),
    log: createLog("error", () => {}),
  });
}

test("open pages of a process that died count for 30 seconds, then their rows are deleted [§5.7.9]", async () => {
  const { person, agent } = await createPair(app.url);
  const dying = createTestClock();
  const pages = pagesOf(dying);
  pages.opened(person.account.id);
  await dying.advance(0.1);
  await pages.settled();
  expect(await isReachable(agent)).toBe(true);
  // The clock of this process stands still, so it renews nothing.
  await advance(OPEN_PAGES.lease - 1);
  expect(await isReachable(agent)).toBe(true);
  await advance(2);
  expect([await isReachable(agent), await rowsOf(person)]).toEqual([false, 1]);
  await advance(60);
  expect(await rowsOf(person)).toBe(0);

  // The process was alive after all: it finds its lease gone and writes its pages anew.
  await dying.advance(OPEN_PAGES.renew_every + 0.1);
  await pages.settled();
  expect([await isReachable(agent), await rowsOf(person)]).toEqual([true, 1]);
  await pages.stop();
  expect([await isReachable(agent), await rowsOf(person)]).toEqual([false, 0]);
});

test("a process whose wall clock is an hour off keeps its pages reachable while they are open", async () => {
  const { person, agent } = await createPair(app.url);
  for (const shift of [3_600, -3_600]) {
    const wrong = createTestClock();
    wrong.shiftWall(shift);
    const pages = pagesOf(wrong);
    pages.opened(person.account.id);
    await wrong.advance(0.1);
    await pages.settled();
    expect(await isReachable(agent)).toBe(true);
    await advance(OPEN_PAGES.lease + 1);
    expect(await isReachable(agent)).toBe(false);
    await wrong.advance(OPEN_PAGES.renew_every + 0.1);
    await pages.settled();
    expect(await isReachable(agent)).toBe(true);
    await pages.stop();
  }
});

test("failed writes of open pages are repeated, and lose neither a page nor its deliveries", async () => {
  const { person, agent } = await createPair(app.url);
  let away = true;
  const own = createTestClock();
  const pages = pagesOf(own, {
    write: (statements) => (away ? fail("store_unavailable") : store.write(statements)),
  });
  const { id } = await ask(agent.send);
  pages.opened(person.account.id);
  pages.wrote(id);
  for (let i = 0; i < 3; i++) {
    await own.advance(1);
    await pages.settled();
  }
  expect(await rowsOf(person)).toBe(0);
  away = false;
  await own.advance(OPEN_PAGES.retry_every);
  await pages.settled();
  await own.advance(OPEN_PAGES.retry_every);
  await pages.settled();
  expect(await rowsOf(person)).toBe(1);
  expect((await read(person.send, id)).deliveries).toMatchObject([{ status: "sent" }]);
  away = true;
  pages.closed(person.account.id);
  await own.advance(OPEN_PAGES.linger + 3);
  await pages.settled();
  away = false;
  await own.advance(2);
  await pages.settled();
  expect(await rowsOf(person)).toBe(0);
  await pages.stop();
});

test("stopping a process ends its lease, and deleting an account removes its open pages", async () => {
  const third = await startTestApp({ clock, database_url });
  const { person, agent } = await createPair(app.url);
  await openStream(third.url, person.token);
  await clock.advance(0.1);
  await third.openPages.settled();
  expect(await isReachable(agent)).toBe(true);
  await third.stop();
  expect([await isReachable(agent), await rowsOf(person)]).toEqual([false, 0]);

  const pages = pagesOf();
  pages.opened(person.account.id);
  await clock.advance(0.1);
  await pages.settled();
  expect(await rowsOf(person)).toBe(1);
  await person.send("DELETE /v1/account");
  await advance(30);
  expect(await rowsOf(person)).toBe(0);
  pages.opened("acc_gone");
  await clock.advance(0.1);
  await pages.settled();
  expect(await rows("select * from open_pages where account_id = 'acc_gone'")).toEqual([]);
  await pages.stop();
});
