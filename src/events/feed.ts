/**
 * Delivers the events of all processes in commit order, without a gap (§7.1.3): this process's own from memory, those
 * of others from the outbox table.
 */

import type { Cancel, Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import { describeError, type Log } from "../log.ts";
import type { StoredEvent } from "../model/event.ts";
import { createOutage } from "../observability/outages.ts";

/** Seconds without an answer of the store until event streams and waits end: 6 in all. */
const STORE_SILENCE = 4;

/** The reads of the outbox that the feed makes. */
interface EventSource {
  /** The newest event's number. Rejects after `within` seconds. */
  latest(within: number): Promise<number>;
  /** Up to `limit` events after the number `seq`, in order. Rejects after `within` seconds. */
  after(seq: number, limit: number, within: number): Promise<StoredEvent[]>;
  /** Seconds between polls while someone listens. */
  pollEvery(): number;
}

interface FeedOptions {
  readonly source: EventSource;
  readonly clock: Clock;
  readonly log: Log;
}

/** Something that sleeps until an event. An object, since thousands sleep at once. */
interface Sleeper {
  wake(): void;
}

export type Feed = ReturnType<typeof createFeed>;

/** Events in one read. The largest have 65 kB, and a libSQL server refuses answers of more than 10 MB. */
const PAGE = 100;
/** Seconds between polls while nobody listens, and while the store cannot be reached. */
const IDLE_POLL = 0.25;

export function createFeed({ source, clock, log }: FeedOptions) {
  const accounts = createTopics<StoredEvent>();
  /** The waits for an event about each resource. */
  const sleepers = new Map<string, Set<Sleeper>>();
  const losses = new Set<() => void>();
  const outage = createOutage({ clock, log });
  /** Events of this process that are not yet delivered, by number. */
  const own = new Map<number, StoredEvent>();
  let last = 0;
  let lost = false;
  let stopped = false;
  let requested = false;
  let pumping = false;
  const waiting: (() => void)[] = [];
  let cancel_poll: Cancel = () => {};
  /** When a read began, or the store last answered; by {@link Clock.elapsed}. */
  let answered_at = 0;

  /** Seconds that the store has left to answer before it counts as lost. */
  const timeLeft = (): number => answered_at + STORE_SILENCE - clock.elapsed();

  const deliver = (event: StoredEvent) => {
    last = event.seq;
    own.delete(event.seq);
    accounts.emit(event.account_id, event);
    const woken = sleepers.get(event.subject);
    if (woken) for (const sleeper of woken) sleeper.wake();
  };

  const deliverOwn = () => {
    for (let next = own.get(last + 1); next; next = own.get(last + 1)) deliver(next);
  };

  const notifyLoss = () => {
    for (const listener of [...losses]) listener();
  };

  const readTable = async (): Promise<void> => {
    for (;;) {
      const rows = await source.after(last, PAGE, timeLeft());
      answered_at = clock.elapsed();
      for (const row of rows) {
        if (row.seq <= last) continue;
        if (row.seq !== last + 1) {
          // The events in between are pruned. Listeners reconnect, since they cannot learn what they missed.
          log.warn("event feed fell behind", { missed: row.seq - last - 1 });
          notifyLoss();
        }
        deliver(row);
      }
      deliverOwn();
      if (rows.length < PAGE) return;
    }
  };

  const lose = (error: unknown) => {
    if (lost || stopped) return;
    // The store logs its own outages.
    if (!(error instanceof ServiceError)) {
      outage.note("event feed interrupted", describeError(error));
    }
    lost = true;
    own.clear();
    notifyLoss();
  };

  /** Starts again from the newest event. Earlier listeners were told of the loss. */
  const recover = async (): Promise<void> => {
    last = await source.latest(timeLeft());
    answered_at = clock.elapsed();
    own.clear();
    lost = false;
  };

  const readOnce = async (): Promise<void> => {
    if (lost) await recover();
    await readTable();
  };

  /** One failure may be a stale connection. After two, or a long silence, the store is lost. */
  const readWithRetry = async (): Promise<void> => {
    answered_at = clock.elapsed();
    try {
      await readOnce();
    } catch (error) {
      if (timeLeft() <= 0) throw error;
      await readOnce();
    }
  };

  const pump = async (): Promise<void> => {
    while (requested) {
      requested = false;
      const resolvers = waiting.splice(0);
      await readWithRetry().catch((error: unknown) => {
        lose(error);
        // Callers that came during the read share its result, instead of waiting for another timeout.
        resolvers.push(...waiting.splice(0));
      });
      for (const resolve of resolvers) resolve();
    }
    pumping = false;
  };

  const wake = (): void => {
    if (stopped) return;
    requested = true;
    if (pumping) return;
    pumping = true;
    void pump();
  };

  /** Resolves when a read that began after the call has ended. */
  const readAgain = (): Promise<void> =>
    new Promise((resolve) => {
      if (stopped) return resolve();
      waiting.push(resolve);
      wake();
    });

  const poll = () => {
    cancel_poll();
    if (stopped) return;
    const listening = accounts.size() + sleepers.size > 0 && !lost;
    cancel_poll = clock.after(listening ? source.pollEvery() : IDLE_POLL, () => {
      void readAgain().then(poll);
    });
  };

  const listenFirst = () => {
    if (accounts.size() + sleepers.size === 1) poll();
  };

  return {
    async start(): Promise<void> {
      answered_at = clock.elapsed();
      await recover();
      poll();
    },

    /** Delivers the events of a batch that this process committed. */
    committed(events: readonly StoredEvent[]): void {
      if (lost) return;
      for (const event of events) if (event.seq > last) own.set(event.seq, event);
      deliverOwn();
      if (own.size > 0) wake();
    },

    /** Reads events of other processes now. */
    wake,

    /** Resolves when all events from before the call are delivered. Throws `503 store_unavailable` if the store is away. */
    async caughtUp(): Promise<void> {
      await readAgain();
      if (lost || stopped) throw new ServiceError("store_unavailable");
    },

    /** Calls `listener` with each event of the account until the returned function is called. */
    onAccount(account_id: string, listener: (event: StoredEvent) => void): Cancel {
      const cancel = accounts.add(account_id, listener);
      listenFirst();
      return cancel;
    },

    /** Wakes `sleeper` after each event about one of the resources, until {@link unlisten}. */
    listen(ids: readonly string[], sleeper: Sleeper): void {
      for (const id of ids) {
        const listening = sleepers.get(id);
        if (listening) {
          listening.add(sleeper);
          continue;
        }
        sleepers.set(id, new Set([sleeper]));
        listenFirst();
      }
    },

    /** Ends {@link listen} with the same arguments. */
    unlisten(ids: readonly string[], sleeper: Sleeper): void {
      for (const id of ids) {
        const listening = sleepers.get(id);
        listening?.delete(sleeper);
        if (listening?.size === 0) sleepers.delete(id);
      }
    },

    /** Calls `listener` when events may have been missed, because the store cannot be reached or is just back. */
    onLost(listener: () => void): Cancel {
      losses.add(listener);
      return () => losses.delete(listener);
    },

    isLost: (): boolean => lost,

    /**
     * The number of the newest event in the store. If a higher one was delivered, an older copy has replaced the store:
     * listeners reconnect, and the feed continues from there.
     */
    async newest(within: number): Promise<number> {
      const before = last;
      const seq = await source.latest(within);
      if (seq < before && !lost) {
        log.warn("older copy of the store", { newest: seq, delivered: before });
        lose(new ServiceError("store_unavailable", { cause: "an older copy of the store" }));
        wake();
      }
      return seq;
    },

    /** The number of the last event that this process delivered. */
    position: (): number => last,

    stop(): void {
      stopped = true;
      cancel_poll();
    },
  };
}

/** Listeners by topic. Removing one is idempotent, also while an event is delivered. */
function createTopics<Event>() {
  const topics = new Map<string, Set<(event: Event) => void>>();
  return {
    size: () => topics.size,
    add(topic: string, listener: (event: Event) => void): Cancel {
      topics.set(topic, (topics.get(topic) ?? new Set()).add(listener));
      return () => {
        const current = topics.get(topic);
        current?.delete(listener);
        if (current?.size === 0) topics.delete(topic);
      };
    },
    emit(topic: string, event: Event): void {
      const listeners = topics.get(topic);
      if (listeners) for (const listener of [...listeners]) listener(event);
    },
  };
}
