/** Removes rows that are too old or beyond a limit, in small steps (§10.5). */

import { LIMITS } from "../src/limits.ts";
import { request_log } from "./history-schema.ts";
import { freed } from "./storage.ts";
import { p, type Sql, sql } from "./store/sql.ts";
import { rowsOf, statement } from "./store/statement.ts";
import { IN_BACKGROUND, type Store } from "./store/store.ts";

/**
 * Makes a function that deletes up to `limit` rows from before `before` (epoch seconds), and returns their number.
 * `frees`: see {@link Statement.frees}.
 */
export function pruner(
  query: Sql<{ readonly before: number; readonly limit: number }>,
  { frees = false } = {},
) {
  const remove = statement(query, { frees });
  return async (store: Store, before: number, limit: number): Promise<number> => {
    const [result] = await store.write([remove({ before, limit })], IN_BACKGROUND);
    return frees ? result!.rows.length : result!.changes;
  };
}

/** The next keys by id. */
export const nextKeys = statement(
  sql`select id from keys where id > ${p("after")} and deleted_at is null order by id limit ${p("limit")}`,
  { returns: rowsOf<[id: string]>() },
);

/** Rows that one statement removes, so that none takes long; the rest goes in the next round. */
const BITE = 200;

const excess = (column: string) =>
  sql`select ${sql.raw(column)} from questions where key_id = ${p("key_id")} and status <> 'pending'
    order by created_at desc, id desc
    limit ${sql.raw(`${BITE} offset ${LIMITS.finished_questions_per_key}`)}`;

/** Deliveries go before their question, which would take any number of them along. */
const pruneQuestions = [
  statement(
    sql`delete from question_deliveries where (question_id, target_id) in (
      select question_id, target_id from question_deliveries where question_id in (${excess("id")}) limit ${sql.raw(BITE)})`,
  ),
  statement(
    sql`delete from questions where rowid in (${excess("rowid")})
      and not exists (select 1 from question_deliveries where question_id = questions.id)
      ${freed("questions", sql`key_id`)}`,
    { frees: true },
  ),
];

/** Keys of one read, which counts up to a thousand questions of each. */
const KEYS = 20;

/** The next keys, and 1 for each that has too many finished questions. Most have not: no write is needed for them. */
const nextWithExcess = statement(
  sql`select id, (select count(*) from (select 1 from questions where key_id = keys.id and status <> 'pending'
      limit ${sql.raw(LIMITS.finished_questions_per_key + 1)})) > ${sql.raw(LIMITS.finished_questions_per_key)}
    from keys where id > ${p("after")} and deleted_at is null order by id limit ${p("limit")}`,
  { returns: rowsOf<[id: string, has_excess: number]>() },
);

/**
 * Removes each key's finished questions beyond `LIMITS.finished_questions_per_key`. A call goes through the next keys,
 * at most `limit`, and returns whether there are more. After the last key it starts over, and so does a new process.
 */
export function createQuestionPruner(store: Store) {
  let after = "";
  return async (limit: number): Promise<boolean> => {
    const some = Math.min(limit, KEYS);
    const keys = await store.read(nextWithExcess({ after, limit: some }));
    for (const [key_id, has_excess] of keys) {
      if (!has_excess) continue;
      const bite = () =>
        store.write(
          pruneQuestions.map((step) => step({ key_id })),
          IN_BACKGROUND,
        );
      while ((await bite()).some(({ changes, rows }) => Math.max(changes, rows.length) === BITE));
    }
    // A read of a file leaves the event loop no turn.
    await new Promise<void>((next) => setImmediate(next));
    const more = keys.length === some;
    after = more ? keys.at(-1)![0] : "";
    return more;
  };
}

const pruneRequestLog = statement(
  sql`delete from request_log where rowid in (
    select old.rowid from keys, request_log as old
    where keys.id > ${p("after")} and keys.id <= ${p("last")} and old.key_id = keys.id
      and old.at < ${p("before", request_log.at)}
    limit ${p("limit")})`,
);

/**
 * Removes entries of the request log from before `before` (epoch seconds), at most `limit` blocks in a call. It goes
 * through the keys as {@link createQuestionPruner} does, since the log has no index on the time alone.
 */
export function createRequestLogPruner(store: Store) {
  let after = "";
  return async (before: number, limit: number): Promise<boolean> => {
    const keys = (await store.read(nextKeys({ after, limit }))).map(([id]) => id);
    const last = keys.at(-1);
    if (last === undefined) {
      after = "";
      return false;
    }
    const [result] = await store.write(
      [pruneRequestLog({ after, last, before, limit })],
      IN_BACKGROUND,
    );
    // Goes through the same keys again, until nothing old is left of them.
    if (result!.changes === limit) return true;
    const more = keys.length === limit;
    after = more ? last : "";
    return more;
  };
}
