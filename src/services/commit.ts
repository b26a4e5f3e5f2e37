/** Writes a change and its events as one batch, and hands the events on once it is committed. */

import { eventStatement, inboxEventStatement, type RowRevision } from "../../db/outbox.ts";
import type { Statement, Store, WriteOptions } from "../../db/store.ts";
import type { Clock } from "../clock.ts";
import { fail } from "../errors.ts";
import type { Feed } from "../events/feed.ts";
import { inboxOf, type ServiceEvent, type StoredEvent } from "../model/event.ts";

/** One batch. */
export interface Change {
  /** In order; the first one makes the row or its new revision, and shows whether the change happened. */
  readonly statements: readonly [Statement, ...Statement[]];
  /** Written after the statements, each only if its row is at the revision. */
  readonly events: readonly { readonly event: ServiceEvent; readonly changed: RowRevision }[];
  /** The key whose inbox the change touches: `inbox.updated` follows the events. */
  readonly inbox?: Inbox | null;
  /** Statements that plan deliveries; the sender is woken if any row was written. */
  readonly deliveries?: readonly Statement[];
  /** Written last: what removes the rows that the events are guarded by. */
  readonly removals?: readonly Statement[];
  /** See {@link WriteOptions.is_independent}. */
  readonly is_independent?: boolean;
}

interface Inbox {
  readonly account_id: string;
  readonly key_id: string;
  readonly changed: RowRevision;
}

/** Resolves to whether the change happened; false means that its guard missed. */
export type Commit = (change: Change) => Promise<boolean>;

interface CommitOptions {
  readonly store: Store;
  readonly feed: Feed;
  readonly clock: Clock;
  /** Called when deliveries were planned. */
  readonly wakeSender: () => void;
  /** Events were committed, which webhooks may have messages of. */
  readonly wakeWebhooks: (events: readonly StoredEvent[]) => void;
}

export function createCommit(options: CommitOptions): Commit {
  const { store, feed, clock, wakeSender, wakeWebhooks } = options;
  return async ({
    statements,
    events,
    inbox = null,
    deliveries = [],
    removals = [],
    is_independent = false,
  }) => {
    const now = clock.now();
    const rows = events.map(({ event, changed }) => {
      const data = JSON.stringify(event.data);
      return { event, data, statement: eventStatement(event, data, changed, now) };
    });
    const inserts = rows.map((row) => row.statement);
    if (inbox) inserts.push(inboxEventStatement(inbox.key_id, inbox.changed, now));
    const results = await store.write([...statements, ...inserts, ...deliveries, ...removals], {
      is_independent,
    });
    const committed: StoredEvent[] = [];
    rows.forEach(({ event, data }, i) => {
      const { changes, row_id } = results[statements.length + i]!;
      const { account_id, subject, name } = event;
      if (changes > 0) committed.push({ seq: row_id, account_id, subject, name, data });
    });
    if (inbox) {
      const [row] = results[statements.length + rows.length]!.rows;
      const { account_id, key_id } = inbox;
      const event = { account_id, subject: inboxOf(key_id), name: "inbox.updated" } as const;
      if (row) committed.push({ ...event, seq: row[0] as number, data: row[1] as string });
    }
    feed.committed(committed);
    wakeWebhooks(committed);
    const from = statements.length + inserts.length;
    const planned = results.slice(from, from + deliveries.length);
    if (planned.some(({ changes }) => changes > 0)) wakeSender();
    return results[0]!.changes > 0;
  };
}

/** Tries of one change whose row others keep changing; each miss means that another one got on. */
const TRIES = 1_000;

/** Repeats read, decide, write until the guard holds: `attempt` gives undefined on a miss. */
export async function untilDecided<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let i = 0; i < TRIES; i++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  return fail("store_unavailable", { cause: "a row changed at every try" });
}
