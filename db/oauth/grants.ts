/** Queries on grants of OAuth and their tokens (§18.5). */

import { and, sql as drizzle, eq, isNull } from "drizzle-orm";
import { LIMITS } from "../../src/limits.ts";
import { credentials } from "../credentials-schema.ts";
import { hasRoomForKey } from "../keys.ts";
import { atRevision } from "../outbox.ts";
import { pruner } from "../retention.ts";
import { p, sql } from "../store/sql.ts";
import { insertWhere, qb, select, statement, updateSet } from "../store/statement.ts";
import { grants } from "./schema.ts";

const atGrant = () => atRevision("grants");

/**
 * The grant that an account gave a request. Each request has a new challenge (RFC 7636 4.1); if a client repeats one,
 * the grant of the earlier request is older than this request.
 */
const ofRequest = sql`account_id = ${p("account_id")} and client_digest = ${p("client_digest")}
  and challenge = ${p("challenge")} and created_at >= ${p("requested_at", grants.created_at)}`;

const isNew = sql`not exists (select 1 from grants where ${ofRequest})`;

/** Inserts if the key is the account's, and the account has not approved the request yet. */
export const insertGrant = statement(
  insertWhere(
    grants,
    sql`exists (select 1 from keys where id = ${p("key_id")} and account_id = ${p("account_id")} and deleted_at is null)
      and ${isNew}`,
  ),
);

/** Inserts a grant of a key that the next statement inserts, if the account may have one more key. */
export const insertGrantOfNewKey = statement(
  insertWhere(grants, sql`${hasRoomForKey} and ${isNew}`),
);

/** When a grant or one of its tokens was last used. */
const lastUse = sql`max(grants.last_used_at, coalesce(
  (select max(credentials.last_used_at) from credentials where credentials.grant_id = grants.id), 0))`;

/**
 * Ends the grants of the key beyond the full number, least recently used first, if the grant got the revision earlier
 * in the batch. Grants whose code was not used yet do not count.
 */
export const trimGrants = statement(
  sql`delete from grants where key_id = ${p("key_id")} and redeemed_at is not null and id not in (
    select id from grants where key_id = ${p("key_id")} and redeemed_at is not null
    order by ${lastUse} desc, id desc limit ${sql.raw(LIMITS.grants_per_key)}) and ${atGrant()}`,
);

/**
 * Ends older grants of the same client, by its name and the host that access leads to, and key, whose tokens were never
 * used: the client has signed in again. If the grant got the revision earlier in the batch.
 */
export const endUnused = statement(
  sql`delete from grants where key_id = ${p("key_id")} and redeemed_at is not null and id <> ${p("id")}
    and client_name = ${p("client_name")} and client_host is ${p("client_host")}
    and created_at <= ${p("created_at", grants.created_at)} and last_used_at = redeemed_at
    and not exists (select 1 from credentials where grant_id = grants.id and last_used_at is not null)
    and ${atGrant()}`,
);

const all = qb.select().from(grants);

export const grantById = select(all, sql`where id = ${p("id")}`, { one: true });

export const grantOfRequest = select(
  all,
  sql`where ${ofRequest} order by created_at desc limit 1`,
  { one: true },
);

export const grantByCode = select(all, sql`where code_digest = ${p("code_digest")}`, { one: true });

export const grantByFamily = select(all, sql`where family_digest = ${p("family_digest")}`, {
  one: true,
});

/** The grant of a token; `replaced_at` is null for the newest token. */
export const tokenByDigest = select(
  qb
    .select({
      grant_id: credentials.grant_id,
      kind: credentials.kind,
      expires_at: credentials.expires_at,
      replaced_at: credentials.replaced_at,
    })
    .from(credentials),
  sql`where digest = ${p("digest")} and grant_id is not null`,
  { one: true },
);

/** The row is as it was when the change was decided. */
const unchanged = sql`id = ${p("id")} and revision = ${p("old_revision")}`;

/** Stores the authorization code of a grant, unless one has been used. */
export const setCode = statement(
  updateSet(
    grants,
    ["code_digest", "expires_at", "revision"],
    sql`${unchanged} and redeemed_at is null`,
  ),
);

export const redeemGrant = statement(
  updateSet(
    grants,
    ["family_digest", "redeemed_at", "last_used_at", "expires_at", "revision"],
    sql`${unchanged} and redeemed_at is null`,
  ),
);

export const renewGrant = statement(
  updateSet(grants, ["last_used_at", "expires_at", "revision"], unchanged),
);

/** Gives the grant a new revision, for the statements after it that end the grant. */
export const claimGrant = statement(updateSet(grants, ["revision"], sql`id = ${p("id")}`));

/** Like {@link claimGrant}, if the grant is the account's and of that key. */
export const claimOwnGrant = statement(
  updateSet(
    grants,
    ["revision"],
    sql`id = ${p("id")} and key_id = ${p("key_id")} and account_id = ${p("account_id")} and redeemed_at is not null`,
  ),
);

/** Deletes the grant, and by a trigger its tokens, if it got the revision earlier in the batch. */
export const deleteGrant = statement(
  sql`delete from grants where id = ${p("id")} and ${atGrant()}`,
);

/** Ends the tokens of a grant that were replaced earlier. */
export const dropReplaced = statement(
  sql`delete from credentials where grant_id = ${p("id")} and replaced_at is not null and ${atGrant()}`,
);

/** Marks the tokens of a grant as replaced. */
export const markReplaced = statement(
  updateSet(credentials, ["replaced_at"], sql`grant_id = ${p("id")} and ${atGrant()}`),
);

/** Inserts a token of the grant, with the last host and client of its key. */
export const insertToken = statement(
  sql`insert into credentials (digest, id, kind, account_id, key_id, made_by, created_at, last_host, last_client, expires_at, grant_id)
    select ${p("digest")}, ${p("credential_id")}, ${p("kind")}, grants.account_id, grants.key_id, 'account',
      ${p("created_at", credentials.created_at)}, keys.last_host, keys.last_client, ${p("expires_at", credentials.expires_at)}, grants.id
    from grants join keys on keys.id = grants.key_id
    where grants.id = ${p("id")} and keys.deleted_at is null and ${atGrant()}`,
);

/** The grants of a key that have tokens, newest first, with the last use of the newest access token. */
export const grantsOfKey = select(
  qb
    .select({
      grant: {
        id: grants.id,
        client_name: grants.client_name,
        client_host: grants.client_host,
        created_at: grants.created_at,
        last_used_at: grants.last_used_at,
        expires_at: grants.expires_at,
      },
      token_used_at: credentials.last_used_at,
    })
    .from(grants)
    .leftJoin(
      credentials,
      and(
        eq(credentials.grant_id, grants.id),
        eq(credentials.kind, drizzle`'oauth_access'`),
        isNull(credentials.replaced_at),
      ),
    ),
  sql`where grants.key_id = ${p("key_id")} and grants.account_id = ${p("account_id")} and grants.redeemed_at is not null
    and grants.expires_at > ${p("now", grants.expires_at)} order by grants.created_at desc, grants.id desc`,
);

/** The account's key that a client of this name and host used last. */
export const keyOfClient = select(
  qb.select({ key_id: grants.key_id }).from(grants),
  sql`where account_id = ${p("account_id")} and client_name = ${p("client_name")} and client_host is ${p("client_host")}
    and redeemed_at is not null
    order by coalesce(last_used_at, created_at) desc limit 1`,
);

/** Deletes grants that had expired by `before`; a trigger deletes their tokens. */
export const pruneGrants = pruner(
  sql`delete from grants where id in (
    select id from grants where expires_at <= ${p("before", grants.expires_at)} limit ${p("limit")})`,
);
