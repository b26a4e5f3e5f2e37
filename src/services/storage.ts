/**
 * The bytes that each account stores (§10.8): counts what the statements of this process say (db/storage.ts), adds it to
 * the store now and then, and refuses what is beyond the bound of an account.
 *
 * The count of an account is what the store had when it was last read, and what this process has added since. A killed
 * process loses a few seconds of what it has added, at most {@link FLUSH}`.bytes`; {@link Storage.recount} finds that.
 */

import { nextKeys } from "../../db/retention.ts";
import { addStored, recount, storedByAccounts, uncountedKeys } from "../../db/storage.ts";
import {
  IN_BACKGROUND,
  type Statement,
  type Store,
  type StoredBytes,
  type WriteResult,
} from "../../db/store/store.ts";
import type { Cancel, Clock } from "../clock.ts";
import { fail } from "../errors.ts";

export type Storage = ReturnType<typeof createStorage>;

interface StorageOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Bytes that an account may store; 0: any number. */
  readonly most: number;
}

/** Seconds until what was counted is written, or `soon` for an account that has used `near` of its bound; or its bytes. */
const FLUSH = { after: 5, soon: 0.5, near: 0.8, bytes: 8 * 1024 * 1024 } as const;
/** Seconds for which the count of an account further from its bound is not read again. */
const KEPT = 60;
/** The part of the bound by which changes that add little may exceed it, so that agents can finish their tasks. */
export const SPARE = 0.1;
/**
 * Events are kept for minutes (src/jobs/event-pruner.ts). In each window of `seconds`, the changes of an account may write as
 * many bytes of them as it may store, but at least `least`. After a `part` of that, what waits for its webhooks is read again:
 * each of 20 channels has a copy of an event.
 */
const EVENTS = { seconds: 300, least: 20e6, part: 1 / 200 } as const;
/** Accounts whose counts are kept in memory; another one displaces the oldest, and is then read again. */
const ACCOUNTS = 10_000;
/** Keys that one step counts again. */
const KEYS = 5;

/** How much an account stores. */
interface Use {
  /** As the store had it; null: not read yet. */
  stored: number | null;
  /** What this process has added since, and has not written. */
  added: number;
  /** When it is to be read, by {@link Clock.elapsed}. */
  read_at: number;
  /** Bytes of the events that this process has written in the window that ends then. */
  events: number;
  events_until: number;
  /** Those since it was read. */
  events_unread: number;
}

export function createStorage({ store, clock, most }: StorageOptions) {
  const uses = new Map<string, Use>();
  /** By key or account: what is not written yet. */
  let unwritten = new Map<string, number>();
  let unwritten_bytes = 0;
  let timer: { readonly at: number; readonly cancel: Cancel } | null = null;
  let running: Promise<void> | null = null;
  let after = "";

  const useOf = (account_id: string): Use => {
    let use = uses.get(account_id);
    if (!use) {
      use = { stored: null, added: 0, read_at: 0, events: 0, events_until: 0, events_unread: 0 };
      if (uses.size >= ACCOUNTS) uses.delete(uses.keys().next().value!);
      uses.set(account_id, use);
    }
    return use;
  };
  const usedBy = ({ stored, added }: Use): number => Math.max(0, (stored ?? 0) + added);
  const isNear = (use: Use) => most > 0 && usedBy(use) >= most * FLUSH.near;

  const arm = (seconds: number) => {
    const at = clock.elapsed() + seconds;
    if (timer && timer.at <= at) return;
    timer?.cancel();
    timer = { at, cancel: clock.after(seconds, () => void flush().catch(() => {})) };
  };

  const add = ({ owner, account_id, bytes }: StoredBytes) => {
    if (bytes === 0) return;
    unwritten.set(owner, (unwritten.get(owner) ?? 0) + bytes);
    unwritten_bytes += Math.abs(bytes);
    if (account_id !== undefined) useOf(account_id).added += bytes;
    arm(unwritten_bytes < FLUSH.bytes ? FLUSH.after : 0);
  };

  const addEvent = ({ account_id, bytes }: NonNullable<Statement["event"]>) => {
    if (most === 0) return;
    const use = useOf(account_id);
    const now = clock.elapsed();
    if (use.events_until <= now) {
      Object.assign(use, { events: 0, events_until: now + EVENTS.seconds });
    }
    use.events += bytes;
    use.events_unread += bytes;
    if (use.events_unread < most * EVENTS.part) return;
    use.read_at = 0;
    arm(FLUSH.soon);
  };

  const count = ({ stored, event, frees }: Statement, { changes, rows }: WriteResult) => {
    if (stored && changes > 0) stored.forEach(add);
    if (event && changes > 0) addEvent(event);
    if (!frees) return;
    for (const [owner, account_id, bytes] of rows as [string, string, number][]) {
      add({ owner, account_id: uses.has(account_id) ? account_id : undefined, bytes });
    }
  };

  /** Writes what was counted, and reads what accounts store that are due. */
  const write = async () => {
    const batch = unwritten;
    unwritten = new Map();
    unwritten_bytes = 0;
    const written = [...uses].map(([id, use]) => [id, use, use.added] as const);
    const now = clock.elapsed();
    const due = most === 0 ? [] : written.filter(([, use]) => use.read_at <= now || isNear(use));
    if (batch.size + due.length === 0) return;
    const owners = JSON.stringify([...batch]);
    const ids = JSON.stringify(due.map(([id]) => id));
    let results: WriteResult[];
    try {
      results = await store.write(
        [...addStored.map((step) => step({ owners })), storedByAccounts({ ids })],
        IN_BACKGROUND,
      );
    } catch (error) {
      // Most likely it was not written. If it was, the next count of the keys corrects it.
      for (const [owner, bytes] of batch) unwritten.set(owner, (unwritten.get(owner) ?? 0) + bytes);
      arm(FLUSH.after);
      throw error;
    }
    const read = new Map(results.at(-1)!.rows as [string, number][]);
    for (const [id, use, added] of written) {
      use.added -= added;
      const stored = read.get(id);
      if (stored !== undefined)
        Object.assign(use, { stored, read_at: now + KEPT, events_unread: 0 });
      else if (use.stored !== null) use.stored += added;
    }
  };

  const flush = async (): Promise<void> => {
    timer?.cancel();
    timer = null;
    await running?.catch(() => {});
    running ??= write().finally(() => {
      running = null;
    });
    await running;
  };

  /** True if the account stores as much as it may, and by the part `over` more. */
  const isFull = (account_id: string, over = 0): boolean => {
    if (most === 0) return false;
    const use = useOf(account_id);
    if (isNear(use)) arm(FLUSH.soon);
    else if (use.read_at <= clock.elapsed()) arm(FLUSH.after);
    return usedBy(use) >= most * (1 + over);
  };

  return {
    /** The store, which counts what is written through it. */
    store: {
      ...store,
      async write(statements, options) {
        const results = await store.write(statements, options);
        for (let i = 0; i < results.length; i++) count(statements[i]!, results[i]!);
        return results;
      },
    } satisfies Store,

    /** Bytes that one account may store; null: any number. */
    most: most === 0 ? null : most,

    /** Bytes that the account stores, of which the store has counted `stored`. */
    used: (account_id: string, stored: number): number =>
      Math.max(0, stored + (uses.get(account_id)?.added ?? 0)),

    isFull,

    /** Throws `409 account_full` if {@link isFull}, and `429 rate_limited` after too many bytes of events. */
    assertRoom(account_id: string, over = 0): void {
      const use = uses.get(account_id);
      const wait = use ? Math.ceil(use.events_until - clock.elapsed()) : 0;
      if (wait > 0 && use!.events >= Math.max(most, EVENTS.least)) {
        fail("rate_limited", {
          detail: "This account changes too much in a short time.",
          retry_after: wait,
        });
      }
      if (!isFull(account_id, over)) return;
      fail("account_full", {
        detail: `This account stores ${Math.round(most / 1e6)} MB, as much as it may. Nothing new is stored until tasks or agents that are no longer needed are deleted.`,
      });
    },

    flush,

    /** Counts some keys anew: first those that were never counted; true if there may be more of these. */
    async recount(): Promise<boolean> {
      await flush();
      const uncounted = await store.read(uncountedKeys({ limit: KEYS }));
      const keys =
        uncounted.length > 0 ? uncounted : await store.read(nextKeys({ after, limit: KEYS }));
      if (uncounted.length === 0) after = keys.length < KEYS ? "" : keys.at(-1)![0];
      const ids = JSON.stringify(keys.map(([id]) => id));
      running = store
        .write([recount({ ids })], IN_BACKGROUND)
        .then(() => {
          // What was counted until now is in the rows that this has counted.
          for (const [id] of keys) unwritten.delete(id);
        })
        .finally(() => {
          running = null;
        });
      await running;
      return uncounted.length === KEYS;
    },

    async stop(): Promise<void> {
      if (store.usable()) await flush().catch(() => {});
      timer?.cancel();
    },
  };
}
