/** Queries on recovery codes (§5.2.7, §5.13.5). */

import { LIMITS } from "../src/limits.ts";
import { isLiveAccount } from "./accounts.ts";
import { credentials, recoveryCodes } from "./credentials-schema.ts";
import { atRevision } from "./outbox.ts";
import { accounts } from "./schema.ts";
import { isNewToken, isPastTrial, sessionsInTrial } from "./sessions.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, qb, rowOf, select, statement, updateSet } from "./store/statement.ts";

/** When the code of an account was made. */
export const recoveryCodeOfAccount = select(
  qb.select({ created_at: recoveryCodes.created_at }).from(recoveryCodes),
  sql`where account_id = ${p("account_id")}`,
  { one: true },
);

/** The code with this digest, or the one that its use made. */
export const recoveryCodeByDigest = select(
  qb
    .select({
      account_id: recoveryCodes.account_id,
      digest: recoveryCodes.digest,
      used_digest: recoveryCodes.used_digest,
      session_id: recoveryCodes.session_id,
    })
    .from(recoveryCodes),
  sql`where digest = ${p("digest")} or used_digest = ${p("digest")}`,
  { one: true },
);

/** Sets the code of the account, if the sign-in with the digest `credential` is past its trial. */
export const replaceRecoveryCode = statement(
  sql`${insertWhere(recoveryCodes, sql`${isLiveAccount} and ${isPastTrial}`)}
    on conflict (account_id) do update set digest = excluded.digest, created_at = excluded.created_at,
      used_digest = excluded.used_digest, session_id = excluded.session_id`,
);

const ofAccount = sql`account_id = ${p("account_id")} and kind = 'account_token'`;

/** Whether the sign-in `session_id` is in its trial (§4.1.6). */
export const isSessionInTrial = statement(sql`select ${p("session_id")} in ${sessionsInTrial}`, {
  returns: rowOf<[in_trial: 0 | 1]>(),
});

/**
 * Gives the account a new revision, if it is not blocked, its code has the digest `code_digest` and was not made for a
 * sign-in in its trial, no account has or had the token `digest`, and the account may have one more sign-in.
 */
export const claimRecovery = statement(
  updateSet(
    accounts,
    ["revision"],
    sql`id = ${p("account_id")} and deleted_at is null and blocked_at is null
      and exists (select 1 from recovery_codes where account_id = ${p("account_id")} and digest = ${p("code_digest")}
        and (session_id is null or session_id not in ${sessionsInTrial}))
      and ${isNewToken("digest")}
      and (select count(*) from credentials where ${ofAccount}) < ${sql.raw(LIMITS.sessions_per_account)}`,
  ),
);

/**
 * Gives the account a new revision, if it is not blocked, its code was made by a use of `code_digest` whose sign-in
 * `session_id` has never been used, and no account has or had the token `digest`.
 */
export const claimRepeatedRecovery = statement(
  updateSet(
    accounts,
    ["revision"],
    sql`id = ${p("account_id")} and deleted_at is null and blocked_at is null
      and exists (select 1 from recovery_codes where account_id = ${p("account_id")}
        and used_digest = ${p("code_digest")} and session_id = ${p("session_id")})
      and exists (select 1 from credentials where id = ${p("session_id")} and ${ofAccount} and last_used_at is null)
      and ${isNewToken("digest")}`,
  ),
);

/** Replaces a code by its successor `digest`, if the same batch gave the account the revision. */
export const useRecoveryCode = statement(
  updateSet(
    recoveryCodes,
    ["digest", "used_digest", "session_id", "created_at"],
    sql`account_id = ${p("account_id")} and ${atRevision("accounts")}`,
  ),
);

/**
 * Ends the code that the sign-in `session_id` got by a recovery, if that sign-in is in its trial or was never used,
 * the account has another one, and the same batch gave the account the revision.
 */
export const endRecoveryCodeOf = statement(
  sql`delete from recovery_codes where account_id = ${p("account_id")} and session_id = ${p("session_id")}
    and (session_id in ${sessionsInTrial} or exists (select 1 from credentials where id = ${p("session_id")}
      and ${ofAccount} and last_used_at is null))
    and exists (select 1 from credentials where ${ofAccount} and id <> ${p("session_id", credentials.id)})
    and ${atRevision("accounts")}`,
);
