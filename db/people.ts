/** Queries of the administrator on accounts and invitations (§4.4, §5.2.1(6)). */

import { LIMITS } from "../src/limits.ts";
import { invitations } from "./admin-schema.ts";
import { pruner } from "./retention.ts";
import { accounts } from "./schema.ts";
import { isNewToken } from "./sessions.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, qb, rowOf, select, statement, updateSet } from "./store/statement.ts";

const live = sql`id = ${p("id")} and deleted_at is null`;

/** Names the account; null takes the name away. */
export const nameAccount = statement(updateSet(accounts, ["admin_name"], live));

/** Blocks the account. A trigger makes its credentials and targets useless, and ends its pairing codes. */
export const blockAccount = statement(
  updateSet(accounts, ["blocked_at", "revision"], sql`${live} and blocked_at is null`),
);

/** Ends the block. A trigger gives the account its credentials and targets back. */
export const unblockAccount = statement(
  sql`update accounts set blocked_at = null, revision = ${p("revision")} where ${live} and blocked_at is not null`,
);

/**
 * Marks the account as deleted: statements in this order. The first ends its block, so that its tokens end like those of
 * any other account (§4.1.7).
 */
export const deleteAccountNow = [
  statement(sql`update accounts set blocked_at = null, revision = ${p("revision")} where ${live}`),
  statement(
    sql`update accounts set deleted_at = ${p("deleted_at", accounts.deleted_at)} where ${live} and revision = ${p("revision")}`,
  ),
] as const;

/** Whether the account is blocked; no row if it does not exist. */
export const blockOf = statement(sql`select blocked_at is not null from accounts where ${live}`, {
  returns: rowOf<[blocked: 0 | 1]>(),
});

const time = <Name extends string>(name: Name) => p(name, invitations.created_at);
const isOpen = sql`account_id is null and expires_at > ${time("now")}`;

/** Inserts an invitation, if fewer than `LIMITS.open_invitations` are open at `now`. */
export const insertInvitation = statement(
  insertWhere(
    invitations,
    sql`(select count(*) from invitations where ${isOpen}) < ${sql.raw(LIMITS.open_invitations)}`,
  ),
);

const columns = {
  id: invitations.id,
  name: invitations.name,
  created_at: invitations.created_at,
  expires_at: invitations.expires_at,
};

/** The invitations that are open at `now`, newest first. */
export const openInvitations = select(
  qb.select(columns).from(invitations),
  sql`where ${isOpen} order by expires_at desc limit ${sql.raw(LIMITS.open_invitations)}`,
);

/** The open or used invitation with this digest of its code. */
export const invitationByCode = select(
  qb.select({ ...columns, account_id: invitations.account_id }).from(invitations),
  sql`where code_digest = ${p("code_digest")}`,
  { one: true },
);

/** Ends an invitation that was not used. */
export const endInvitation = statement(
  sql`delete from invitations where id = ${p("id")} and account_id is null`,
);

/** Inserts the account of the invitation `invitation_id`, unless that was used or has ended. */
export const insertInvitedAccount = statement(
  insertWhere(
    accounts,
    sql`exists (select 1 from invitations where id = ${p("invitation_id")} and account_id is null)
      and ${isNewToken("digest")}`,
  ),
);

/** Marks the invitation as used, and names the account, if the same batch inserted it: statements in this order. */
export const useInvitation = [
  statement(
    sql`update invitations set account_id = ${p("id")} where id = ${p("invitation_id")} and account_id is null
      and exists (select 1 from accounts where id = ${p("id")})`,
  ),
  statement(
    sql`update accounts set admin_name = (select name from invitations where id = ${p("invitation_id")})
      where id = ${p("id")} and exists (select 1 from invitations where id = ${p("invitation_id")} and account_id = ${p("id")})`,
  ),
  // The name goes with the account.
  statement(
    sql`update invitations set name = null where id = ${p("invitation_id")} and account_id = ${p("id")}`,
  ),
];

/** Deletes invitations that had expired by `before`. */
export const pruneInvitations = pruner(
  sql`delete from invitations where id in (
    select id from invitations where expires_at <= ${p("before", invitations.expires_at)} limit ${p("limit")})`,
);
