/** Fills a store of Relay by SQL, with rows like those that its requests make. */

import Database from "libsql";
import { digest } from "../src/ids.ts";
import { LIMITS } from "../src/limits.ts";

/** Runs one statement, whose parameters are texts, and returns its rows. */
export type RunSql = (sql: string, args?: readonly string[]) => Promise<readonly unknown[][]>;

export interface Size {
  /** Half of them belong to the keys of the first account, as far as these may have so many. */
  readonly tasks: number;
  /** At most {@link LIMITS.keys_per_account} in each account. */
  readonly keys: number;
}

/** The credentials of the first account, which has the most rows. */
export interface Filled {
  readonly token: string;
  readonly secrets: readonly string[];
  /** Ids of tasks of each of these keys. */
  readonly tasks: readonly (readonly string[])[];
}

/** Rows of one INSERT, which takes a libSQL server less than its limit of a few seconds. */
const STEP = 25_000;
/** Tasks of one key, with room for those that a bench creates. */
const OF_KEY = LIMITS.tasks_per_key * 0.6;
const DESCRIPTION = "Build, test and publish the packages, then tell the team. ".repeat(6);
/** Milliseconds between the creations of two tasks. */
const APART = 20;
const KEPT_TASKS = 50;
/** Times that a busy server is asked again, and milliseconds between them. */
const TRIES = 100;
const RETRY = 100;

/** An id in SQL, made of a time in milliseconds and a number, which sorts by that time. */
const id = (prefix: string, ms: string, number: string) =>
  `'${prefix}_' || printf('%012x7%03x%016x', ${ms}, ${number} & 4095, ${number})`;
const idOf = (prefix: string, ms: number, number: number) =>
  `${prefix}_${ms.toString(16).padStart(12, "0")}7${(number & 4095).toString(16).padStart(3, "0")}${number.toString(16).padStart(16, "0")}`;

/** A file as it is filled: nothing is synced, since a file that is not complete is made again. */
export function runOnFile(path: string): { run: RunSql; close(): void } {
  const database = new Database(path);
  database.exec("pragma synchronous = off; pragma cache_size = -400000");
  return {
    run: async (sql, args = []) => {
      const statement = database.prepare(sql);
      if (statement.reader) return statement.raw(true).all([...args]) as unknown[][];
      statement.run([...args]);
      return [];
    },
    close() {
      // A long log would slow the first reads.
      database.exec("pragma wal_checkpoint(truncate)");
      database.close();
    },
  };
}

interface Reply {
  readonly results: readonly {
    readonly response?: { readonly result: { readonly rows: { readonly value: unknown }[][] } };
    readonly error?: { readonly message: string; readonly code?: string };
  }[];
}

/** A libSQL server, which now and then refuses a write while it makes a checkpoint. */
export const runOnServer =
  (url: string): RunSql =>
  async (sql, texts = []) => {
    const args = texts.map((value) => ({ type: "text", value }));
    const requests = [{ type: "execute", stmt: { sql, args } }, { type: "close" }];
    const body = JSON.stringify({ requests });
    for (let tries = 0; ; tries++) {
      const response = await fetch(`${url}/v2/pipeline`, { method: "POST", body });
      const { response: done, error } = ((await response.json()) as Reply).results[0] ?? {};
      if (done) return done.result.rows.map((row) => row.map(({ value }) => value));
      if (error?.code !== "SQLITE_BUSY" || tries === TRIES) {
        throw new Error(`${sql.slice(0, 200)}: ${JSON.stringify(error)}`);
      }
      await Bun.sleep(RETRY);
    }
  };

/**
 * Fills a store whose tables are those of this version and empty. Indexes and triggers are away meanwhile, and what
 * triggers would have written is written here.
 */
export async function fill(run: RunSql, { tasks, keys }: Size): Promise<Filled> {
  const away = (await run(
    "select type, name, sql from sqlite_schema where type in ('index', 'trigger') and sql is not null order by type",
  )) as [string, string, string][];
  for (const [type, name] of away) await run(`drop ${type} ${name}`);

  const now = Date.now();
  const begin = now - tasks * APART;
  const per_account = Math.min(keys, LIMITS.keys_per_account);
  const accounts = Math.ceil(keys / per_account);
  const account = (number: string) => id("acc", String(begin), number);
  const key = (number: string) => id("key", String(begin), number);

  /** Runs an INSERT that selects from `n`, the numbers from 0 to below `count`. */
  const insert = async (count: number, sql: string) => {
    for (let from = 0; from < count; from += STEP) {
      const to = Math.min(count, from + STEP);
      await run(
        sql.replace(
          "NUMBERS",
          `(with recursive n(i) as (select ${from} union all select i + 1 from n where i + 1 < ${to}) select i from n)`,
        ),
      );
    }
  };

  // Accounts, keys and their credentials. Only the first account is used.
  const secretOf = (kind: string, number: number) => `${kind}_${String(number).padStart(43, "0")}`;
  const token = secretOf("mca", 0);
  const tokens = JSON.stringify(
    Array.from({ length: accounts }, (_, i) => digest(secretOf("mca", i))),
  );
  await run(
    `insert into accounts (id, created_at, live_activities, revision)
      select ${account("key")}, ${begin}, 0, 'filled' from json_each(?)`,
    [tokens],
  );
  await run(
    `insert into credentials (digest, id, kind, account_id, key_id, made_by, created_at, last_used_at)
      select value, replace(${account("key")}, 'acc_', 'ses_'), 'account_token', ${account("key")}, null, 'account', ${begin}, ${now}
      from json_each(?)`,
    [tokens],
  );
  for (let from = 0; from < keys; from += STEP) {
    const digests = Array.from({ length: Math.min(STEP, keys - from) }, (_, i) =>
      digest(secretOf("mck", from + i)),
    );
    await run(
      `insert into keys (id, account_id, label, prefix, last4, created_at, last_used_at, tasks_todo,
        tasks_in_progress, tasks_done, tasks_cancelled, revision)
        select ${key(`(key + ${from})`)}, ${account(`((key + ${from}) / ${per_account})`)}, 'Agent ' || key, 'mck_0000',
          '0000', ${begin}, ${now}, 0, 0, 0, 0, 'filled' from json_each(?)`,
      [JSON.stringify(digests)],
    );
    await run(
      `insert into credentials (digest, id, kind, account_id, key_id, made_by, created_at, last_used_at)
        select value, replace(k.id, 'key_', 'crd_'), 'key_secret', k.account_id, k.id, 'account', k.created_at, ${now}
        from json_each(?) join keys k on k.id = ${key(`(key + ${from})`)}`,
      [JSON.stringify(digests)],
    );
  }

  // By turns for a key of the first account and for any key, so that rows of one key are spread over the file.
  const of_first = accounts === 1 ? tasks : Math.min(tasks / 2, per_account * OF_KEY);
  const every = Math.ceil(tasks / of_first);
  const key_number = `(case when i % ${every} = 0 then (i / ${every}) % ${per_account} else i % ${keys} end)`;
  const owner = `${key(key_number)}, ${account(`(${key_number} / ${per_account})`)}`;
  const ms = `(${begin} + i * ${APART})`;
  await insert(
    tasks,
    `insert into tasks (id, key_id, account_id, title, description, status, priority, notify, progress, status_note,
      source, created_at, updated_at, completed_at, seen_at, host, revision)
      select ${id("tsk", ms, "i")}, ${owner}, 'Release version ' || i,
        '${DESCRIPTION}', status, 'medium', 1, case status when 'in_progress' then 50 end,
        case status when 'in_progress' then 'Runs the tests' end, 'agent', ms, ms,
        case when status in ('done', 'cancelled') then ms end, ms, null, 'filled' || i
      from (select i, ${ms} as ms, case when i % 20 < 2 then 'todo' when i % 20 = 2 then 'in_progress' when i % 20 = 3 then 'cancelled'
        else 'done' end as status from NUMBERS)`,
  );
  await run(`update keys set tasks_todo = todo, tasks_in_progress = in_progress, tasks_done = done, tasks_cancelled = cancelled
    from (select key_id, sum(status = 'todo') as todo, sum(status = 'in_progress') as in_progress,
      sum(status = 'done') as done, sum(status = 'cancelled') as cancelled from tasks group by key_id) as c
    where c.key_id = keys.id`);

  // The rest, in proportion.
  const part = (share: number) => Math.round(tasks * share);
  const near = (spread: number, count: number) => `(${now} - (${count} - i) * ${spread})`;
  const questions = part(0.1);
  await insert(
    questions,
    `insert into questions (id, key_id, account_id, prompt, kind, options, status, answer, created_at, answered_at,
      expires_at, revision)
      select ${id("qst", near(1000, questions), "i")}, ${owner}, 'Release version ' || i || ' now?', 'confirm', '["Yes","No"]',
        'answered', 'Yes', ${near(1000, questions)}, ${near(1000, questions)} + 500,
        ${near(1000, questions)} + 3600000, 'filled' || i from NUMBERS`,
  );
  await insert(
    part(0.1),
    `insert into items (id, key_id, account_id, type, task_id, changes, text, created_at, read_at, revision)
      select ${id("itm", near(100, part(0.1)), "i")}, ${owner}, 'message', null, '[]', 'Please look at task ' || i,
        ${near(100, part(0.1))}, case when i / 7 % 2 = 0 then ${near(100, part(0.1))} + 9 end, 'filled' || i
      from NUMBERS`,
  );
  await run(`update keys set unread = counted from (select key_id, count(*) as counted from items
    where read_at is null group by key_id) as c where c.key_id = keys.id`);
  await insert(
    part(0.05),
    `insert into events (account_id, subject, name, data, created_at)
      select account_id, id, 'task.updated', json_object('task', json_object('id', id, 'title', title, 'description',
        description)), ${now} from tasks where rowid in NUMBERS`,
  );
  await insert(
    part(0.1),
    `insert into idempotency (id, body, resource_id, account_id, key_id, created_at)
      select 'filled' || printf('%037d', i), printf('%043d', i), ${id("tsk", "i", "i")},
        ${account(`(i % ${keys} / ${per_account})`)}, ${key(`(i % ${keys})`)}, ${near(10, part(0.1))} from NUMBERS`,
  );
  const entries = JSON.stringify(
    Array.from({ length: 10 }, (_, i) => [now - i * 1000, "rest", "GET /v1/tasks/{task_id}", 1]),
  );
  await insert(
    Math.min(part(0.1), keys * 20),
    `insert into request_log (id, key_id, at, size, entries)
      select ${id("act", near(10, part(0.1)), "i")}, ${key(`(i % ${keys})`)}, ${near(10, part(0.1))}, 10, '${entries}'
      from NUMBERS`,
  );

  for (const [, , sql] of away) await run(sql);
  const used = Math.min(per_account, 16);
  return {
    token,
    secrets: Array.from({ length: used }, (_, i) => secretOf("mck", i)),
    tasks: Array.from({ length: used }, (_, k) =>
      Array.from({ length: KEPT_TASKS }, (_, turn) => {
        const i = (k + turn * per_account) * every;
        return idOf("tsk", begin + i * APART, i);
      }),
    ),
  };
}
