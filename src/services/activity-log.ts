/** Writes the activity log after the responses, many entries at once (§4 Activity log 3). */

import { type ActivityRow, insertActivity, trimActivity } from "../../db/activity.ts";
import type { Store } from "../../db/store.ts";
import type { Cancel, Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import type { Ids } from "../ids.ts";
import { LIMITS } from "../limits.ts";
import { describeError, type Log } from "../log.ts";
import type { KeyRequest } from "../model/activity.ts";

interface ActivityLogOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** Seconds from an entry to its write, and until a store that was away is tried again. */
const FLUSH_AFTER = 0.1;
const RETRY_AFTER = 1;
/** Entries of one write, so that it does not hold up the requests' own for long. */
const CHUNK = 200;
/** A key's surplus is removed once per so many entries: it costs more than to write one. */
const TRIM_EVERY = 20;
/** Keys whose entries since the last removal are counted. */
const COUNTED = 10_000;

export function createActivityLog({ store, clock, ids, log }: ActivityLogOptions) {
  let queue: KeyRequest[] = [];
  /** The rows of a write that has yet to succeed: with the same ids it can be repeated. */
  let unwritten: ActivityRow[] = [];
  /** Entries that were dropped since the last word on it. */
  let dropped = 0;
  let cancel: Cancel | undefined;
  let running: Promise<void> | undefined;
  let stopped = false;
  const since_trim = new Map<string, number>();

  /** Leaves out the oldest ones beyond the bound: a store that is away must not fill the memory. */
  const bound = () => {
    const over = queue.length - LIMITS.activity_queue;
    if (over <= 0) return;
    queue.splice(0, over);
    dropped += over;
  };

  const arm = (seconds: number) => {
    cancel ??= clock.after(seconds, () => {
      cancel = undefined;
      void flush();
    });
  };

  /** Keys of the rows that are due to lose their surplus. */
  const dueTrims = (rows: readonly ActivityRow[]): string[] => {
    if (since_trim.size > COUNTED) since_trim.clear();
    for (const { key_id } of rows) since_trim.set(key_id, (since_trim.get(key_id) ?? 0) + 1);
    const keys = new Set(rows.map(({ key_id }) => key_id));
    const due = [...keys].filter((key_id) => since_trim.get(key_id)! >= TRIM_EVERY);
    for (const key_id of due) since_trim.delete(key_id);
    return due;
  };

  /** Gives whether the store took all of it. */
  const writeAll = async (): Promise<boolean> => {
    // What is newer by a key's full number stands in its log alone.
    if (queue.length > LIMITS.activity_per_key) queue = newest(queue);
    while (unwritten.length + queue.length > 0) {
      if (unwritten.length === 0) {
        unwritten = queue.splice(0, CHUNK).map((request) => toRow(ids.next("act"), request));
      }
      const due = dueTrims(unwritten);
      const insert = insertActivity(unwritten);
      try {
        await store.write(due.length > 0 ? [insert, trimActivity(due)] : [insert]);
      } catch (error) {
        log.warn("activity not written", describeError(error));
        if (error instanceof ServiceError) return false;
        // What the store cannot hold must not stand in the way of all that follows.
        dropped += unwritten.length;
      }
      unwritten = [];
    }
    return true;
  };

  const flush = (): Promise<void> => {
    running ??= writeAll().then((written) => {
      running = undefined;
      if (dropped > 0) log.warn("activity dropped", { entries: dropped });
      dropped = 0;
      if (!stopped && unwritten.length + queue.length > 0) arm(written ? FLUSH_AFTER : RETRY_AFTER);
    });
    return running;
  };

  return {
    /** Takes an entry at once; it is in the store a moment later. */
    record(request: KeyRequest): void {
      queue.push(request);
      bound();
      if (!running && !stopped) arm(FLUSH_AFTER);
    },

    /** Writes what there is, if the store takes it; called once no request is left. */
    async stop(): Promise<void> {
      stopped = true;
      cancel?.();
      await running;
      await flush();
    },
  };
}

/** Without the entries that as many newer ones of their key would push out at once. */
function newest(queue: readonly KeyRequest[]): KeyRequest[] {
  const count = new Map<string, number>();
  const kept = queue.toReversed().filter(({ caller: { key_id } }) => {
    const seen = count.get(key_id) ?? 0;
    count.set(key_id, seen + 1);
    return seen < LIMITS.activity_per_key;
  });
  return kept.reverse();
}

function toRow(id: string, { caller, error, ...request }: KeyRequest): ActivityRow {
  return {
    ...request,
    id,
    key_id: caller.key_id,
    code: error?.code ?? null,
    message: error?.summary ?? null,
  };
}
