/** `ACCOUNT_CREATION=first`: the start code creates one account and no other (§5.2.1). */

import { afterAll, expect, test } from "bun:test";
import { createSweeper, EVENTS_KEPT } from "../../db/deletions.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import { createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startProcess } from "../support/process.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const env = { ACCOUNT_CREATION: "first" };

const create = (url: string, body: object = {}) =>
  exchange(url, "POST", "/v1/accounts", { body: JSON.stringify(body) });

test("the first account needs the start code, and a second one is refused [§5.2.1(1)]", async () => {
  const { url: database_url } = await createTestStore();
  const app = await startTestApp({ env, database_url });
  const other = await startTestApp({ database_url });
  const start_code = (await app.startCode())!;
  expect(start_code).toMatch(/^[\w-]{22}$/);
  const last = start_code.endsWith("A") ? "B" : "A";
  for (const wrong of [
    ...[undefined, "", `${start_code.slice(0, -1)}${last}`, `${start_code}A`, "é".repeat(22)],
    ...[start_code.toUpperCase(), `${start_code} `, start_code.slice(0, -1)],
  ]) {
    const body = wrong === undefined ? {} : { start_code: wrong };
    expectProblem(await create(app.url, body), "invalid_fields", ["start_code"]);
  }
  const trpc = await exchange(app.url, "POST", "/trpc/accounts.create", { body: "{}" });
  expect([trpc.status, trpc.body.error.data.code_name]).toEqual([422, "invalid_fields"]);

  const made = await create(app.url, { start_code });
  expect([made.status, made.body.token]).toEqual([201, expect.stringMatching(/^mca_/)]);
  expect(await app.startCode()).toBeNull();
  for (const body of [{ start_code }, {}, { start_code: "x" }]) {
    expectProblem(await create(app.url, body), "account_creation_off");
  }
  for (const line of app.lines) expect(line).not.toContain(start_code);
  // A process with open creation shows no code and ignores one.
  expect(await other.startCode()).toBeNull();
  expect((await create(other.url, { start_code: "anything" })).status).toBe(201);
});

test("of concurrent requests in two processes, exactly one creates the account [§5.2.1(1)]", async () => {
  const { url: DATABASE_URL } = await createTestStore();
  const app = await startTestApp({ env, database_url: DATABASE_URL });
  const start_code = (await app.startCode())!;
  const process = await startProcess({ ...env, DATABASE_URL });
  await until(() => process.output().includes(`at ${process.url}/#/start/${start_code}\n`));
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, i) => create([app.url, process.url][i % 2]!, { start_code })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    expectProblem(answer, "account_creation_off");
  }
  process.kill();
});

test("a store that ever had an account stays used, even when nothing is left of it [§5.2.1(1)]", async () => {
  const { url: database_url } = await createTestStore();
  const open = await startTestApp({ database_url });
  const first = await startTestApp({ env, database_url });
  const start_code = (await first.startCode())!;
  // Versions before 0.2.0 lack this setting, so any account counts.
  const person = await createPerson(open.url);
  expect(await first.startCode()).toBeNull();
  expect((await person.send("DELETE /v1/account")).status).toBe(204);

  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  afterAll(() => store.close());
  const clock = createTestClock();
  const step = createSweeper(store, clock);
  while (await step(200));
  await clock.advance(EVENTS_KEPT);
  while (await step(200));
  await store.write([statement(sql`delete from account_creations`)({})]);
  const count = sql`select (select count(*) from accounts) + (select count(*) from events) + (select count(*) from credentials)`;
  expect(await store.read(statement(count, { returns: "rows" })({}))).toEqual([[0]]);

  expect(await first.startCode()).toBeNull();
  expectProblem(await create(first.url, { start_code }), "account_creation_off");
});
