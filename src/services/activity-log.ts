/** Writes the activity log after the responses, many entries at once (§15.1.3). */

import { type ActivityBlock, insertActivity, trimActivity } from "../../db/activity.ts";
import type { Store } from "../../db/store.ts";
import type { Cancel, Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import type { Ids } from "../ids.ts";
import { LIMITS } from "../limits.ts";
import { describeError, type Log } from "../log.ts";
import { type KeyRequest, type PackedEntry, packEntry } from "../model/activity.ts";

/** Entries that wait in memory for their write; beyond that the oldest are dropped. */
const QUEUE = 10_000;

interface ActivityLogOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** Seconds from an entry to its write, and until a store that was away is tried again. */
const FLUSH_AFTER = 0.1;
const RETRY_AFTER = 1;
/** The same after a busy time: then the entries of more requests share a row. */
const BUSY_FLUSH_AFTER = 1;
/** Entries of one write, a few more at most, so that it does not hold up the requests for long. */
const CHUNK = 500;
/** So many are written without more delay, long before any would be dropped. */
const SOON = QUEUE / 2;
/** A key's surplus is removed once per so many entries: it costs more than to write one. */
const TRIM_EVERY = 50;
/** Keys whose entries since the last removal are counted. */
const COUNTED = 10_000;

export function createActivityLog({ store, clock, ids, log }: ActivityLogOptions) {
  /** What came since the last write, by key; the key whose first entry is the oldest stands first. */
  const queue = new Map<string, PackedEntry[]>();
  /** Entries in the queue. */
  let queued = 0;
  /** What a write has yet to take: with the same ids it can be repeated. */
  let unwritten: ActivityBlock[] = [];
  /** Entries that were dropped since the last word on it. */
  let dropped = 0;
  /** Entries that were dropped since the start. */
  let dropped_ever = 0;
  let flush_after = FLUSH_AFTER;
  let cancel: Cancel | undefined;
  let running: Promise<void> | undefined;
  let stopped = false;
  const since_trim = new Map<string, number>();

  const drop = (entries: number) => {
    dropped += entries;
    dropped_ever += entries;
  };

  /** A key's entries beyond its full number, and of all beyond the bound, push out older ones. */
  const enqueue = (request: KeyRequest) => {
    const { key_id } = request.caller;
    const entry = packEntry(request);
    const own = queue.get(key_id);
    if (own) own.push(entry);
    else queue.set(key_id, [entry]);
    if (own && own.length > LIMITS.activity_per_key) own.shift();
    else queued++;
    if (queued <= QUEUE) return;
    // A store that is away must not fill the memory.
    const [first, oldest] = queue.entries().next().value!;
    oldest.shift();
    if (oldest.length === 0) queue.delete(first);
    queued--;
    drop(1);
  };

  const arm = (seconds: number) => {
    cancel ??= clock.after(seconds, () => {
      cancel = undefined;
      void flush();
    });
  };
  const disarm = () => {
    cancel?.();
    cancel = undefined;
  };

  /** Keys that are due to lose their surplus. */
  const dueTrims = (blocks: readonly ActivityBlock[]): string[] => {
    if (since_trim.size > COUNTED) since_trim.clear();
    for (const { key_id, entries } of blocks) {
      since_trim.set(key_id, (since_trim.get(key_id) ?? 0) + entries.length);
    }
    const due = blocks
      .map(({ key_id }) => key_id)
      .filter((key_id) => since_trim.get(key_id)! >= TRIM_EVERY);
    for (const key_id of due) since_trim.delete(key_id);
    return due;
  };

  /** Takes the entries of as many keys as make a write, a block for each. */
  const takeBlocks = (): ActivityBlock[] => {
    const blocks: ActivityBlock[] = [];
    let size = 0;
    for (const [key_id, entries] of queue) {
      if (size >= CHUNK) break;
      queue.delete(key_id);
      size += entries.length;
      entries.sort(([a], [b]) => a - b);
      blocks.push({ id: ids.next("act"), key_id, entries });
    }
    queued -= size;
    return blocks;
  };

  /**
   * Writes what there is now; what comes meanwhile waits for the next time, or a busy server would
   * write without end, a few entries at a time. Gives the seconds until then.
   */
  const writeAll = async (): Promise<number> => {
    let left = queued;
    const busy = left > CHUNK;
    while (unwritten.length > 0 || left > 0) {
      if (unwritten.length === 0) {
        const before = queued;
        unwritten = takeBlocks();
        left -= before - queued;
      }
      const due = dueTrims(unwritten);
      const insert = insertActivity(unwritten);
      try {
        await store.write(due.length > 0 ? [insert, trimActivity(due)] : [insert]);
      } catch (error) {
        log.warn("activity not written", describeError(error));
        if (error instanceof ServiceError) return RETRY_AFTER;
        // What the store cannot hold must not stand in the way of all that follows.
        for (const { entries } of unwritten) drop(entries.length);
      }
      unwritten = [];
    }
    return busy ? BUSY_FLUSH_AFTER : FLUSH_AFTER;
  };

  const flush = (): Promise<void> => {
    running ??= writeAll().then((seconds) => {
      running = undefined;
      flush_after = seconds;
      if (dropped > 0) log.warn("activity dropped", { entries: dropped });
      dropped = 0;
      if (!stopped && unwritten.length + queued > 0) arm(seconds);
    });
    return running;
  };

  return {
    /** Takes an entry at once; it is in the store a moment later. */
    record(request: KeyRequest): void {
      enqueue(request);
      if (running || stopped) return;
      if (queued === SOON) disarm();
      arm(queued < SOON ? flush_after : 0);
    },

    /** Entries that wait for their write, and those that were dropped since the start. */
    stats() {
      const half_written = unwritten.reduce((sum, { entries }) => sum + entries.length, 0);
      return { queued: queued + half_written, dropped: dropped_ever };
    },

    /** Writes what there is, if the store takes it; called once no request is left. */
    async stop(): Promise<void> {
      stopped = true;
      disarm();
      await running;
      await flush();
    },
  };
}
