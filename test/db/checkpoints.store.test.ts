/** Checkpoints of a file: they run beside its writes, and often enough that the log stays bounded. */

import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { createEmptyStore, STORE_KIND } from "../support/store.ts";
import { until } from "../support/until.ts";

const embedded = test.if(STORE_KIND === "embedded");

/** Bytes of a page in the log, with its header. */
const LOG_PAGE = 4_096 + 24;

const createRows = statement(sql`create table rows_of_a_page (text text)`);
const addRow = statement(sql`insert into rows_of_a_page values (hex(randomblob(1500)))`);

/** A new store with a table whose rows take a page each. */
async function createStore() {
  const { url } = await createEmptyStore();
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  await store.write([createRows({})]);
  const path = url.slice("file:".length);
  return {
    store,
    /** One commit. */
    add: (rows: number) => store.write(Array.from({ length: rows }, () => addRow({}))),
    filePages: () => statSync(path).size / 4_096,
    logPages: () => store.walBytes()! / LOG_PAGE,
  };
}

embedded("changes reach the file before a commit has to copy them", async () => {
  const { store, add, filePages, logPages } = await createStore();
  const before = filePages();
  for (let i = 0; i < 100; i++) await add(10);
  await until(() => filePages() > before + 250);
  // SQLite would copy them in a commit from 4,000 pages on.
  expect(logPages()).toBeLessThan(2_000);
  await store.close();
});

embedded("the log restarts even while writes never pause", async () => {
  const { store, add, logPages } = await createStore();
  let written = 0;
  const writer = async () => {
    while (written < 10_000) {
      written += 50;
      await add(50);
    }
  };
  // Several writers, so that a commit is always under way.
  await Promise.all(Array.from({ length: 4 }, writer));
  expect(logPages()).toBeLessThan(6_000);
  await store.close();
});
