/**
 * Listens for the answers of channels (§19.8): finds the keys of connections that need a process, leases some, opens
 * them, and stores how far their answers were handled. It knows no channel by name.
 */

import {
  changedListeners,
  claimListeners,
  leasesOfListeners,
  listenerNews,
  membersOfListeners,
  moveListener,
  noteListening,
  placesOfListeners,
  releaseListeners,
  renewListeners,
} from "../../db/notify/listeners.ts";
import { IN_BACKGROUND, type Statement } from "../../db/store/store.ts";
import { PLACES } from "../../db/store/vault.ts";
import { digest } from "../ids.ts";
import { describeError } from "../log.ts";
import type { ListenerHealth } from "../model/notification.ts";
import { createOutage } from "../observability/outages.ts";
import { createTurns } from "../overload/turns.ts";
import type { Channel } from "./channel.ts";
import { createFailureLog } from "./failure-log.ts";
import { createLeaseWatch, LEASE } from "./leases.ts";
import {
  type ConnectionDeps,
  createKeyConnections,
  type KeyConnections,
  type Members,
} from "./listener-connections.ts";
import { POLL_EVERY } from "./worker-loop.ts";

/** Seconds between two renewals of the leases. */
const RENEW_EVERY = 10;
/** Seconds before another process may take a lease by which this one has stopped. */
const MARGIN = 2;
/** Keys that one process listens for: the first of each account first. The rest is left to other processes. */
const LISTENERS = 1_000;
/** Keys that one claim takes, and whose channels one read returns. */
const CLAIMED = 100;
/** Connections that are opened in one turn of the event loop. */
const PER_TURN = 4;
/** Seconds that a stop waits for what is being handled. */
const STOP_WAIT = 5;

export type Listener = ReturnType<typeof createListener>;

interface ListenerOptions extends Omit<ConnectionDeps, "turn" | "changed" | "report"> {
  readonly channels: readonly Channel[];
  /** Keys that it listens for at most; 1,000 when absent. */
  readonly most_keys?: number;
  /** Real time, also in tests: for a stop. */
  readonly timers: Pick<ConnectionDeps["clock"], "after">;
}

export function createListener(options: ListenerOptions) {
  const { store, clock, timers, ids, log, channels, most_keys = LISTENERS } = options;
  const outage = createOutage({ clock, log, over: "listeners work again" });
  const failing = createFailureLog({ clock, log });
  const able = channels.filter(({ listen }) => listen);
  const types = JSON.stringify(able.map(({ name }) => name));
  const held = new Map<string, KeyConnections>();
  const counts: Record<string, number> = {};
  /** Names of the lease of this process: more than one after a renewal whose outcome is not known. */
  let leases: string[] = [];
  let renew_at = 0;
  /** The newest version of listeners that was looked at. */
  let version = 0;
  let stopping = false;
  let cancel_tick = () => {};
  let cancel_end = () => {};
  let running: Promise<void> | undefined;
  let again = false;
  const closing = new Set<Promise<void>>();

  const lookAtLeases = createLeaseWatch(clock, (limit) => store.read(leasesOfListeners({ limit })));
  const mine = () => ({ leases: JSON.stringify(leases) });
  const deps: ConnectionDeps = {
    ...options,
    turn: createTurns(PER_TURN).begin,
    changed: () => {},
    report: failing.report,
    async handle(event, account_id) {
      const outcome = await options.handle(event, account_id);
      counts[outcome.is] = (counts[outcome.is] ?? 0) + 1;
      return outcome;
    },
  };

  const drop = (key: string) => {
    const connections = held.get(key);
    if (!connections) return;
    held.delete(key);
    const over = connections.close().finally(() => closing.delete(over));
    closing.add(over);
  };
  const dropAll = () => {
    leases = [];
    for (const key of [...held.keys()]) drop(key);
  };

  /** The lease holds from `since` (a moment of `elapsed`); without a renewal, everything ends before it does. */
  const holdFrom = (since: number) => {
    cancel_end();
    cancel_end = clock.after(since + LEASE - MARGIN - clock.elapsed(), () => {
      if (held.size > 0) outage.note("listeners lost", { listeners: held.size });
      dropAll();
    });
    renew_at = since + RENEW_EVERY;
  };

  const renew = async (): Promise<void> => {
    const since = clock.elapsed();
    const lease = ids.unique();
    const renewing = renewListeners({ ...mine(), lease });
    leases = [...leases, lease];
    const [written] = await store.write([renewing], IN_BACKGROUND);
    const kept = new Set(renewing.read(written!.rows).map(([key]) => key));
    // Nothing is left under the old names, unless the timer has dropped everything meanwhile.
    if (leases.length === 0) return;
    leases = [lease];
    holdFrom(since);
    for (const key of [...held.keys()]) if (!kept.has(key)) drop(key);
  };

  const claim = async (lapsed: readonly string[]): Promise<void> => {
    const limit = Math.min(CLAIMED, most_keys - held.size);
    if (limit <= 0) return;
    const since = clock.elapsed();
    if (leases.length === 0) {
      leases = [ids.unique()];
      holdFrom(since);
    }
    const others = lapsed.filter((lease) => !leases.includes(lease));
    const claiming = claimListeners({
      lease: leases.at(-1)!,
      lapsed: JSON.stringify(others),
      start: digest(ids.unique()),
      types,
      limit,
    });
    const [written] = await store.write([claiming], IN_BACKGROUND);
    const rows = claiming.read(written!.rows);
    // The timer ended the lease while it was written; another process takes them once it is over.
    if (leases.length === 0) return;
    await load(
      rows.map(([key]) => key),
      new Map(rows.map(([key, position]) => [key, position])),
    );
  };

  /** Without room, gives up keys for free ones of accounts that are served less. The next claim takes those. */
  const makeRoom = async (): Promise<void> => {
    const start = digest(ids.unique());
    const looked_at = { types, lapsed: "[]", start, limit: CLAIMED };
    const rows = await store.read(placesOfListeners({ ...mine(), ...looked_at }));
    const placesOf = (side: 0 | 1) => rows.filter(([, one]) => one === side);
    const free = placesOf(0);
    const given_up = placesOf(1)
      .filter(([, , place], i) => (place ?? 0) > (free[i]?.[2] ?? Number.POSITIVE_INFINITY))
      .map(([key]) => key);
    if (given_up.length === 0) return;
    const release = releaseListeners({ ...mine(), keys: JSON.stringify(given_up) });
    await store.write([release], IN_BACKGROUND);
    for (const key of given_up) drop(key);
  };

  /** The address of a channel or link; null for one that was encrypted with another key. */
  const openAddress = (id: string, stored: string): string | null => {
    try {
      return store.vault.open(PLACES.address(id), stored);
    } catch (error) {
      log.warn("address not readable", { id, ...describeError(error) });
      return null;
    }
  };

  /** Reads the channels and links of keys, and opens what they need. `claimed`: positions of new keys. */
  const load = async (
    keys: readonly string[],
    claimed: ReadonlyMap<string, string | null> = new Map(),
  ): Promise<void> => {
    if (keys.length === 0) return;
    const now = clock.now();
    const rows = await store.read(membersOfListeners({ keys: JSON.stringify(keys), now }));
    if (stopping || leases.length === 0) return;
    for (const key of keys) {
      // Ids sort by their time.
      const of_key = rows
        .filter(([one]) => one === key)
        .sort(([, , a], [, , b]) => (a < b ? -1 : 1));
      const members: Members = {
        channels: of_key.flatMap(([, , channel_id, account_id, stored, link, error]) => {
          const address = link ? null : openAddress(channel_id, stored);
          return address === null ? [] : [{ channel_id, account_id, address, error }];
        }),
        links: of_key.flatMap(([, , link_id, account_id, stored, link]) => {
          const address = link ? openAddress(link_id, stored) : null;
          return address === null ? [] : [{ link_id, account_id, address }];
        }),
      };
      const channel = able.find(({ name }) => name === of_key[0]?.[1]);
      const stored = claimed.get(key);
      if (!held.has(key) && channel && claimed.has(key)) {
        const from = stored == null || Number.isNaN(Number(stored)) ? null : Number(stored);
        held.set(key, createKeyConnections({ key, channel, stored: from }, deps));
      }
      held.get(key)?.update(members);
    }
  };

  /** Stores positions and faults. What cannot be stored is tried again at the next look. */
  const flush = async (): Promise<void> => {
    const statements: Statement[] = [];
    const undo: (() => void)[] = [];
    const done: (() => void)[] = [];
    const codes = new Map<string | null, string[]>();
    for (const [key, connections] of held) {
      connections.join();
      const position = connections.newPosition();
      if (position !== null) {
        statements.push(moveListener({ ...mine(), key, position: String(position) }));
        done.push(() => connections.saved(position));
      }
      const reports = connections.takeReports();
      if (reports.length > 0) undo.push(() => connections.returnReports(reports));
      for (const [id, code] of reports) codes.set(code, [...(codes.get(code) ?? []), id]);
    }
    for (const [code, of_code] of codes) {
      const now = clock.now();
      statements.push(noteListening({ code, ids: JSON.stringify(of_code), now, test: 0 }));
    }
    if (statements.length === 0) return;
    try {
      await store.write(statements, IN_BACKGROUND);
      for (const note of done) note();
    } catch (error) {
      for (const note of undo) note();
      throw error;
    }
  };

  const look = async (): Promise<void> => {
    const renews = held.size > 0 && clock.elapsed() >= renew_at;
    if (renews) await renew();
    const [news, lapsed] = await Promise.all([store.read(listenerNews({ types })), lookAtLeases()]);
    const [newest, free] = news[0]!;
    const others = (lapsed ?? []).filter((lease) => !leases.includes(lease));
    if (stopping) return;
    if (newest !== version && held.size > 0) {
      const changed = await store.read(changedListeners({ ...mine(), version }));
      const known = changed.map(([key]) => key).filter((key) => held.has(key));
      for (let i = 0; i < known.length; i += CLAIMED) await load(known.slice(i, i + CLAIMED));
    }
    version = newest;
    if (renews && free === 1 && held.size >= most_keys) await makeRoom();
    if (free === 1 || others.length > 0) await claim(others);
    await flush();
    outage.works();
  };

  const tick = (): void => {
    cancel_tick();
    if (stopping) return;
    again = false;
    running = look()
      .catch((error: unknown) => outage.failed("listeners not looked at", error))
      .finally(() => {
        running = undefined;
        if (again) tick();
        else if (!stopping) cancel_tick = clock.after(POLL_EVERY, tick);
      });
  };

  return {
    /** Starts to listen, if a channel can. */
    start(): void {
      if (able.length > 0) tick();
    },

    /** Looks at once: a channel of this process was added or changed. */
    wake(): void {
      again = true;
      if (!running && able.length > 0) tick();
    },

    /** Resolves when no look at the store is under way. */
    async settled(): Promise<void> {
      await running;
    },

    /** Ends all connections, stores what they reached, and gives the leases back. */
    async stop(seconds = STOP_WAIT): Promise<void> {
      stopping = true;
      cancel_tick();
      cancel_end();
      const late = Promise.withResolvers<void>();
      const cancel = timers.after(Math.min(seconds, STOP_WAIT), () => late.resolve());
      const end = async () => {
        await running;
        const store_now = (work: Promise<unknown>) =>
          work.catch((error: unknown) => outage.failed("listeners not stored", error));
        await store_now(flush());
        await Promise.all([...[...held.values()].map((one) => one.close()), ...closing]);
        if (held.size === 0 || leases.length === 0) return;
        const release = releaseListeners({ ...mine(), keys: JSON.stringify([...held.keys()]) });
        await store_now(store.write([release], IN_BACKGROUND));
      };
      await Promise.race([end(), late.promise]);
      cancel();
    },

    /** What this process listens to, by channel. */
    health: (): ListenerHealth[] =>
      able.map(({ name }) => {
        const all = [...held.values()].filter(({ channel }) => channel.name === name);
        const figures = all.map((one) => one.figures());
        const sum = (of: "connections" | "working" | "served") =>
          figures.reduce((total, one) => total + one[of], 0);
        return {
          channel: name,
          ...{ connections: sum("connections"), working: sum("working"), served: sum("served") },
        };
      }),

    /** Keys that this process listens for, at most `most_keys`. */
    keys: (): number => held.size,

    /** Answers that came to this process since its start, by what became of them (`ListenOutcome.is`). */
    answers: (): Readonly<Record<string, number>> => ({ ...counts }),
  };
}
