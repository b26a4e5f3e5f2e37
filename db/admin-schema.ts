/** The tables of the administrator: invitations, and the figures of the charts. */

import {
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { timestamp } from "./schema.ts";

/** Invitations (§5.2.1(6)): each creates one account, with a code of which only a keyed digest is stored. */
export const invitations = sqliteTable(
  "invitations",
  {
    id: text().primaryKey(),
    code_digest: text().notNull(),
    /** What the administrator calls the person; the account gets it. */
    name: text(),
    created_at: timestamp().notNull(),
    expires_at: timestamp().notNull(),
    /** The account that it created; null while it is open. */
    account_id: text(),
  },
  (t) => [
    uniqueIndex("invitations_code").on(t.code_digest),
    index("invitations_expiry").on(t.expires_at),
  ],
);

/**
 * What each process measured in each of the last minutes, for the administrator's charts (src/services/kept-minutes.ts).
 */
export const minutes = sqliteTable(
  "minutes",
  {
    /** Minutes since the epoch. */
    minute: integer().notNull(),
    /** A new name at each start of a process. */
    process: text().notNull(),
    /** JSON. */
    figures: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.minute, t.process] })],
);
