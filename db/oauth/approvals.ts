/** Queries on approvals by another device (§18.6). */

import { LIMITS } from "../../src/limits.ts";
import { pruner } from "../retention.ts";
import { p, sql } from "../store/sql.ts";
import { insertWhere, qb, select, statement, updateSet } from "../store/statement.ts";
import { approvals } from "./schema.ts";

const isOpen = sql`expires_at > ${p("created_at", approvals.created_at)}`;

const open = sql`(select count(*) from approvals where ${isOpen})`;
const openOfAddress = sql`(select count(*) from approvals where ${isOpen} and address = ${p("address")})`;

const hasRoomOfAddress = sql`${openOfAddress} < ${sql.raw(LIMITS.approvals_per_address)}`;

/**
 * If the table is full, deletes the oldest approval of the address that has the most, if that is more than the new one's
 * address has. So nobody who fills the table keeps others out, not even with one approval of each of many addresses.
 */
export const makeRoomForApproval = statement(
  sql`delete from approvals where id = (
    select id from approvals where ${isOpen} and status = 'pending' and address = (
      select address from approvals where ${isOpen} and status = 'pending' group by address
      having count(*) > ${openOfAddress} order by count(*) desc, min(created_at) limit 1)
    order by created_at, id limit 1)
    and ${open} >= ${sql.raw(LIMITS.approvals)} and ${hasRoomOfAddress}`,
);

/** Inserts unless the table is full, or the address has its full number. */
export const insertApproval = statement(
  insertWhere(approvals, sql`${open} < ${sql.raw(LIMITS.approvals)} and ${hasRoomOfAddress}`),
);

const all = qb.select().from(approvals);

export const approvalByCode = select(
  all,
  sql`where code_digest = ${p("code_digest")} and expires_at > ${p("now", approvals.expires_at)}`,
  { one: true },
);

export const approvalById = select(all, sql`where id = ${p("id")}`, { one: true });

export const approvalBySecret = select(all, sql`where secret_digest = ${p("secret_digest")}`, {
  one: true,
});

/** Decides a request that is still pending. */
export const decideApproval = statement(
  updateSet(
    approvals,
    ["status", "grant_id", "revision"],
    sql`id = ${p("id")} and status = 'pending' and expires_at > ${p("now", approvals.expires_at)}`,
  ),
);

/** Deletes approvals that had expired by `before`. */
export const pruneApprovals = pruner(
  sql`delete from approvals where id in (
    select id from approvals where expires_at <= ${p("before", approvals.expires_at)} limit ${p("limit")})`,
);
