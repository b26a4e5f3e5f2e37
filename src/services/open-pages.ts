/**
 * Records which accounts have a web page open, over all processes, and which questions were sent to one (§5.7.9).
 * All writes are in the background; changes that come together share a batch.
 */

import { recordPageDeliveries } from "../../db/notify/question-deliveries.ts";
import {
  addOpenPages,
  beginPageLease,
  endPageProcess,
  removeOpenPages,
  renewPageLease,
} from "../../db/open-pages.ts";
import type { Statement, Store } from "../../db/store/store.ts";
import type { Cancel, Clock } from "../clock.ts";
import type { Ids } from "../ids.ts";
import type { Log } from "../log.ts";
import { createOutage } from "../observability/outages.ts";

/** Seconds, and bounds of what one process keeps. */
export const OPEN_PAGES = {
  /** Time for which the open pages of a process that died still count. */
  lease: 30,
  /** Between two renewals. */
  renew_every: 10,
  /** Changes within this time are written together. */
  beat: 0.05,
  /** Time for which a page still counts as open after it closed: most close to load again. */
  linger: 5,
  /** Until a write that failed is tried again. */
  retry_every: 1,
  /** Accounts, and questions, in one write. */
  step: 500,
  /** Questions that wait to be written as sent to an open page. Beyond it, the oldest are dropped. */
  queued: 2_000,
} as const;

interface OpenPagesOptions {
  readonly store: Pick<Store, "write">;
  readonly clock: Clock;
  readonly ids: Pick<Ids, "unique">;
  readonly log: Log;
}

export function createOpenPages({ store, clock, ids, log }: OpenPagesOptions) {
  /** Number of open pages of this process, by account. */
  const open = new Map<string, number>();
  /** Name of the lease; null before the first one. */
  let process_id: string | null = null;
  /** When the lease was last written, by {@link Clock.elapsed}. */
  let leased_at = -Infinity;
  /** Accounts with a row of this lease in the store. */
  const written = new Set<string>();
  /** Accounts whose row may have to be added or removed. */
  const changed = new Set<string>();
  /** Questions sent to an open page and not yet written: id -> epoch milliseconds. */
  const sent = new Map<string, number>();
  let timer: { readonly at: number; readonly cancel: Cancel } | undefined;
  let writing: Promise<void> | undefined;
  let stopped = false;
  const outage = createOutage({ clock, log, over: "open pages written again" });

  /** Writes after `seconds`, or earlier if that is already planned. */
  const arm = (seconds: number) => {
    const at = clock.elapsed() + seconds;
    if (stopped || (timer && timer.at <= at)) return;
    timer?.cancel();
    const cancel = clock.after(seconds, () => {
      timer = undefined;
      run();
    });
    timer = { at, cancel };
  };

  const run = () => {
    let wait: number = OPEN_PAGES.beat;
    writing ??= write()
      .then(outage.works, (error: unknown) => {
        outage.failed("open pages not written", error);
        wait = OPEN_PAGES.retry_every;
      })
      .finally(() => {
        writing = undefined;
        if (changed.size + sent.size > 0) arm(wait);
        else if (written.size > 0) arm(OPEN_PAGES.renew_every);
      });
  };

  /** The statement that begins or renews the lease; null if it is fresh, or not needed. */
  const leaseOf = (needed: boolean): Statement | null => {
    const fresh = process_id !== null && clock.elapsed() - leased_at < OPEN_PAGES.renew_every;
    if (!needed || fresh) return null;
    const until = clock.now() + OPEN_PAGES.lease;
    if (process_id !== null) return renewPageLease({ process_id, until });
    process_id = ids.unique();
    return beginPageLease({ process_id, until });
  };

  /** Writes what waits, in batches of a bounded size. */
  const write = async (): Promise<void> => {
    while (!stopped) {
      const from = clock.elapsed();
      const adding = some(changed, (id) => open.has(id) && !written.has(id));
      const removing = some(changed, (id) => !open.has(id) && written.has(id));
      const rows = [...sent].slice(0, OPEN_PAGES.step);
      const lease = leaseOf(written.size + adding.length > 0);
      const own = { process_id: process_id ?? "" };
      const statements: Statement[] = lease ? [lease] : [];
      if (adding.length > 0) statements.push(addOpenPages({ ...own, accounts: list(adding) }));
      if (removing.length > 0) {
        statements.push(removeOpenPages({ ...own, accounts: list(removing) }));
      }
      if (rows.length > 0) statements.push(recordPageDeliveries({ rows: JSON.stringify(rows) }));
      if (statements.length === 0) break;
      const [first] = await store.write(statements);
      for (const [id] of rows) sent.delete(id);
      if (lease && first!.changes === 0) {
        // The process stood still so long that another one removed the lease, and soon its rows.
        process_id = null;
        written.clear();
        for (const id of open.keys()) changed.add(id);
        continue;
      }
      if (lease) leased_at = from;
      for (const id of adding) written.add(id);
      for (const id of removing) written.delete(id);
      if (adding.length < OPEN_PAGES.step && removing.length < OPEN_PAGES.step) break;
    }
    for (const id of changed) if (open.has(id) === written.has(id)) changed.delete(id);
  };

  const change = (account_id: string) => {
    changed.add(account_id);
    arm(OPEN_PAGES.beat);
  };

  return {
    /** Call it when a web page of the account opens. */
    opened(account_id: string): void {
      const count = open.get(account_id) ?? 0;
      open.set(account_id, count + 1);
      if (count === 0) change(account_id);
    },

    /** Call it when an open page closes; it counts as open for some more seconds. */
    closed(account_id: string): void {
      const leave = () => {
        const left = open.get(account_id)! - 1;
        if (left > 0) return void open.set(account_id, left);
        open.delete(account_id);
        change(account_id);
      };
      if (!stopped) clock.after(OPEN_PAGES.linger, leave);
    },

    /** Call it when the event of a new question was sent to an open page. */
    wrote(question_id: string): void {
      if (stopped || sent.has(question_id)) return;
      if (sent.size >= OPEN_PAGES.queued) sent.delete(sent.keys().next().value!);
      sent.set(question_id, Math.round(clock.now() * 1000));
      arm(OPEN_PAGES.beat);
    },

    /** Resolves when no write is under way. */
    async settled(): Promise<void> {
      while (writing) await writing;
    },

    /** Writes what waits and ends the lease, if the store can be written. */
    async stop(): Promise<void> {
      stopped = true;
      timer?.cancel();
      await writing;
      const rows = JSON.stringify([...sent].slice(0, OPEN_PAGES.step));
      const last = sent.size > 0 ? [recordPageDeliveries({ rows })] : [];
      const own = process_id;
      const ends = own === null ? [] : endPageProcess.map((end) => end({ process_id: own }));
      const statements = [...last, ...ends];
      if (statements.length > 0) await store.write(statements).catch(() => {});
    },
  };
}

const list = (ids: readonly string[]): string => JSON.stringify(ids);

/** The first `wanted` ids, as many as one write may have. */
function some(ids: ReadonlySet<string>, wanted: (id: string) => boolean): string[] {
  const found: string[] = [];
  for (const id of ids) {
    if (wanted(id)) found.push(id);
    if (found.length === OPEN_PAGES.step) break;
  }
  return found;
}
