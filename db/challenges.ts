/** Challenges of app attestation. Each can be used once, in any process. */

import { challenges } from "./credentials-schema.ts";
import { pruner } from "./retention.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, statement } from "./store/statement.ts";

export const insertChallenge = statement(insertWhere(challenges, sql`true`));

/** Removes the challenge if it exists and has not expired at `now` (epoch seconds). */
export const useChallenge = statement(
  sql`delete from challenges where challenge = ${p("challenge")} and expires_at > ${p("now", challenges.expires_at)}`,
);

/** Deletes challenges that had expired by `before`. */
export const pruneChallenges = pruner(
  sql`delete from challenges where challenge in (
    select challenge from challenges where expires_at <= ${p("before", challenges.expires_at)} limit ${p("limit")})`,
);
