/** The request log: the recent requests of each key, written after their responses, many at once (§15). */

import { type LogBlock, logOfKey, trimLogs, writeLogBlocks } from "../../db/request-log.ts";
import type { Store } from "../../db/store/store.ts";
import type { Cancel, Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import type { Ids } from "../ids.ts";
import { LIMITS } from "../limits.ts";
import type { Log } from "../log.ts";
import type { AccountCaller } from "../model/caller.ts";
import {
  countRepeat,
  isKnownEntry,
  type KeyRequest,
  type PackedEntry,
  packEntry,
  RECENT,
  unpackEntry,
} from "../model/request-log.ts";
import { createOutage } from "../observability/outages.ts";
import type { Keys } from "./keys.ts";
import type { ServiceDeps } from "./shared/deps.ts";
import { endPage, type PageQuery, readCursor, writeCursor } from "./shared/list-page.ts";

/** Times are compared in whole milliseconds. */
const ms = (seconds: number) => Math.round(seconds * 1000);

export function createRequestLog({ store, clock, keys }: ServiceDeps & { readonly keys: Keys }) {
  return {
    /** Newest first; `404` for a key that the account does not have. */
    async list(
      caller: AccountCaller,
      key_id: string,
      { limit = LIMITS.activity_page_default, cursor }: PageQuery,
      { page_bytes }: { readonly page_bytes: number },
    ) {
      const bound_to = ["activity", caller.account_id, key_id];
      const after = cursor === undefined ? null : readCursor(cursor, bound_to);
      await keys.find(caller, key_id);
      const since = clock.now() - LIMITS.activity_retention;
      const blocks = await store.read(
        logOfKey({
          key_id,
          account_id: caller.account_id,
          since,
          limit: LIMITS.activity_per_key,
        }),
      );
      const rest = blocks
        .flatMap(({ id, entries }) => entries.map((entry, i) => unpackEntry(id, entry, i)))
        .filter(isKnownEntry)
        .sort((a, b) => ms(b.at) - ms(a.at) || (a.id < b.id ? 1 : -1))
        .slice(0, LIMITS.activity_per_key)
        .filter(
          ({ at, id }) =>
            at >= since &&
            (after === null || ms(at) < after.at || (ms(at) === after.at && id < after.id)),
        );
      const items = endPage(rest, {
        limit,
        bytes: page_bytes,
        unitsOf: ({ client, host, message }) =>
          (client ? client.name.length + client.version.length : 0) +
          (host?.length ?? 0) +
          (message?.length ?? 0),
        recordOf: (entry) => entry,
      });
      const last = items.length < rest.length ? items.at(-1)! : null;
      return {
        items: [...items],
        next_cursor: last && writeCursor({ at: ms(last.at), id: last.id }, bound_to),
      };
    },
  };
}

interface WriterOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** Seconds from an entry to its write. */
const FLUSH_AFTER = 0.1;
/** Seconds from an entry to its write after a busy time: then the entries of more requests share a row. */
const BUSY_FLUSH_AFTER = 1;
/** Seconds until a store that was away is tried again. */
const RETRY_AFTER = 1;
/** Seconds between two log lines about entries that were dropped. */
const REPORT_EVERY = 60;
/** About how many entries one write holds, so that it does not delay requests for long. */
const CHUNK = 500;
/** Entries that wait in memory for their write; beyond that the oldest are dropped. */
const QUEUE = 10_000;
/** A queue of this length is written at once, long before entries would be dropped. */
const SOON = QUEUE / 2;
/** Entries of a key between two removals of its surplus, which cost more than a write. */
const TRIM_EVERY = 50;
/** Keys whose entries since the last removal are counted, and whose last entries are held, at most. */
const COUNTED = 10_000;
/** Blocks that one write has again. */
const AGAIN = CHUNK / RECENT;

export function createRequestLogWriter({ store, clock, ids, log }: WriterOptions) {
  /** Entries since the last write by key, the key with the oldest entry first. */
  const queue = new Map<string, PackedEntry[]>();
  /** Entries in the queue. */
  let queued = 0;
  /** Blocks whose write has not succeeded yet. With the same ids it can be repeated. */
  let unwritten: LogBlock[] = [];
  /** By key, its last blocks, with at most {@link RECENT} entries, in which equal requests are counted. */
  const recent = new Map<string, LogBlock[]>();
  /** Those in which more were counted since they were taken for a write. */
  const repeated = new Set<LogBlock>();
  /** Entries dropped since the last log line about it, and since the start. */
  let dropped = 0;
  let dropped_ever = 0;
  /** When the next line about them may be written, by {@link Clock.elapsed}. */
  let report_at = 0;
  let flush_after = FLUSH_AFTER;
  let cancel: Cancel | undefined;
  let running: Promise<void> | undefined;
  let stopped = false;
  const since_trim = new Map<string, number>();
  const outage = createOutage({ clock, log, over: "request log written again" });

  const drop = (entries: number) => {
    dropped += entries;
    dropped_ever += entries;
  };

  /** At most one line a minute. A stop writes the rest. */
  const reportDropped = () => {
    const now = clock.elapsed();
    if (dropped === 0 || (now < report_at && !stopped)) return;
    log.warn("request log entries dropped", { entries: dropped });
    report_at = now + REPORT_EVERY;
    dropped = 0;
  };

  /** Entries that wait for their write. */
  const waiting = (): number =>
    unwritten.reduce((sum, { entries }) => sum + entries.length, queued);

  /** Beyond the number that a key, or the queue, may hold, a new entry displaces the oldest. */
  const enqueue = (request: KeyRequest) => {
    const { key_id } = request.caller;
    const entry = packEntry(request);
    const own = queue.get(key_id);
    if (own && countRepeat(own, entry)) return;
    const counted = recent.get(key_id)?.find(({ entries }) => countRepeat(entries, entry));
    if (counted) return void repeated.add(counted);
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

  /** Keys whose surplus is due for removal. */
  const dueTrims = (blocks: readonly LogBlock[]): string[] => {
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

  /** Holds a block for equal requests that follow, instead of the oldest. */
  const remember = (block: LogBlock) => {
    const blocks = [...(recent.get(block.key_id) ?? []), block];
    const size = () => blocks.reduce((sum, { entries }) => sum + entries.length, 0);
    while (size() > RECENT) blocks.shift();
    recent.delete(block.key_id);
    recent.set(block.key_id, blocks);
    if (recent.size > COUNTED) recent.delete(recent.keys().next().value!);
  };

  /** Takes entries for one write from the queue, one block for each key. */
  const takeBlocks = (): LogBlock[] => {
    const blocks: LogBlock[] = [];
    let size = 0;
    for (const [key_id, entries] of queue) {
      if (size >= CHUNK) break;
      queue.delete(key_id);
      size += entries.length;
      entries.sort(([a], [b]) => a - b);
      const block = { id: ids.next("act"), key_id, entries };
      blocks.push(block);
      remember(block);
    }
    queued -= size;
    return blocks;
  };

  /**
   * Writes what is queued now, and returns the seconds until the next write. Entries that arrive meanwhile
   * wait for that one; else a busy server would write all the time, a few entries at once.
   */
  const writeAll = async (): Promise<number> => {
    let left = queued;
    const busy = left > CHUNK;
    const again = [...repeated];
    repeated.clear();
    while (unwritten.length + again.length > 0 || left > 0) {
      if (unwritten.length === 0) {
        const before = queued;
        unwritten = [...again.splice(0, AGAIN), ...takeBlocks()];
        left -= before - queued;
      }
      const due = dueTrims(unwritten);
      const blocks = writeLogBlocks(unwritten);
      try {
        await store.write(due.length > 0 ? [blocks, trimLogs(due)] : [blocks]);
        outage.works();
      } catch (error) {
        outage.failed("request log not written", error);
        if (error instanceof ServiceError) {
          for (const block of again) repeated.add(block);
          return RETRY_AFTER;
        }
        // What the store cannot hold must not block all later entries.
        for (const block of unwritten) {
          drop(block.entries.length);
          recent.delete(block.key_id);
          repeated.delete(block);
        }
      }
      unwritten = [];
    }
    return busy ? BUSY_FLUSH_AFTER : FLUSH_AFTER;
  };

  const flush = (): Promise<void> => {
    running ??= writeAll().then((seconds) => {
      running = undefined;
      flush_after = seconds;
      reportDropped();
      if (!stopped && unwritten.length + repeated.size + queued > 0) arm(seconds);
    });
    return running;
  };

  return {
    /** Queues an entry. */
    record(request: KeyRequest): void {
      enqueue(request);
      if (running || stopped) return;
      if (queued === SOON) disarm();
      arm(queued < SOON ? flush_after : 0);
    },

    /** Entries that wait for their write, and entries dropped since the start. */
    stats() {
      return { queued: waiting(), dropped: dropped_ever };
    },

    /** Writes what is queued, if the store can be used. Call it once no request is left. */
    async stop(): Promise<void> {
      stopped = true;
      disarm();
      await running;
      if (store.usable()) await flush();
      drop(waiting());
      reportDropped();
    },
  };
}
