/** Queries on links by which channels are added (§19.2.7). */

import { LIMITS } from "../src/limits.ts";
import { isLiveAccount } from "./accounts.ts";
import { channelLinks } from "./notify/reply-schema.ts";
import { channels } from "./notify/schema.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, qb, select, statement } from "./store/statement.ts";

const own = sql`id = ${p("id")} and account_id = ${p("account_id")}`;

/** Inserts a link unless the account has ended. */
export const insertLink = statement(insertWhere(channelLinks, isLiveAccount));

/** Ends the oldest links of an account beyond its limit. */
export const endOldestLinks = statement(
  sql`delete from channel_links where account_id = ${p("account_id")} and id not in (
    select id from channel_links where account_id = ${p("account_id")}
      order by created_at desc, id desc limit ${sql.raw(LIMITS.channel_links)})`,
);

/** The link, if it is the account's. */
export const linkById = select(
  qb.select().from(channelLinks),
  sql`where ${own} and ${isLiveAccount}`,
  { one: true },
);

/** The link that has this code and has not expired. One from the future counts as expired: then a clock was wrong. */
const openByCode = sql`code_digest = ${p("code_digest")} and expires_at > ${p("now", channelLinks.expires_at)}
  and created_at <= ${p("latest", channelLinks.created_at)}`;

/** The open link with this code. */
export const linkByCode = select(
  qb
    .select({
      id: channelLinks.id,
      type: channelLinks.type,
      listener: channelLinks.listener,
      visitor: channelLinks.visitor,
    })
    .from(channelLinks),
  sql`where ${openByCode}`,
  { one: true },
);

/** Notes who opened the link with this code, if nobody has. */
export const visitLink = statement(
  sql`update channel_links set visitor = ${p("visitor", channelLinks.visitor)} where visitor is null and ${openByCode}`,
);

/** True in SQL if the link is there and was opened. */
const isOpened = sql`exists (select 1 from channel_links where id = ${p("link_id")}
  and account_id = ${p("account_id")} and visitor is not null)`;

/** Deletes the channel of the same account and address, if {@link insertLinkedChannel} will then insert another. */
export const deleteRelinkedChannel = statement(
  sql`delete from channels where endpoint_digest = ${p("endpoint_digest")}
    and account_id = ${p("account_id")} and id <> ${p("id")} and ${isLiveAccount} and ${isOpened}`,
);

/** Inserts the channel of a link that was opened, unless the account has ended or its full number of channels. */
export const insertLinkedChannel = statement(
  insertWhere(
    channels,
    sql`${isLiveAccount} and ${isOpened}
      and (select count(*) from channels where account_id = ${p("account_id")} and key_id is null) < ${sql.raw(LIMITS.channels_per_account)}`,
  ),
);

/** Ends a link, if the same batch inserted its channel. */
export const endConfirmedLink = statement(
  sql`delete from channel_links where id = ${p("link_id")}
    and exists (select 1 from channels where id = ${p("id")})`,
);
