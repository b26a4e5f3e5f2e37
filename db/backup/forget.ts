/**
 * What a restored store must not do again: send what was waiting when the backup was made, and accept what was replaced
 * or used since.
 */

import { pathToFileURL } from "node:url";
import type { openConnection } from "../store/connection.ts";
import { BackupError } from "./backup-files.ts";
import type { Value } from "./rows.ts";
import { copyError, isReadAlone } from "./snapshot.ts";

type Connection = ReturnType<typeof openConnection>;

export interface Forgotten {
  /** Notifications and messages of webhooks that waited. */
  readonly notifications: number;
  readonly webhook_messages: number;
  /** Accesses by OAuth that have to sign in again. */
  readonly accesses: number;
  /** Sign-ins and keys that ended in the old store, and those that got another token or secret there; null without it. */
  readonly ended: number | null;
  readonly replaced: number | null;
}

/** The reason of deliveries (§2.11.2). */
const REASON = "restored";

/**
 * Removes what waits from every queue, in one transaction, and says so in the deliveries of questions. What was tried may
 * have arrived. `now`: epoch seconds. `old`: the store that this one replaces, or null.
 */
export function forget(
  connection: Connection,
  now: number,
  old: { readonly path: string; readonly file_key: string | null } | null,
): Forgotten {
  const count = (query: string): number =>
    Number((connection.prepare(query).all() as Value[][])[0]![0]);
  if (old !== null) {
    attachOld(connection, old);
  }
  connection.exec("begin immediate");
  const done = {
    notifications: count("select count(*) from deliveries"),
    webhook_messages: count("select count(*) from webhook_messages"),
    accesses: count("select count(distinct grant_id) from credentials where grant_id is not null"),
  };
  connection.exec(QUEUES);
  connection.prepare(NUDGES).run([Math.round(now * 1000)]);
  connection.exec(SHORT_LIVED);
  const ends = old === null ? { ended: null, replaced: null } : endAsIn(connection, count);
  connection.exec("commit");
  return { ...done, ...ends };
}

/** The triggers of these tables keep the counts, and would give another reason to a delivery that is still queued. */
const QUEUES = `
  update question_deliveries set status = 'failed', reason = '${REASON}' from deliveries p
    where p.kind = 'question' and p.attempts > 0 and question_deliveries.question_id = p.question_id
      and question_deliveries.target_id = p.recipient_id and question_deliveries.status = 'queued';
  update question_deliveries set status = 'failed', reason = '${REASON}' from webhook_messages m
    where m.type = 'question.created' and m.attempts > 0 and question_deliveries.question_id = m.subject
      and question_deliveries.target_id = m.channel_id and question_deliveries.status = 'queued';
  update question_deliveries set status = 'suppressed', reason = '${REASON}' where status = 'queued';
  update channels set missed = missed + queued where queued > 0;
  delete from deliveries;
  delete from webhook_messages where head = 0;
  delete from webhook_messages;
  delete from live_activities where ended_at is not null;
  update listeners set lease = null where lease is not null;
  delete from open_pages;
  delete from page_processes;
`;

/** Questions whose second ring was due before now. */
const NUDGES = "update questions set nudge_at = null where status = 'pending' and nudge_at <= ?";

/** What can be used once or for some minutes, and tokens of OAuth, which are replaced every hour. */
const SHORT_LIVED = `
  delete from credentials where grant_id is not null;
  delete from grants where redeemed_at is null;
  delete from approvals;
  delete from pairings;
  delete from channel_links;
  delete from challenges;
`;

/** Makes the old store known to the connection as `old`, and reads it once. */
function attachOld(
  connection: Connection,
  { path, file_key }: { readonly path: string; readonly file_key: string | null },
): void {
  const how = isReadAlone(path) ? "immutable=1" : "mode=ro";
  const key = file_key === null ? "" : " key ?";
  try {
    connection
      .prepare(`attach database ? as old${key}`)
      .run([`${pathToFileURL(path).href}?${how}`, ...(file_key === null ? [] : [file_key])]);
    connection.exec("select 1 from old.sqlite_schema limit 1");
  } catch (error) {
    throw copyError(path, null, error);
  }
}

/**
 * Ends the sign-ins, keys' secrets and recovery codes that the old store no longer has, and takes over new digests and
 * the administrator's blocks.
 */
function endAsIn(
  connection: Connection,
  count: (query: string) => number,
): { readonly ended: number; readonly replaced: number } {
  const has = (query: string) => count(`select count(*) from (${query})`) > 0;
  const number = "coalesce((select seq from %.sqlite_sequence where name = 'events'), 0)";
  if (
    !has(`select 1 from old.sqlite_schema where name = 'credentials'`) ||
    !has(
      "select 1 from secrets s join old.secrets o on o.name = s.name and o.value = s.value where s.name = 'signing'",
    ) ||
    !has(`select 1 where ${number.replace("%", "old")} >= ${number.replace("%", "main")}`)
  ) {
    throw new BackupError("--old must be the store that was backed up, as it was later");
  }
  connection.exec(`
    create temp table changed as select c.digest, o.digest as newer from main.credentials c
      left join old.credentials o on o.id = c.id where o.digest is not c.digest;
    delete from credentials where digest in (select digest from temp.changed where newer is null);
    update credentials set digest = (select newer from temp.changed t where t.digest = credentials.digest)
      where digest in (select digest from temp.changed where newer is not null);
  `);
  if (has("select 1 from pragma_table_info('accounts', 'old') where name = 'blocked_at'")) {
    // Triggers of the account make a block or its end take effect.
    connection.exec(`
      update accounts set blocked_at = o.blocked_at from old.accounts o
        where o.id = accounts.id and (o.blocked_at is null) <> (accounts.blocked_at is null);
    `);
  }
  if (has("select 1 from old.sqlite_schema where name = 'recovery_codes'")) {
    connection.exec(`
      delete from recovery_codes where digest not in (select digest from old.recovery_codes);
      insert or ignore into recovery_codes (account_id, digest, created_at, used_digest, session_id)
        select account_id, digest, created_at, used_digest, session_id from old.recovery_codes
        where account_id in (select id from main.accounts where deleted_at is null);
    `);
  }
  return {
    ended: count("select count(*) from temp.changed where newer is null"),
    replaced: count("select count(*) from temp.changed where newer is not null"),
  };
}
