/**
 * Query plans: no statement and no trigger scans a table, or all rows of an account or key, unless it is
 * listed here with what bounds it. SQLite plans without statistics here, as in production.
 */

import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import Database from "libsql";
import { openStore } from "../../db/store/open.ts";
import { systemClock } from "../../src/clock.ts";
import { tempFolder } from "../support/temp.ts";

const script = new URL("../support/statement-texts.ts", import.meta.url).pathname;
const listing = Bun.spawn([process.execPath, script]);
const texts: string[] = await listing.stdout.json();

const path = join(tempFolder(), "relay.db");
const store = await openStore({ url: `file:${path}`, auth_token: undefined }, systemClock);
await store.close();
const database = new Database(path);
afterAll(() => database.close());

/** Parts of statements whose cost grows with the number of rows, with what bounds that number. */
const BOUNDED: readonly (readonly [part: string, bound: string])[] = [
  ["from sqlite_schema", "tables"],
  ["from relay_migrations", "migrations"],
  ["from sqlite_sequence where name", "tables with such numbers"],
  ["exists (select 1 from accounts)", "the first row is enough"],
  ["select name from secrets limit 1", "the first row"],
  ["from page_processes where until <", "processes"],
  ["process_id not in (select id from page_processes)", "open pages; a job, each 30 s"],
  ["from account_creations order by seq limit", "the limit of the step"],
  [
    "from (select id, created_at, admin_name, blocked_at, stored_bytes from accounts where",
    "a page of accounts",
  ],
  ["from keys where stored_bytes is null limit", "the limit of the step"],
  ["(select min(seq) from events)", "the ends of the table"],
  ["from webhook_messages order by seq limit 10000", "10,000 rows; figures"],
  ["from deliveries order by seq limit 10000", "10,000 rows; figures"],
  ['from "delivery_records" order by seq desc limit', "the limit"],
  ["order by deleted_at, id limit", "those deleted in one millisecond"],
  ['from "devices" inner join "accounts"', "devices of an account"],
  ["from devices where account_id = ? order by coalesce(", "devices of an account"],
  ["status <> 'pending' order by created_at desc", "finished questions of a key; a job"],
  ["status <> 'pending' limit 1001", "the limit; a job"],
  ["sum(size) over (partition by key_id", "the request log of a key"],
  ['from "question_deliveries" where question_id = ? order by', "deliveries of a question"],
  ["from question_deliveries order by question_id desc limit ?", "the limit"],
  ["row_number() over (partition by c.account_id", "the window of a claim; accounts under way"],
  ["row_number() over (partition by account_id order by", "the window of a look"],
  ["and silent_since is not null and silent_due_at is null limit", "the limit"],
  ["from t where is_reminder or not was_shown", "targets of the questions of a step"],
  ["with recursive a(id) as", "the limit: accounts of one read"],
  ["row_number() over (partition by m.channel_id", "messages that one claim takes"],
  ["join webhook_messages m on m.seq in", "webhooks with a message that is due"],
  ["delete from webhook_messages where channel_id = ?", "the queue of a webhook"],
  ["row_number() over (order by seq) = 1", "the queue of a webhook"],
  ["from grants where key_id = ? and redeemed_at is not null", "grants of a key"],
  ['from "grants" where account_id = ? and client_digest', "grants of an account to a client"],
  ['from "grants" left join "credentials"', "grants of a key"],
  ['from "grants" where account_id = ? and client_name', "grants of an account to a client"],
  ["delete from approvals where id = ( select id", "approvals that wait"],
  ["order by updated_at desc, id desc limit ?", "a page of each status"],
  ["order by created_at desc, id desc limit ?", "a page of each status"],
  ["and true limit ?)", "the limit of a step of a deletion"],
  ["and address is null limit ?)", "the limit of a step of a deletion"],
  ["from questions q join question_deliveries d", "the limit of a step of a deletion"],
  ["from tasks t join task_history h", "the limit of a step of a deletion"],
  ["delete from accounts where", "the first row is enough"],
  ["select 1 from accounts limit 1", "the first row is enough"],
  ["select id from tasks where key_id = ?", "tasks of a key, as it is deleted"],
  ["delete from deliveries where account_id = ?", "what is queued for an account"],
  ["delete from channel_links where account_id = ?", "links of an account"],
  ["from (select question_id, type, received_at, read_at from items", "10,000 rows; a report"],
  ["from channel_messages where (at, rowid) >", "the limit of the step"],
  ["with recursive lanes(name)", "a row for each lane"],
];

/** Such parts of triggers: how the statement begins. */
const BOUNDED_TRIGGERS: readonly (readonly [part: string, bound: string])[] = [
  ["accounts_blocked: SEARCH deliveries", "what is queued for an account"],
  ["accounts_unblocked: SEARCH deliveries", "what is queued for an account"],
  ["channels_deleted: SEARCH webhook_messages", "the queue of a webhook"],
  ["keys_silence: SEARCH tasks", "the limit"],
  ["webhook_messages_due_update: SEARCH m", "the first row, or before a test the queue"],
  ["webhook_messages_delete: SEARCH m", "the first row, or before a test the queue"],
  ["channels_due_update: SEARCH m", "the first row, or before a test the queue"],
];

/** Aliases of subqueries, whose own plans show what they scan. */
const SUBQUERIES = ["d", "s", "shown"];
/** Tables of which an account or a key may have many rows. */
const LARGE =
  "tasks|questions|items|deliveries|delivery_records|idempotency|request_log|webhook_messages";
const ALL_OF_OWNER = new RegExp(`\\b(${LARGE})_\\w+ \\((key_id|account_id|channel_id)=\\?\\)$`);
/** The part of a statement after these words concerns one row, and sorts lists within it. */
const MERGE = " on conflict (account_id, recipient_id, kind, subject) do update";

function isCostly(part: string): boolean {
  if (/TEMP B-TREE FOR|AUTOMATIC/.test(part) || ALL_OF_OWNER.test(part)) return true;
  const [, name = ""] = /^SCAN (\S+)(?!.*VIRTUAL TABLE)/.exec(part) ?? [];
  return name !== "" && !/^\(|^CONSTANT$/.test(name) && !SUBQUERIES.includes(name);
}

/** The costly parts of a statement's plan. */
function costsOf(statement: string): string[] {
  const text = statement.split(MERGE)[0]!;
  const quiet = text.replace(/--[^\n]*|'[^']*'|"[^"]*"|`[^`]*`/g, "");
  const args = Array(quiet.split("?").length - 1).fill(null);
  const rows = database.prepare(`explain query plan ${text}`).raw(true).all(args);
  return (rows as [number, number, number, string][]).map(([, , , part]) => part).filter(isCostly);
}

const plain = (text: string) => text.replace(/\s+/g, " ");

test("no statement scans a table, or all rows of an owner, without a bound", () => {
  // At least one of each file of db.
  expect(texts.length).toBeGreaterThan(300);
  const unused = new Set(BOUNDED.map(([part]) => part));
  const unbounded: string[] = [];
  for (const text of texts) {
    const costs = costsOf(text);
    if (costs.length === 0) continue;
    const parts = BOUNDED.map(([part]) => part).filter((part) => plain(text).includes(part));
    for (const part of parts) unused.delete(part);
    if (parts.length === 0) unbounded.push(`${plain(text)}: ${costs.join(", ")}`);
  }
  expect(unbounded).toEqual([]);
  expect([...unused]).toEqual([]);
});

test("the page of a list is sorted by the places of its rows, not once more with whole rows", () => {
  const pages = texts.filter((text) => text.includes("join (select place from"));
  expect(pages.length).toBeGreaterThan(3);
  for (const page of pages) expect(costsOf(page)).toEqual(["USE TEMP B-TREE FOR ORDER BY"]);
});

test("no trigger scans a table, or all rows of an owner", () => {
  const triggers = database
    .prepare("select name, sql from sqlite_schema where type = 'trigger'")
    .raw(true)
    .all([]) as [name: string, sql: string][];
  expect(triggers.length).toBeGreaterThan(20);
  const found: string[] = [];
  for (const [name, sql] of triggers) {
    const [, condition = "true", body] =
      /(?:\bWHEN\b(.*?))?\bBEGIN\b(.*)\bEND\s*$/is.exec(sql.replace(/^.*?\bON\b/is, "")) ?? [];
    const statements = [`select 1 where ${condition}`, ...body!.split(/;\s*(?:\n|$)/)];
    for (const statement of statements.filter((text) => text.trim() !== "")) {
      const costs = costsOf(statement.replace(/\b(new|old)\.(`\w+`|\w+)/gi, "?"));
      if (costs.length > 0) found.push(`${name}: ${costs.join(", ")}`);
    }
  }
  const bounds = BOUNDED_TRIGGERS.map(([part]) => part);
  expect(found.filter((one) => !bounds.some((part) => one.startsWith(part)))).toEqual([]);
  expect(bounds.filter((part) => !found.some((one) => one.startsWith(part)))).toEqual([]);
});
