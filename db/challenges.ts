/** Challenges of app attestation: each is used once, by whichever process it comes back to. */

import { challenges } from "./schema.ts";
import { p, sql } from "./sql.ts";
import { insertWhere, statement } from "./statement.ts";
import { IN_BACKGROUND, type Store } from "./store.ts";

export const insertChallenge = statement(insertWhere(challenges, sql`true`));

/** Takes the challenge away if it is there and not expired at `now` (a timestamp). */
export const useChallenge = statement(
  sql`delete from challenges where challenge = ${p("challenge")} and expires_at > ${p("now", challenges.expires_at)}`,
);

const prune = statement(
  sql`delete from challenges where challenge in (
    select challenge from challenges where expires_at <= ${p("now", challenges.expires_at)} limit ${p("limit")})`,
);

/** Deletes up to `limit` challenges that are expired at `now` (epoch seconds); gives their number. */
export async function pruneChallenges(store: Store, now: number, limit: number): Promise<number> {
  const [result] = await store.write([prune({ now, limit })], IN_BACKGROUND);
  return result!.changes;
}
