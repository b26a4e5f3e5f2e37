/** Writes a change and its events as one batch, and delivers the events once it is committed. */

import { eventStatement, inboxEventStatement, type RowRevision } from "../../../db/outbox.ts";
import type { Statement, Store, WriteOptions } from "../../../db/store/store.ts";
import type { Clock } from "../../clock.ts";
import { fail } from "../../errors.ts";
import type { Feed } from "../../events/feed.ts";
import { inboxOf, type ServiceEvent, type StoredEvent } from "../../model/event.ts";

interface GuardedEvent {
  readonly event: ServiceEvent;
  /** The event is written only if this row is at this revision. */
  readonly changed: RowRevision;
}

/** The statements of one batch, in this order. */
export interface Change {
  /** The first statement inserts the row or gives it a new revision: it shows whether the change happened. */
  readonly statements: readonly [Statement, ...Statement[]];
  readonly events: readonly GuardedEvent[];
  /** The key whose inbox the change touches: `inbox.updated` follows the events. */
  readonly inbox?: Inbox | null;
  /** Plans notifications. If any are planned, the sender is woken. */
  readonly deliveries?: readonly Statement[];
  /** Removes the rows that guard the events. */
  readonly removals?: readonly Statement[];
  /** See {@link WriteOptions.is_independent}. */
  readonly is_independent?: boolean;
  /** See {@link WriteOptions.in_background}. */
  readonly in_background?: boolean;
}

/** An event of the account about the row `changed`, or about another `subject`. */
export const eventOf = <Name extends ServiceEvent["name"]>(
  changed: RowRevision,
  name: Name,
  account_id: string,
  data: Extract<ServiceEvent, { readonly name: Name }>["data"],
  subject: string = changed.id,
): GuardedEvent => ({ changed, event: { name, account_id, subject, data } as ServiceEvent });

interface Inbox {
  readonly account_id: string;
  readonly key_id: string;
  readonly changed: RowRevision;
}

/** Resolves to true if the change happened, false if its guard missed. */
export type Commit = (change: Change) => Promise<boolean>;

interface CommitOptions {
  readonly store: Store;
  readonly feed: Feed;
  readonly clock: Clock;
  /** Called once notifications were planned. */
  readonly wakeSender: () => void;
  /** Called with committed events: webhooks may have to send them. */
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
    in_background = false,
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
      in_background,
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

/** Attempts at one change whose row others keep changing. Each miss means that another change succeeded. */
const TRIES = 1_000;

/** Repeats `attempt` (read, decide, write) until its guard holds: it returns undefined on a miss. */
export async function untilDecided<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let i = 0; i < TRIES; i++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  return fail("store_unavailable", { cause: "a row changed at every try" });
}
