/** The outbox of events: written in the batch of the change, read in the order of the commits. */

import { getTableColumns } from "drizzle-orm";
import { inboxOf, type ServiceEvent, type StoredEvent } from "../src/model/event.ts";
import { events } from "./schema.ts";
import { p, sql } from "./store/sql.ts";
import { insertWhere, qb, rowOf, select, statement } from "./store/statement.ts";
import { type Cell, IN_BACKGROUND, type Statement, type Store, textBytes } from "./store/store.ts";

/** The tables whose rows carry a `revision`. */
const REVISED = ["accounts", "approvals", "grants", "items", "keys", "questions", "tasks"] as const;

/** A row at the revision that a change gave it. The follow-ups of the change are guarded by it. */
export interface RowRevision {
  readonly table: (typeof REVISED)[number];
  readonly id: string;
  readonly revision: string;
}

/** The values of {@link atRevision}. */
export const guardOf = ({ id, revision }: RowRevision) => ({
  changed_id: id,
  changed_revision: revision,
});

/** True in SQL if the row has the revision that the same batch gave it earlier. */
export function atRevision(table: RowRevision["table"]) {
  return sql`exists (select 1 from ${sql.identifier(table)} where id = ${p("changed_id")} and revision = ${p("changed_revision")})`;
}

/** A statement for each of these tables, guarded by {@link atRevision}. */
export function perTable<Table extends RowRevision["table"], S>(
  tables: readonly Table[],
  build: (guard: ReturnType<typeof atRevision>) => S,
) {
  return Object.fromEntries(tables.map((table) => [table, build(atRevision(table))])) as Record<
    Table,
    S
  >;
}

const insertEvent = perTable(REVISED, (guard) =>
  statement(insertWhere(events, guard), { many: { row_id: "seq", key: "subject" } }),
);

const insertInboxEvent = perTable(REVISED, (guard) =>
  statement(
    sql`insert into events (account_id, subject, name, data, created_at)
      select account_id, ${p("subject")}, 'inbox.updated', json_object('key_id', id, 'unread', unread, 'unreceived', unread - received), ${p("created_at", events.created_at)}
      from keys where id = ${p("key_id")} and deleted_at is null and ${guard}
      returning seq, data`,
    { returns: "rows" },
  ),
);

/** Writes the event if the row has the revision `changed`. The rowid of the event is its `seq`. */
export function eventStatement(
  event: ServiceEvent,
  data: string,
  changed: RowRevision,
  now: number,
): Statement<Cell[]> {
  const { account_id, subject, name } = event;
  const insert = insertEvent[changed.table];
  return {
    ...insert({ account_id, subject, name, data, created_at: now, ...guardOf(changed) }),
    event: { account_id, bytes: textBytes(data) },
  };
}

/**
 * Writes `inbox.updated` with the number of unread items as the batch leaves it, if the row has the revision `changed`.
 * Returns its `seq` and data.
 */
export function inboxEventStatement(
  key_id: string,
  changed: RowRevision,
  now: number,
): Statement<Cell[]> {
  return insertInboxEvent[changed.table]({
    subject: inboxOf(key_id),
    key_id,
    created_at: now,
    ...guardOf(changed),
  });
}

// sqlite_sequence keeps the last number when the rows are pruned.
const latest = statement(sql`select seq from sqlite_sequence where name = 'events'`, {
  returns: rowOf<[seq: number]>(),
});

const { created_at: _, ...eventColumns } = getTableColumns(events);

const after = select(
  qb.select(eventColumns).from(events),
  sql`where seq > ${p("seq")} order by seq limit ${p("limit")}`,
  // The numbers must have no gap.
  { unknown: "kept" },
);

const prune = statement(
  sql`delete from events where seq in (select seq from events where seq <= ${p("upto")} order by seq limit ${p("limit")})`,
);

/** The events as the feed and the pruner use them. */
export function createOutbox(store: Store) {
  return {
    /**
     * The number of the newest event that was ever written; 0 before the first one. `within`: see {@link Store.read}.
     */
    async latest(within?: number): Promise<number> {
      const [row] = await store.read(latest({}), { within });
      return row ? row[0] : 0;
    },
    after: (seq: number, limit: number, within?: number): Promise<StoredEvent[]> =>
      store.read(after({ seq, limit }), { within }),
    /** Deletes up to `limit` events up to the number `upto`, oldest first; returns how many. */
    async prune(upto: number, limit: number): Promise<number> {
      const [result] = await store.write([prune({ upto, limit })], IN_BACKGROUND);
      return result!.changes;
    },
  };
}
