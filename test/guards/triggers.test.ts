/** The numbers and texts of the triggers match the code. */

import { expect, test } from "bun:test";
import { SQLiteAsyncDialect } from "drizzle-orm/sqlite-core";
import { labelOfDevice } from "../../db/devices.ts";
import { MARKED } from "../../db/silence.ts";
import { sql } from "../../db/store/sql.ts";
import { readTriggers } from "../../scripts/docs/triggers.ts";
import { WEBHOOK_LIMITS } from "../../src/notification-limits.ts";
import { readText } from "../support/documents.ts";

/** Bytes of a waiting message without its data, which only the two triggers know. */
const WEBHOOK_MESSAGE_BYTES = 500;

const triggers = readTriggers();

test("limits and durations in triggers match the code", async () => {
  /** Numbers from 10 on; seconds times 1,000 is a unit conversion. */
  const found = triggers.flatMap(({ name, sql }) => {
    const numbers = sql.replace(/'[^']*'|\) \* 1000|randomblob\(\d+\)/g, "");
    return [...numbers.matchAll(/(?<![\w`])\d{2,}\b/g)].map(([text]) => [name, Number(text)]);
  });
  const life = WEBHOOK_LIMITS.message_life * 1000;
  // No code needs the number of ended tokens (§4.1.7): LIMIT and OFFSET.
  const [, ended] = /the newest (\d+) of each account/.exec(await readText("docs/interface.md"))!;
  const of = (name: string, numbers: readonly number[]) => numbers.map((number) => [name, number]);
  const full = [WEBHOOK_LIMITS.queued, WEBHOOK_LIMITS.queued_bytes];
  expect(found).toEqual([
    ...of("credentials_deleted", [Number(ended), Number(ended)]),
    ...of("credentials_replaced", [Number(ended), Number(ended)]),
    ...of("events_webhooks", [...full, life, ...full]),
    ...of("items_webhook_insert", [WEBHOOK_LIMITS.queued, life, WEBHOOK_LIMITS.queued]),
    ...of("keys_silence", [MARKED]),
    ...of("webhook_messages_delete", [WEBHOOK_MESSAGE_BYTES]),
    ...of("webhook_messages_insert", [WEBHOOK_MESSAGE_BYTES]),
  ]);
});

test("triggers name the platforms of devices as the code does", () => {
  const { sql: text } = new SQLiteAsyncDialect().sqlToQuery(labelOfDevice(sql.raw("v")));
  const namesIn = (sql: string) => /WHEN 'ios'.*?END/i.exec(sql)?.[0].toLowerCase();
  const names = triggers.map(({ sql }) => namesIn(sql)).filter((one) => one !== undefined);
  expect(names.length).toBeGreaterThan(1);
  expect([...new Set(names)]).toEqual([namesIn(text)!]);
});
