/** Queries on the webhooks of keys (§5.9.5). notify/webhook-queue.ts has their messages. */

import { RATES } from "../src/limits.ts";
import { WEBHOOK_LIMITS } from "../src/notification-limits.ts";
import { credentials } from "./credentials-schema.ts";
import { usesOf } from "./hourly-limits.ts";
import { channels, SECRET, webhookMessages } from "./notify/schema.ts";
import { atRevision } from "./outbox.ts";
import { keys } from "./schema.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, rowOf, statement, updateSet } from "./store/statement.ts";

const liveKey = sql`id = ${p("id")} and account_id = ${p("account_id")} and deleted_at is null`;

/** Counts how often the webhook of a key was set. */
export const webhookSets = usesOf("keys", "webhook_sets", RATES.webhook_sets, liveKey);

/**
 * Reads what a webhook set with this credential depends on, so that it ends with it: the id of a grant, or {@link
 * SECRET}; null for an account's token. No row if the credential has ended.
 */
export const setterOf = statement(
  sql`select case kind when 'key_secret' then ${sql.raw(`'${SECRET}'`)} else grant_id end
    from credentials where digest = ${p("credential", credentials.digest)}`,
  { returns: rowOf<[set_by: string | null]>() },
);

/** Gives the key a new revision if it still has the old one and the credential has not ended. */
export const claimKey = statement(
  updateSet(
    keys,
    ["revision"],
    sql`${liveKey} and revision = ${p("old_revision")}
      and exists (select 1 from credentials where digest = ${p("credential")})`,
  ),
);

const claimed = atRevision("keys");

/** Deletes the webhook of a key that the batch has claimed. A trigger deletes its queue. */
export const deleteKeyWebhook = statement(
  sql`delete from channels where key_id = ${p("key_id")} and ${claimed}`,
);

/**
 * Deletes the webhook of a key if it was set with the old secret, so that whoever had that secret learns nothing more.
 */
export const deleteWebhookOfSecret = statement(
  sql`delete from channels where key_id = ${p("key_id")} and set_by = ${sql.raw(`'${SECRET}'`)} and ${claimed}`,
);

export const insertKeyWebhook = statement(insertWhere(channels, claimed));

/** Queues the oldest unread items of the key, up to the limit of a queue, for the webhook that the batch made. */
export const queueUnread = statement(
  sql`insert into webhook_messages (id, account_id, channel_id, subject, type, data, created_at, due_at, expires_at, head, item_seq)
    select id, account_id, ${p("channel_id")}, key_id, type, '{}', ${p("now", webhookMessages.created_at)}, ${p("now", webhookMessages.due_at)},
      ${p("expires_at", webhookMessages.expires_at)}, row_number() over (order by seq) = 1, seq
    from items where key_id = ${p("key_id")} and read_at is null and ${claimed}
    order by seq limit ${sql.raw(WEBHOOK_LIMITS.queued)}`,
);
