/** Queries on the sign-ins of an account: its credentials of the kind `account_token`. */

import { LIMITS } from "../src/limits.ts";
import { credentials } from "./credentials-schema.ts";
import { atRevision } from "./outbox.ts";
import { accounts } from "./schema.ts";
import { p, sql } from "./sql.ts";
import { insertWhere, qb, rowOf, select, statement, updateSet } from "./statement.ts";

const columns = {
  id: credentials.id,
  label: credentials.label,
  made_by: credentials.made_by,
  created_at: credentials.created_at,
  last_used_at: credentials.last_used_at,
  address: credentials.address,
  confirmed_at: credentials.confirmed_at,
};

const ofAccount = sql`account_id = ${p("account_id")} and kind = 'account_token'`;

/** Newest first. */
export const sessionsOfAccount = select(
  qb.select(columns).from(credentials),
  sql`where ${ofAccount} order by created_at desc, id desc`,
);

export const sessionById = select(
  qb.select({ ...columns, digest: credentials.digest }).from(credentials),
  sql`where id = ${p("id")} and ${ofAccount}`,
  { one: true },
);

export const labelSession = statement(
  updateSet(credentials, ["label"], sql`id = ${p("id")} and ${ofAccount}`),
);

/** Labels the sign-in that was made with the account, if it was made, earlier in the same batch. */
export const labelFirstSession = statement(
  updateSet(
    credentials,
    ["label"],
    sql`digest = ${p("digest")} and account_id = ${p("account_id")}`,
  ),
);

/** True in SQL of a row `own` that is out of its trial, or the only sign-in of its account. */
const pastTrial = sql`(own.made_by = 'account' or own.confirmed_at is not null
  or own.created_at <= ${p("trial_since", credentials.created_at)}
  or not exists (select 1 from credentials as other
    where other.account_id = own.account_id and other.kind = 'account_token' and other.id <> own.id))`;

/**
 * True in SQL while the sign-in with the digest `credential` exists and may do all that
 * docs/interface.md §4.1.6 lists: it was not added after `trial_since`.
 */
export const isPastTrial = sql`exists (select 1 from credentials as own
  where own.digest = ${p("credential")} and own.account_id = ${p("account_id")} and ${pastTrial})`;

/** The ids in SQL of the sign-ins of the account that are in their trial. */
export const sessionsInTrial = sql`(select own.id from credentials as own
  where own.account_id = ${p("account_id")} and own.kind = 'account_token' and not ${pastTrial})`;

/** Whether {@link isPastTrial}. Once it is, it stays so, unless it was the only sign-in and adds another. */
export const pastTrialNow = statement(sql`select ${isPastTrial}`, {
  gives: rowOf<[is_past: 0 | 1]>(),
});

/** True in SQL while the account has the sign-in `session_id`. */
export const isLiveSession = sql`exists (select 1 from credentials where id = ${p("session_id")} and ${ofAccount})`;

/**
 * Gives a new revision to the account whose sign-in `session_id` is about to be confirmed. Guarded by
 * the sign-in with the digest `credential`, which is past its trial, and by a trial that can end.
 */
export const claimConfirmation = statement(
  updateSet(
    accounts,
    ["revision"],
    sql`id = ${p("account_id")} and deleted_at is null
      and exists (select 1 from credentials where id = ${p("session_id")} and ${ofAccount}
        and made_by <> 'account' and confirmed_at is null)
      and ${isPastTrial}`,
  ),
);

/** Ends the trial of a sign-in if the account got the revision earlier in the same batch. */
export const confirmSession = statement(
  updateSet(
    credentials,
    ["confirmed_at"],
    sql`id = ${p("session_id")} and ${ofAccount} and ${atRevision("accounts")}`,
  ),
);

/**
 * Gives a new revision to the account whose sign-in `session_id` is about to end. Guarded by the
 * sign-in with the digest `credential`: it ends itself or is past its trial; and unless `last` is 1,
 * by another sign-in that is left.
 */
export const claimSessionEnd = statement(
  updateSet(
    accounts,
    ["revision"],
    sql`id = ${p("account_id")} and deleted_at is null
      and exists (select 1 from credentials where id = ${p("session_id")} and ${ofAccount})
      and exists (select 1 from credentials as own where own.digest = ${p("credential")}
        and own.account_id = ${p("account_id")} and (own.id = ${p("session_id")} or ${pastTrial}))
      and (${p("last")} = 1 or (select count(*) from credentials where ${ofAccount}) > 1)`,
  ),
);

/** Ends it if the account got the revision earlier in the same batch. */
export const deleteSession = statement(
  sql`delete from credentials where id = ${p("session_id")} and ${ofAccount} and ${atRevision("accounts")}`,
);

/** Whether a token of this digest is there, or was when its account was deleted. */
export const isTokenTaken = statement(
  sql`select exists (select 1 from credentials where digest = ${p("digest")})
    or exists (select 1 from accounts where token_digest = ${p("digest")})`,
  { gives: rowOf<[taken: 0 | 1]>() },
);

/**
 * Gives a new revision to an account that is about to get a sign-in with the token of `digest`, by
 * the open pairing code of `code_digest`. Guarded by both, and by the number of its sign-ins.
 */
export const claimSessionAdded = statement(
  updateSet(
    accounts,
    ["revision"],
    sql`id = ${p("account_id")} and deleted_at is null
      and exists (select 1 from pairings where code_digest = ${p("code_digest")} and claimed_by is null)
      and not exists (select 1 from credentials where digest = ${p("digest")})
      and not exists (select 1 from accounts where token_digest = ${p("digest")})
      and (select count(*) from credentials where ${ofAccount}) < ${sql.raw(LIMITS.sessions_per_account)}`,
  ),
);

/** Adds it if the account got the revision earlier in the same batch. */
export const insertSession = statement(insertWhere(credentials, atRevision("accounts")));
