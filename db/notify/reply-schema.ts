/** The tables of what listens for answers: connections, channels that are being added, and messages (§19.8). */

import {
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { timestamp } from "../schema.ts";

/**
 * The connections over which answers come (§19.8), one row for each key of `ReplySource.keyOf`. Triggers of migration
 * 0034 make the row with the first channel or link, and give it a new `version` whenever those change.
 */
export const listeners = sqliteTable(
  "listeners",
  {
    key: text().primaryKey(),
    /** The name under which one process listens now, which has the same for all of its rows. */
    lease: text(),
    /** Where it goes on, in a form that the channel defines; null before the first event. */
    position: text(),
    /** When its channels or links last changed, by the store's clock. */
    changed_at: timestamp().notNull(),
    /** Grows over all rows with each such change. */
    version: integer().notNull(),
  },
  (t) => [index("listeners_lease").on(t.lease), index("listeners_version").on(t.version)],
);

/**
 * Channels that accounts have begun to add, and that exist once the account confirms who opened the link (§19.8).
 * Triggers keep {@link listeners}, as for channels.
 */
export const channelLinks = sqliteTable(
  "channel_links",
  {
    id: text().primaryKey(),
    account_id: text().notNull(),
    session_id: text().notNull(),
    type: text().notNull(),
    label: text().notNull(),
    listener: text().notNull(),
    /** What is known of the address, in a form that the channel defines. A secret: encrypted if there is a key. */
    address: text().notNull(),
    /** Digest of the code in the link. */
    code_digest: text().notNull(),
    /** Who opened it first, and the address that it then has, which is encrypted if there is a key; null until then. */
    visitor: text({ mode: "json" }).$type<{
      readonly name: string;
      readonly username: string | null;
      readonly address: string;
    }>(),
    created_at: timestamp().notNull(),
    expires_at: timestamp().notNull(),
  },
  (t) => [
    uniqueIndex("channel_links_code").on(t.code_digest),
    index("channel_links_account").on(t.account_id),
    index("channel_links_listener").on(t.listener),
    index("channel_links_expiry").on(t.expires_at),
  ],
);

/**
 * What services call the messages that they accepted (`Verdict.handle`), to change them and to know what a reply
 * refers to. A trigger deletes the rows of a channel with it; a job those of subjects that ended 7 days ago.
 */
export const channelMessages = sqliteTable(
  "channel_messages",
  {
    channel_id: text().notNull(),
    /** Id of the question or task. */
    subject: text().notNull(),
    handle: text().notNull(),
    at: timestamp().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.channel_id, t.handle] }),
    index("channel_messages_subject").on(t.channel_id, t.subject, t.at),
    index("channel_messages_at").on(t.at),
  ],
);
