/** Queries on the sign-ins of an account, which are its credentials of the kind `account_token`. */

import { LIMITS } from "../src/limits.ts";
import { credentials } from "./credentials-schema.ts";
import { atRevision } from "./outbox.ts";
import { accounts } from "./schema.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, qb, rowOf, select, statement, updateSet } from "./store/statement.ts";

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

/** The sign-ins of an account, newest first. */
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

/** True in SQL if the row `own` is past its trial, or the only sign-in of its account. */
const pastTrial = sql`(own.made_by = 'account' or own.confirmed_at is not null
  or own.created_at <= ${p("trial_since", credentials.created_at)}
  or not exists (select 1 from credentials as other
    where other.account_id = own.account_id and other.kind = 'account_token' and other.id <> own.id))`;

/** True in SQL if the sign-in with the digest `credential` exists and is past its trial (§4.1.6). */
export const isPastTrial = sql`exists (select 1 from credentials as own
  where own.digest = ${p("credential")} and own.account_id = ${p("account_id")} and ${pastTrial})`;

/** The ids, in SQL, of the sign-ins of the account in their trial. */
export const sessionsInTrial = sql`(select own.id from credentials as own
  where own.account_id = ${p("account_id")} and own.kind = 'account_token' and not ${pastTrial})`;

/** Reads {@link isPastTrial}. Once true, it stays true, unless the only sign-in of an account adds another one. */
export const pastTrialNow = statement(sql`select ${isPastTrial}`, {
  returns: rowOf<[is_past: 0 | 1]>(),
});

/** True in SQL if the account has the sign-in `session_id`. */
export const isLiveSession = sql`exists (select 1 from credentials where id = ${p("session_id")} and ${ofAccount})`;

/**
 * Gives the account a new revision, if its sign-in `session_id` is in a trial, and the one with the digest `credential`,
 * which ends that trial, is past its own.
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

/** Ends the trial of a sign-in, if the same batch gave the account this revision. */
export const confirmSession = statement(
  updateSet(
    credentials,
    ["confirmed_at"],
    sql`id = ${p("session_id")} and ${ofAccount} and ${atRevision("accounts")}`,
  ),
);

/**
 * Gives the account a new revision, if its sign-in `session_id` exists, and the one with the digest `credential` ends
 * itself or is past its trial. Unless `last` is 1, another sign-in must be left.
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

/** Ends the sign-in `session_id`, if the same batch gave the account the revision. */
export const deleteSession = statement(
  sql`delete from credentials where id = ${p("session_id")} and ${ofAccount} and ${atRevision("accounts")}`,
);

/** True in SQL if no account, not even a deleted one, has a token with the digest `name`. */
export const isNewToken = <Name extends string>(name: Name) =>
  sql`not exists (select 1 from credentials where digest = ${p(name)})
  and not exists (select 1 from ended_tokens where digest = ${p(name)} and owner is null)`;

/** 1 if a sign-in has a token with this digest, or a deleted account had one. */
export const isTokenTaken = statement(
  sql`select exists (select 1 from credentials where digest = ${p("digest")})
    or exists (select 1 from ended_tokens where digest = ${p("digest")} and owner is null)`,
  { returns: rowOf<[taken: 0 | 1]>() },
);

/**
 * Gives the account a new revision, if the pairing code `code_digest` is open, no account has or had the token `digest`,
 * and the account may have one more sign-in.
 */
export const claimSessionAdded = statement(
  updateSet(
    accounts,
    ["revision"],
    sql`id = ${p("account_id")} and deleted_at is null and blocked_at is null
      and exists (select 1 from pairings where code_digest = ${p("code_digest")} and claimed_by is null)
      and ${isNewToken("digest")}
      and (select count(*) from credentials where ${ofAccount}) < ${sql.raw(LIMITS.sessions_per_account)}`,
  ),
);

/** Adds a sign-in, if the same batch gave the account the revision. */
export const insertSession = statement(insertWhere(credentials, atRevision("accounts")));
