/**
 * Reads that arrive together share a round trip to the server; each has its own deadline. Lists get only some of the
 * round trips, and owners take turns, so that nobody's lists hold up single rows or the lists of others.
 */

import { type Clock, type Due, forgiveStall } from "../../src/clock.ts";
import { createFairQueue } from "../../src/overload/fair-queue.ts";
import { isBusy, type Statement, unavailable, type WriteResult } from "./store.ts";

/** Requests to a libSQL server; seconds unless the name says otherwise (§11.4.1). */
export const SERVER_STORE = {
  /** Between two looks for reads that are past their deadline. */
  sweep_every: 0.1,
  /** Reads that share one round trip. With 128, the p99 of reads over 64 connections is a fifth to a half longer. */
  reads_per_request: 32,
  /** Lists that share one: 4 pages of 1 MiB stay below the 10 MB that the server puts in an answer. */
  lists_per_request: 4,
  /** Round trips of reads under way at once; more only queue in the server, which has few cores. */
  read_requests: 4,
  /** Lists among these round trips, at most. */
  list_requests: 2,
  /** Reads that wait for a round trip, some 3 s of the server's time; one more is `503`. */
  reads_queued: 16_384,
} as const;

/** Runs queries in one round trip. If a single query fails, its error takes the place of its result. */
type ReadBatch = (
  statements: readonly Statement[],
  signal: AbortSignal,
) => Promise<(WriteResult | Error)[]>;

interface ReadQueueOptions {
  /** Each runs one round trip at a time. */
  readonly batches: readonly ReadBatch[];
  /** Makes the error of a read from what {@link ReadBatch} gave or threw for it. */
  readonly toError: (error: unknown) => unknown;
  /** True if a single query may have made the whole round trip fail. */
  readonly mayBeOne: (error: unknown) => boolean;
  readonly clock: Clock;
}

interface Read extends Due {
  readonly statement: Statement;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: unknown) => void;
}

interface Group {
  readonly reads: readonly Read[];
  readonly abort: AbortController;
}

/** Seconds until a read that met a lock is repeated. */
const BUSY_PAUSE = 0.002;

export function createReadQueue({ batches, toError, mayBeOne, clock }: ReadQueueOptions) {
  const free = [...batches];
  const under_way = new Set<Group>();
  /** All reads without an answer, in the order of their arrival. */
  const open = new Set<Read>();
  let queue: Read[] = [];
  const lists = createFairQueue<Read>();
  let lists_under_way = 0;
  let scheduled = false;
  let sweeping = false;
  let closed = false;

  const answer = (read: Read, outcome: WriteResult | Error): void => {
    if (outcome instanceof Error) refuse(read, outcome);
    else if (open.delete(read)) read.resolve(outcome);
  };

  const refuse = (read: Read, error: unknown): void => {
    if (!isBusy(error)) {
      if (open.delete(read)) read.reject(toError(error));
      return;
    }
    clock.after(BUSY_PAUSE, () => {
      if (!open.has(read)) return;
      enqueue(read);
      schedule();
    });
  };

  /** Splits a group that failed as a whole until the query at fault is alone. */
  const ask = async (batch: ReadBatch, reads: readonly Read[], signal: AbortSignal) => {
    const left = reads.filter((read) => open.has(read));
    if (left.length === 0) return;
    try {
      const outcomes = await batch(
        left.map(({ statement }) => statement),
        signal,
      );
      left.forEach((read, i) => {
        answer(read, outcomes[i]!);
      });
    } catch (error) {
      if (left.length > 1 && mayBeOne(error)) {
        const middle = left.length >> 1;
        await ask(batch, left.slice(0, middle), signal);
        await ask(batch, left.slice(middle), signal);
      } else {
        for (const read of left) refuse(read, error);
      }
    }
  };

  const start = async (batch: ReadBatch, reads: readonly Read[]): Promise<void> => {
    const group = { reads, abort: new AbortController() };
    under_way.add(group);
    await ask(batch, reads, group.abort.signal);
    under_way.delete(group);
    free.push(batch);
    schedule();
  };

  const enqueue = (read: Read): void => {
    const { list_owner } = read.statement;
    if (list_owner === undefined) queue.push(read);
    else lists.add(list_owner, read);
  };

  /** The lists of the next round trip. */
  const nextLists = (): Read[] => {
    const group: Read[] = [];
    while (group.length < SERVER_STORE.lists_per_request && lists.size() > 0) {
      group.push(lists.take()!);
    }
    return group;
  };

  const mayListsStart = () => lists.size() > 0 && lists_under_way < SERVER_STORE.list_requests;

  const pump = (): void => {
    scheduled = false;
    while (free.length > 0) {
      if (queue.length > 0) {
        void start(free.pop()!, queue.splice(0, SERVER_STORE.reads_per_request));
      } else if (mayListsStart()) {
        lists_under_way++;
        void start(free.pop()!, nextLists()).then(() => {
          lists_under_way--;
          schedule();
        });
      } else {
        return;
      }
    }
  };

  // A macrotask, so that every read of this turn of the event loop joins the group.
  const schedule = (): void => {
    if (scheduled || free.length === 0 || (queue.length === 0 && !mayListsStart())) return;
    scheduled = true;
    setImmediate(pump);
  };

  /**
   * One timer for all reads. After a stall of the process it fires before the answers that have arrived are read, so
   * the stall is forgiven.
   */
  const sweep = (): void => {
    if (sweeping || open.size === 0) return;
    sweeping = true;
    const expected = clock.elapsed() + SERVER_STORE.sweep_every;
    clock.after(SERVER_STORE.sweep_every, () => {
      sweeping = false;
      const now = clock.elapsed();
      forgiveStall(now - expected, open);
      giveUp((read) => read.due <= now, "the server does not answer");
      sweep();
    });
  };

  const giveUp = (isDue: (read: Read) => boolean, reason: string): void => {
    const before = open.size;
    for (const read of open) {
      if (!isDue(read)) continue;
      open.delete(read);
      read.reject(unavailable(reason));
    }
    if (open.size === before) return;
    queue = queue.filter((read) => open.has(read));
    lists.keep((read) => open.has(read));
    for (const { reads, abort } of under_way) {
      if (!reads.some((read) => open.has(read))) abort.abort();
    }
  };

  return {
    /**
     * Resolves with the rows. Throws `503 store_unavailable` if there is no answer `within` seconds of the call, not
     * counting one stall of the process, or if too many reads wait.
     */
    read(statement: Statement, within: number): Promise<WriteResult> {
      if (closed) return Promise.reject(unavailable("closed"));
      if (queue.length + lists.size() >= SERVER_STORE.reads_queued) {
        return Promise.reject(unavailable("too many reads wait"));
      }
      return new Promise((resolve, reject) => {
        const due = clock.elapsed() + within;
        const read = { statement, due, moved: false, resolve, reject };
        enqueue(read);
        open.add(read);
        schedule();
        sweep();
      });
    },

    /** Rejects all waiting reads and later ones. */
    close(): void {
      closed = true;
      giveUp(() => true, "closed");
    },
  };
}
