/** How often the request log is written, and how much at once. */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { systemClock } from "../../src/clock.ts";
import { createIds } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import { createRequestLogWriter } from "../../src/services/request-log.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";

test("a busy server writes the request log rarely, and keeps up with its entries", async () => {
  const { url } = await createTestStore();
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  const clock = createTestClock();
  const writes: number[] = [];
  /** Entries that arrive while a write is under way. */
  let meanwhile = 0;
  const log = createRequestLogWriter({
    store: {
      ...store,
      async write(statements) {
        const entries = JSON.parse(statements[0]!.args[0] as string) as unknown[][];
        writes.push(entries.reduce((sum, [, , , size]) => sum + (size as number), 0));
        await null;
        record(meanwhile);
        return [];
      },
    },
    clock,
    ids: createIds(clock),
    log: createLog("warn", () => {}),
  });
  let count = 0;
  const record = (entries: number) => {
    for (let i = 0; i < entries; i++) {
      log.record({
        caller: { kind: "key", account_id: "acc_1", key_id: `key_${count % 50}`, credential: "" },
        at: 2_000_000_000 + count++,
        surface: "rest",
        action: `tool ${count}`,
        error: null,
        duration_ms: 1,
        client: null,
        host: null,
      });
    }
  };
  const after = async (seconds: number) => {
    writes.length = 0;
    await clock.advance(seconds);
    await new Promise((turn) => setImmediate(turn));
    return writes.reduce((sum, size) => sum + size, 0);
  };
  record(500);
  expect([await after(0.09), await after(0.02), writes.length]).toEqual([0, 500, 1]);
  // After a write of many entries, the next ones wait longer.
  record(1_000);
  meanwhile = 10;
  expect([await after(0.1), writes.length]).toEqual([1_000, 2]);
  record(100);
  expect([await after(0.9), await after(0.1)]).toEqual([0, 120]);
  meanwhile = 0;
  expect([await after(0.1), await after(0.1)]).toEqual([10, 0]);
  // This many entries do not wait at all.
  record(4_999);
  expect(await after(0.001)).toBe(0);
  record(1);
  expect(await after(0.001)).toBe(5_000);
  await log.stop();
  await store.close();
});
