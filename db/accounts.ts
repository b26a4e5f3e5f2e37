/** Queries on accounts and their tokens. */

import type { SQL } from "drizzle-orm";
import { RATES } from "../src/limits.ts";
import { credentials } from "./credentials-schema.ts";
import { usesOf } from "./hourly-limits.ts";
import { accounts } from "./schema.ts";
import { isNewToken, isPastTrial } from "./sessions.ts";
import { storedBy } from "./storage.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, qb, rowOf, select, statement, updateSet } from "./store/statement.ts";

const account = qb
  .select({
    id: accounts.id,
    created_at: accounts.created_at,
    live_activities: accounts.live_activities,
    nudges: accounts.nudges,
    stored_bytes: (storedBy("accounts") as SQL<number>).as("stored_bytes"),
  })
  .from(accounts);

/** The account, unless it is deleted. */
export const accountById = select(account, sql`where id = ${p("id")} and deleted_at is null`, {
  one: true,
});

/** The account of a sign-in, by the digest of its token. */
export const accountByToken = select(
  account,
  sql`where deleted_at is null and id =
    (select account_id from credentials where digest = ${p("digest", credentials.digest)} and kind = 'account_token')`,
  { one: true },
);

/** True in SQL if the account `account_id` is not deleted. */
export const isLiveAccount = sql`exists (select 1 from accounts where id = ${p("account_id")} and deleted_at is null)`;

/** Inserts an account. `insertSession` follows in the batch, with the credential of its token `digest`. */
export const insertAccount = statement(insertWhere(accounts, isNewToken("digest")));

/** True in SQL if there is or was an account. The row of a deleted one goes, but the number of its last event stays. */
const had_accounts = sql`(exists (select 1 from accounts)
  or exists (select 1 from sqlite_sequence where name = 'events' and seq > 0))`;

export const hadAccounts = statement(sql`select ${had_accounts}`, { returns: rowOf<[0 | 1]>() });

/** Inserts the first account of the store. */
export const insertFirstAccount = statement(
  insertWhere(accounts, sql`not ${had_accounts} and ${isNewToken("digest")}`),
);

const own = sql`id = ${p("id")} and deleted_at is null`;
export const updateLiveActivities = statement(updateSet(accounts, ["live_activities"], own));
export const updateNudges = statement(updateSet(accounts, ["nudges"], own));

/**
 * Gives the account a new revision if `old_digest` is one of its sign-ins, and no account, not even a deleted one, has
 * `digest`, which is to replace it.
 */
export const claimTokenReplacement = statement(
  updateSet(
    accounts,
    ["revision"],
    sql`id = ${p("id")} and deleted_at is null
      and exists (select 1 from credentials where digest = ${p("old_digest")} and account_id = ${p("id")} and key_id is null)
      and ${isNewToken("digest")}`,
  ),
);

/** Marks the account as deleted, if the sign-in is past its trial. */
export const deleteAccount = statement(
  updateSet(
    accounts,
    ["deleted_at", "revision"],
    sql`id = ${p("account_id")} and deleted_at is null and ${isPastTrial}`,
  ),
);

/** Counts how often the account made Relay send something to an address of its choice. */
export const addressUses = usesOf(
  "accounts",
  "address_uses",
  RATES.address_uses,
  sql`id = ${p("account_id")} and deleted_at is null`,
);
