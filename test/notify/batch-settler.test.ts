/** Deliveries accepted at the same time are settled together, and one cannot harm another. */

import { expect, test } from "bun:test";
import type { AcceptedDelivery } from "../../db/notify/accepted.ts";
import { openStore } from "../../db/store/open.ts";
import { p, sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import type { Statement } from "../../db/store/store.ts";
import { systemClock } from "../../src/clock.ts";
import { createBatchSettler } from "../../src/notify/core/batch-settler.ts";
import { startTestApp } from "../support/app.ts";
import { createPerson } from "../support/client.ts";
import { createTestStore } from "../support/store.ts";

/** Most deliveries in one batch. */
const MOST = 16;

const { url: database_url } = await createTestStore();
const app = await startTestApp({ database_url });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
const { account } = await createPerson(app.url);

const recorded = async () => {
  const rows = await store.read(
    statement(sql`select about from delivery_records order by seq`, { returns: "rows" })({}),
  );
  return rows.map(([about]) => about);
};

const accepted = (about: string, changes: object = {}): AcceptedDelivery => ({
  seq: 999_999,
  lease: "gone",
  delivery_id: crypto.randomUUID(),
  account_id: account.id,
  recipient_id: "dev_1",
  key_id: null,
  lane: "sandbox",
  kind: "task",
  about,
  reason: null,
  attempts: 1,
  created_at: 1,
  tried_at: 2,
  done_at: 3,
  address: null,
  ...changes,
});

function begin() {
  const batches: (readonly Statement[])[] = [];
  const failures: unknown[] = [];
  const beat = Promise.withResolvers<void>();
  const settleTogether = createBatchSettler({
    most: MOST,
    beat: () => beat.promise,
    write: (statements) => {
      batches.push(statements);
      return store.write(statements);
    },
    failed: (error) => failures.push(error),
  });
  const settle = (row: AcceptedDelivery, others: () => readonly Statement[] = () => []) =>
    settleTogether({ row, others, until: Number.POSITIVE_INFINITY });
  return { settle, strike: beat.resolve, batches, failures };
}

test("deliveries accepted at about the same time share batches of a bounded size", async () => {
  const { settle, strike, batches, failures } = begin();
  const names = Array.from({ length: MOST + 3 }, (_, i) => `first-${i}`);
  const written = names.map((name) => settle(accepted(name)));
  strike();
  await Promise.all(written);
  expect(batches.length).toBe(2);
  expect((await recorded()).filter((about) => names.includes(about as string))).toEqual(names);
  expect(failures).toEqual([]);
});

test("settling deletes a finished row, requeues one with newer changes and leaves one leased by another process", async () => {
  const insert = statement(
    sql`insert into deliveries (account_id, recipient_id, kind, subject, task_id, lane, parts, more, lease, urgency, due_at, expires_at, created_at, attempts, delivery_id)
      select ${p("account_id")}, 'dev_1', 'task', value ->> 0, value ->> 0, 'sandbox', '["created"]', value ->> 1, value ->> 2, 1, 9e12, 9e12, 1, 1, value ->> 0
      from json_each(${p("rows")}) returning seq`,
    { returns: "rows" },
  );
  const planned = [
    ["tsk_done", null, "mine"],
    ["tsk_more", '["status"]', "mine"],
    ["tsk_lost", null, "another"],
  ];
  const values = { account_id: account.id, rows: JSON.stringify(planned) };
  const [inserted] = await store.write([insert(values)]);
  const { settle, strike, failures } = begin();
  const written = inserted!.rows.map(([seq], i) =>
    settle(accepted(planned[i]![0]!, { seq, lease: "mine" })),
  );
  strike();
  await Promise.all(written);
  const left = await store.read(
    statement(sql`select subject, parts, more, lease, attempts from deliveries order by seq`, {
      returns: "rows",
    })({}),
  );
  expect(left).toEqual([
    ["tsk_more", '["status"]', null, null, 0],
    ["tsk_lost", '["created"]', null, "another", 1],
  ]);
  expect(failures).toEqual([]);
});

test("a delivery that cannot be settled does not hold up the others", async () => {
  const { settle, strike, failures } = begin();
  const bad = accepted("bad", { attempts: null });
  const rows = [accepted("a"), accepted("b"), bad, accepted("c"), accepted("d")];
  const written = rows.map((row) => settle(row));
  strike();
  await Promise.all(written);
  const names = (await recorded()).filter((about) => String(about).length === 1);
  expect(names.toSorted()).toEqual(["a", "b", "c", "d"]);
  expect(failures.length).toBe(1);
});

test("a statement that several deliveries ask for runs once", async () => {
  const { settle, strike, batches } = begin();
  const touch = statement(sql`update accounts set live_activities = live_activities`);
  const written = ["x1", "x2", "x3"].map((name) => settle(accepted(name), () => [touch({})]));
  strike();
  await Promise.all(written);
  const [batch] = batches;
  expect(batch!.filter((one) => one.sql === touch({}).sql).length).toBe(1);
});
