/** Queries on account tokens that have ended (docs/interface.md §4.1.7). Triggers write the rows. */

import { endedTokens } from "./credentials-schema.ts";
import { p, sql } from "./sql.ts";
import { rowOf, statement } from "./statement.ts";
import { IN_BACKGROUND, type Store } from "./store.ts";

/** Whether a token with this digest has ended in this store. */
export const endedToken = statement(sql`select 1 from ended_tokens where digest = ${p("digest")}`, {
  gives: rowOf<[1]>(),
});

const prune = statement(
  sql`delete from ended_tokens where digest in (
    select digest from ended_tokens where ended_at <= ${p("before", endedTokens.ended_at)} limit ${p("limit")})`,
);

/** Forgets up to `limit` tokens that ended before `before` (epoch seconds); gives their number. */
export async function pruneEndedTokens(
  store: Store,
  before: number,
  limit: number,
): Promise<number> {
  const [result] = await store.write([prune({ before, limit })], IN_BACKGROUND);
  return result!.changes;
}
