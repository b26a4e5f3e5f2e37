/** Queries on pairing codes (§5.14). */

import { LIMITS } from "../src/limits.ts";
import { isLiveAccount } from "./accounts.ts";
import { pairings } from "./credentials-schema.ts";
import { atRevision } from "./outbox.ts";
import { pruner } from "./retention.ts";
import { isPastTrial } from "./sessions.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, qb, select, statement, updateSet } from "./store/statement.ts";

const isNew = sql`not exists (select 1 from pairings
  where code_digest = ${p("code_digest")} or link_digest = ${p("link_digest")})
  and ${isLiveAccount}`;

/** Inserts a code, if the sign-in with the digest `credential` is past its trial. */
export const insertPairing = statement(insertWhere(pairings, sql`${isNew} and ${isPastTrial}`));

/** Inserts a code that the administrator makes. */
export const insertAdminPairing = statement(insertWhere(pairings, isNew));

/** Ends the oldest open codes of an account beyond its limit. */
export const endOldestPairings = statement(
  sql`delete from pairings where account_id = ${p("account_id")} and claimed_by is null
    and seq not in (select seq from pairings where account_id = ${p("account_id")} and claimed_by is null
      order by seq desc limit ${sql.raw(LIMITS.open_pairings)})`,
);

/** The open or used code with this digest in either form. */
export const pairingByDigest = select(
  qb
    .select({
      account_id: pairings.account_id,
      session_id: pairings.session_id,
      code_digest: pairings.code_digest,
      created_at: pairings.created_at,
      expires_at: pairings.expires_at,
      claimed_by: pairings.claimed_by,
    })
    .from(pairings),
  sql`where code_digest = ${p("digest")} or link_digest = ${p("digest")}`,
  { one: true },
);

/** Marks the code as used, if the same batch gave its account the revision. */
export const usePairing = statement(
  updateSet(
    pairings,
    ["claimed_by"],
    sql`code_digest = ${p("code_digest")} and ${atRevision("accounts")}`,
  ),
);

/** Forgets the code that added the sign-in `session_id`, if the same batch gave its account the revision. */
export const forgetClaim = statement(
  sql`delete from pairings where account_id = ${p("account_id")} and claimed_by = ${p("session_id")} and ${atRevision("accounts")}`,
);

/** Deletes codes that had expired by `before`. */
export const prunePairings = pruner(
  sql`delete from pairings where seq in (
    select seq from pairings where expires_at <= ${p("before", pairings.expires_at)} limit ${p("limit")})`,
);
