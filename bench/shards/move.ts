/** Moves an account from one libSQL database to another. */

import type { Client, InStatement, InValue } from "@libsql/client";

/** Rows of an account, by table: those that have no `account_id` are found through what they belong to. */
const OWNED: Readonly<Record<string, string>> = {
  accounts: "id = ?",
  approvals: "grant_id in (select id from grants where account_id = ?)",
  request_log: "key_id in (select id from keys where account_id = ?)",
  channel_messages: "channel_id in (select id from channels where account_id = ?)",
  question_deliveries: "question_id in (select id from questions where account_id = ?)",
  task_history: "task_id in (select id from tasks where account_id = ?)",
};
/** Events are numbered by their database, so streams start anew. The others belong to processes and to queues, which are empty. */
const LEFT = ["events", "open_pages", "pushes", "delivery_records", "webhook_messages"];

const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join();

interface Table {
  readonly name: string;
  readonly where: string;
  /** Without numbers that each database gives. */
  readonly columns: readonly string[];
  /** Keeps the order of rows whose number is given. */
  readonly order: string;
}

async function tablesOf(client: Client): Promise<Table[]> {
  const { rows } = await client.execute(
    "select m.name as name, c.name as column, c.name = 'seq' and c.pk = 1 and c.type like 'integer' as given from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table' order by m.name, c.cid",
  );
  const columns = Map.groupBy(rows, (row) => String(row.name));
  return [...columns].flatMap(([name, all]) => {
    const names = all.map((row) => String(row.column));
    const where = OWNED[name] ?? (names.includes("account_id") ? "account_id = ?" : undefined);
    if (where === undefined || LEFT.includes(name)) return [];
    const given = all.filter((row) => row.given === 1).map((row) => String(row.column));
    const order = given.length > 0 ? `order by ${quoted(given)}` : "";
    return [{ name, where, order, columns: names.filter((column) => !given.includes(column)) }];
  });
}

/** The statements in one batch between the removal of all triggers and their return: they must not count rows again. */
async function withoutTriggers(client: Client, statements: readonly InStatement[]) {
  const { rows } = await client.execute(
    "select name, sql from sqlite_master where type = 'trigger'",
  );
  await client.batch(
    [
      ...rows.map((row) => `drop trigger ${String(row.name)}`),
      ...statements,
      ...rows.map((row) => String(row.sql)),
    ],
    "write",
  );
}

/** The digests of all credentials of an account. */
export async function credentialsOf(client: Client, account_id: string): Promise<string[]> {
  const sql = "select digest from credentials where account_id = ?";
  return (await client.execute({ sql, args: [account_id] })).rows.map((row) => String(row.digest));
}

/**
 * Copies the rows of a blocked account in one transaction; returns their number. The account stays blocked on both
 * sides, so that neither sends anything. Throws while something is queued for it.
 */
export async function copyAccount(from: Client, to: Client, account_id: string): Promise<number> {
  for (const queue of ["pushes", "webhook_messages"]) {
    const sql = `select 1 from ${queue} where account_id = ? limit 1`;
    const { rows } = await from.execute({ sql, args: [account_id] });
    if (rows.length > 0) throw new Error(`${queue} of ${account_id} are not sent yet`);
  }
  const tables = await tablesOf(from);
  const results = await from.batch(
    tables.map(({ name, where, columns, order }) => ({
      sql: `select ${quoted(columns)} from ${name} where ${where} ${order}`,
      args: [account_id],
    })),
    "read",
  );
  const inserts = results.flatMap(({ rows }, i) => {
    const { name, columns } = tables[i]!;
    const sql = `insert into ${name} (${quoted(columns)}) values (${columns.map(() => "?").join()})`;
    return rows.map((row) => ({ sql, args: columns.map((column): InValue => row[column]!) }));
  });
  await withoutTriggers(to, inserts);
  return inserts.length;
}

/** Ends the block, with the triggers that give the account its credentials and targets back. */
export const unblock = (client: Client, account_id: string) =>
  client.execute({ sql: "update accounts set blocked_at = null where id = ?", args: [account_id] });

/** Removes the rows of an account that is on another database now. */
export async function removeAccount(from: Client, account_id: string): Promise<void> {
  const tables = await tablesOf(from);
  // Those found through others come first.
  const ordered = tables.toSorted((a, b) => Number(b.name in OWNED) - Number(a.name in OWNED));
  await withoutTriggers(
    from,
    ordered.map(({ name, where }) => ({
      sql: `delete from ${name} where ${where}`,
      args: [account_id],
    })),
  );
}
