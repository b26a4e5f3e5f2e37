/** Rows that a worker claimed: a start among them is sent at most once. */

import { afterAll, expect, test } from "bun:test";
import type { Store } from "../../db/store/store.ts";
import { systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { fail } from "../../src/errors.ts";
import { createIds } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import { ACCOUNT_SHARE } from "../../src/notify/core/account-turns.ts";
import { CLAIMS_BY_AGE, createClaims } from "../../src/notify/core/claims.ts";
import { createFailureLog } from "../../src/notify/core/failure-log.ts";
import { createRequestPool } from "../../src/notify/core/request-pool.ts";
import { connectLanes } from "../../src/notify/core/sender.ts";
import { createDeliveryWorker } from "../../src/notify/core/worker.ts";
import { CHANNELS } from "../../src/notify/registry.ts";
import { createTask } from "../support/client.ts";
import { createNetwork } from "../support/outbound.ts";
import { createPushWorld } from "../support/push-world.ts";
import { until } from "../support/until.ts";

/** Nothing is sent until a worker of the test sends it. */
async function quiet() {
  const world = await createPushWorld();
  const { agent } = await world.people("a");
  await world.advance(61, 2);
  await world.app.sender.stop();
  world.apple.forget();
  await createTask(agent.send, { title: "t", status: "in_progress" });
  const starts = () => world.apple.received.filter(({ payload }) => payload.aps.event === "start");
  const outcomes = async () =>
    (await world.rows("select outcome from delivery_records where kind = 'start'")).flat();
  return { world, starts, outcomes };
}

type Quiet = Awaited<ReturnType<typeof quiet>>["world"];

/** A worker on a store whose calls the test can intercept. */
async function workerOn({ apple, clock, store }: Quiet, faults: Partial<Store>) {
  const config = readConfig({ ...apple.env("SANDBOX") });
  const network = createNetwork();
  const [connected] = await connectLanes(CHANNELS, config, clock, network);
  const lines: string[] = [];
  const log = createLog("debug", (line) => lines.push(line));
  const ids = createIds(clock);
  const faulty = { ...store, ...faults };
  const failures = createFailureLog({ clock, log });
  const options = { clock, timers: systemClock, ids, log, failures, full: true, base_url: null };
  const rest = { ...options, store: faulty, slots: createRequestPool(10, 0).lane() };
  const ticketOf = () => "";
  const worker = createDeliveryWorker({ ...connected!, ...rest, ticketOf, codeOf: ticketOf });
  afterAll(() => worker.stop());
  /** How often the worker waited for the store. */
  const waits = () => lines.filter((line) => line.includes("wait for the store")).length;
  return { worker, waits };
}

test("a store that fails for a moment after a claim loses no start", async () => {
  const { world, starts, outcomes } = await quiet();
  let asked = 0;
  const { worker, waits } = await workerOn(world, {
    read: async (statement) => {
      const of_claim = /count\(\*\) from questions/.test(statement.sql);
      if (of_claim && asked++ === 0) fail("store_unavailable");
      return world.store.read(statement);
    },
  });
  worker.run();
  await until(() => waits() === 1);
  await world.clock.advance(1);
  await worker.settled();
  expect(starts().length).toBe(1);
  expect(await outcomes()).toEqual(["sent"]);
});

test("a claim whose outcome is unknown loses no start", async () => {
  const { world, starts, outcomes } = await quiet();
  let cut = false;
  const { worker } = await workerOn(world, {
    write: async (statements) => {
      const results = await world.store.write(statements);
      if (!cut && statements[0]!.sql.startsWith("update deliveries set unclear")) {
        cut = true;
        fail("store_unavailable");
      }
      return results;
    },
  });
  worker.run();
  await worker.settled();
  expect(cut).toBe(true);
  expect(starts().length).toBe(1);
  expect(await outcomes()).toEqual(["sent"]);
});

test("claims and outcomes are written in the background, so that requests do not wait for them", async () => {
  const { world, outcomes } = await quiet();
  const written: (boolean | undefined)[] = [];
  const { worker } = await workerOn(world, {
    write: (statements, options) => {
      written.push(options?.in_background);
      return world.store.write(statements, options);
    },
  });
  worker.run();
  await worker.settled();
  expect(await outcomes()).toEqual(["sent"]);
  expect(written.length).toBeGreaterThan(1);
  expect(written).not.toContain(undefined);
});

test("a start whose lease ran out may have been sent, and is never sent again", async () => {
  const { world, starts, outcomes } = await quiet();
  const lapse = (world.clock.now() + 15) * 1_000;
  await world.change(
    `update deliveries set lease = 'dead', attempts = 1, due_at = ${lapse} where kind = 'start'`,
  );
  const peer = await world.start();
  for (let i = 0; i < 20; i++) {
    await world.clock.advance(1);
    await peer.sender.settled();
  }
  expect(starts()).toEqual([]);
  expect(await outcomes()).toEqual(["unclear"]);
  // The dead worker had not sent the alert.
  expect(world.apple.delivered.some(({ type }) => type === "alert")).toBe(true);
});

test("an account's notifications are claimed before what another account queued earlier, however fast [§14.4.1]", async () => {
  const { world } = await quiet();
  const { clock, store, change } = world;
  await change("delete from deliveries");
  const queue = (account_id: string, many: number, due: number) =>
    change(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${many})
      insert into deliveries (account_id, recipient_id, kind, subject, lane, parts, urgency, due_at, expires_at, created_at)
      select '${account_id}', 'dev', 'question', '${account_id}' || i, 'sandbox', '[]', 0, ${due} + i, ${Date.now() * 2}, 1000 from n`);
  await queue("acc_hog", 1_000, 1_000);
  await queue("acc_other", 1, 9_000);
  const claimed: string[] = [];
  const claims = createClaims({
    store,
    clock,
    timers: systemClock,
    ids: createIds(clock),
    lane: "sandbox",
    slots: createRequestPool(64, 0).lane(),
    account_share: ACCOUNT_SHARE,
    retryUntil: (attempt) => attempt(),
    launch({ delivery }, _claim, release) {
      claimed.push(delivery.account_id);
      release();
    },
    isSending: () => true,
  });
  let due: number | undefined;
  for (let i = 0; i <= CLAIMS_BY_AGE; i++) ({ due } = await claims.next(due));
  expect(claimed).toContain("acc_other");
});
