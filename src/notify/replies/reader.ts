/**
 * Reads the replies of channels (§19.8). One process of all holds the lease, and opens the connections of every bot and
 * topic; the others stand by. It knows no channel by name.
 */

import {
  changedReplies,
  membersOfReplies,
  moveReplies,
  noteReplies,
  releaseReplyLease,
  replyLease,
  takeReplyLease,
} from "../../../db/notify/replies.ts";
import { IN_BACKGROUND, type Statement } from "../../../db/store/store.ts";
import { PLACES } from "../../../db/store/vault.ts";
import { describeError } from "../../log.ts";
import type { ReplyHealth } from "../../model/notification.ts";
import { createOutage } from "../../observability/outages.ts";
import { createTurns } from "../../overload/turns.ts";
import type { Channel } from "../core/channel.ts";
import { createFailureLog } from "../core/failure-log.ts";
import { LEASE } from "../core/leases.ts";
import { POLL_EVERY } from "../core/worker-loop.ts";
import {
  type ConnectionDeps,
  createKeyConnections,
  type KeyConnections,
  type Members,
} from "./connections.ts";

/** Seconds between two renewals of the lease. */
const RENEW_EVERY = 10;
/** Seconds before another process may take the lease by which this one has stopped. */
const MARGIN = 2;
/** Keys whose replies are read, since each takes a connection. Of more, each account's first come first. */
const KEYS = 1_000;
/** Changed keys of one read of the store. */
const CHANGED = 100;
/** Members of a key that are looked at to find the account whose share it takes. */
const OWNERS = 20;
/** Connections that are opened in one turn of the event loop. */
const PER_TURN = 4;
/** Seconds that a stop waits for what is being handled. */
const STOP_WAIT = 5;

export type ReplyReader = ReturnType<typeof createReplyReader>;

interface ReplyReaderOptions extends Omit<ConnectionDeps, "turn" | "note"> {
  readonly channels: readonly Channel[];
  /** Keys whose replies are read at most; 1,000 when absent. */
  readonly most_keys?: number;
  /** Real time, also in tests: for a stop. */
  readonly timers: Pick<ConnectionDeps["clock"], "after">;
}

/** What is known of one key of `ReplySource.keyOf`. */
interface Key {
  readonly key: string;
  readonly channel: Channel;
  readonly members: Members;
  /** The position in the store. */
  position: number | null;
  /** Null while there is no place for it. */
  connections: KeyConnections | null;
}

export function createReplyReader(options: ReplyReaderOptions) {
  const { store, clock, timers, ids, log, channels, most_keys = KEYS } = options;
  const outage = createOutage({ clock, log, over: "listeners work again" });
  const failing = createFailureLog({ clock, log });
  const able = channels.filter(({ replies }) => replies);
  const keys = new Map<string, Key>();
  const counts: Record<string, number> = {};
  /** What the store is to say of channels, by their id: why their replies do not arrive. */
  let notes = new Map<string, string | null>();
  /** Names of the lease of this process: more than one after a renewal whose outcome is not known. None: it stands by. */
  let leases: string[] = [];
  let renew_at = 0;
  /** The lease of another process, and since when this one sees it, by `Clock.elapsed`. */
  let seen: { readonly lease: string | null; readonly since: number } | undefined;
  /** The newest version of a key that was read. */
  let version = 0;
  /** The newest version when there was nothing to read: until it changes, the lease is not taken. */
  let idle_version = 0;
  /** True if the keys have changed since their places were given. */
  let has_changed = false;
  let stopping = false;
  let cancel_tick = () => {};
  let cancel_end = () => {};
  let running: Promise<void> | undefined;
  let again = false;
  const closing = new Set<Promise<void>>();

  const mine = () => ({ leases: JSON.stringify(leases) });
  const deps: ConnectionDeps = {
    ...options,
    turn: createTurns(PER_TURN).begin,
    note(channel, members, reason) {
      for (const member of members) {
        if (member.error === reason) continue;
        const { channel_id, account_id } = member;
        if (reason !== null) {
          failing.report(
            { channel: channel.name, target_id: channel_id, account_id, host: null, subject: "" },
            { level: "info", event: "answers do not arrive", reason },
          );
        }
        member.error = reason;
        notes.set(channel_id, reason);
      }
    },
    async handle(event, account_id) {
      const outcome = await options.handle(event, account_id);
      counts[outcome.is] = (counts[outcome.is] ?? 0) + 1;
      return outcome;
    },
  };

  const close = (one: Key) => {
    const over = one.connections?.close().finally(() => closing.delete(over!));
    if (over) closing.add(over);
    one.connections = null;
  };
  const standBy = () => {
    cancel_end();
    leases = [];
    seen = undefined;
    version = 0;
    for (const one of keys.values()) close(one);
    keys.clear();
  };

  /** The lease holds from `since` (a moment of `elapsed`); without a renewal, everything ends before it does. */
  const holdFrom = (since: number) => {
    cancel_end();
    cancel_end = clock.after(since + LEASE - MARGIN - clock.elapsed(), () => {
      if (keys.size > 0) outage.note("listeners lost", { listeners: keys.size });
      standBy();
    });
    renew_at = since + RENEW_EVERY;
  };

  /** The lease that this process may take over; undefined while another one holds it, or nothing is to be read. */
  const freeLease = async (): Promise<string | null | undefined> => {
    const [row] = await store.read(replyLease({}));
    const [lease, newest] = row!;
    const now = clock.elapsed();
    // Each renewal has another name, so one that is seen for long was not renewed.
    if (seen?.lease !== lease) seen = { lease, since: now };
    const is_free = lease === null || now - seen!.since >= LEASE;
    return is_free && newest !== idle_version ? lease : undefined;
  };

  /** Takes or renews the lease if it is time to. True if this process holds it. */
  const holdLease = async (): Promise<boolean> => {
    const since = clock.elapsed();
    if (leases.length > 0 && since < renew_at) return true;
    const free = leases.length > 0 ? null : await freeLease();
    if (free === undefined || stopping) return false;
    const lease = ids.unique();
    const from = JSON.stringify(leases.length > 0 ? leases : [free]);
    leases = [...leases, lease];
    const [written] = await store.write([takeReplyLease({ lease, from })], IN_BACKGROUND);
    // The timer ended the old one meanwhile; another process takes the new one once it is over.
    if (!leases.includes(lease)) return false;
    if (written!.changes === 0) standBy();
    else {
      leases = [lease];
      holdFrom(since);
    }
    return leases.length > 0;
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

  /** Reads the channels and links of keys that changed. */
  const load = async (
    changed: readonly (readonly [key: string, position: string | null, version: number])[],
  ): Promise<void> => {
    const now = clock.now();
    const names = JSON.stringify(changed.map(([key]) => key));
    const rows = await store.read(membersOfReplies({ keys: names, now }));
    if (stopping || leases.length === 0) return;
    for (const [key, stored] of changed) {
      // Ids sort by their time.
      const of_key = rows
        .filter(([one]) => one === key)
        .sort(([, , a], [, , b]) => (a < b ? -1 : 1));
      const members: Members = {
        channels: of_key.flatMap(([, , channel_id, account_id, stored_address, link, error]) => {
          const address = link ? null : openAddress(channel_id, stored_address);
          return address === null ? [] : [{ channel_id, account_id, address, error }];
        }),
        links: of_key.flatMap(([, , link_id, account_id, stored_address, link]) => {
          const address = link ? openAddress(link_id, stored_address) : null;
          return address === null ? [] : [{ link_id, account_id, address }];
        }),
      };
      const channel = able.find(({ name }) => name === of_key[0]?.[1]);
      const known = keys.get(key);
      if (!channel || members.channels.length + members.links.length === 0) {
        if (known) close(known);
        keys.delete(key);
        continue;
      }
      const read = stored === null || Number.isNaN(Number(stored)) ? null : Number(stored);
      const { position = read, connections = null } = known ?? {};
      keys.set(key, { key, channel, members, position, connections });
      connections?.update(members);
    }
    version = changed.at(-1)![2];
    has_changed = true;
  };

  /** Opens the connections of keys for which there is a place, and closes those for which there is none. */
  const place = (): void => {
    has_changed = false;
    const placed = new Set(fairest([...keys.values()], most_keys));
    for (const one of keys.values()) {
      const { key, channel, members, position } = one;
      if (!placed.has(one)) {
        close(one);
        deps.note(channel, members.channels, "too_many_channels");
      } else if (!one.connections) {
        one.connections = createKeyConnections({ key, channel, stored: position }, deps);
        one.connections.update(members);
      }
    }
  };

  /** Stores positions and faults. What cannot be stored is tried again at the next look. */
  const flush = async (): Promise<void> => {
    const statements: Statement[] = [];
    const done: (() => void)[] = [];
    for (const one of keys.values()) {
      one.connections?.join();
      const position = one.connections?.position() ?? null;
      if (position === null || position === one.position) continue;
      statements.push(moveReplies({ ...mine(), key: one.key, position: String(position) }));
      done.push(() => {
        one.position = position;
      });
    }
    const noted = notes;
    notes = new Map();
    for (const [code, of_code] of Map.groupBy(noted, ([, reason]) => reason)) {
      const now = clock.now();
      const channel_ids = JSON.stringify(of_code.map(([id]) => id));
      statements.push(noteReplies({ code, ids: channel_ids, now, test: 0 }));
    }
    if (statements.length === 0) return;
    try {
      await store.write(statements, IN_BACKGROUND);
      for (const note of done) note();
    } catch (error) {
      notes = new Map([...noted, ...notes]);
      throw error;
    }
  };

  const look = async (): Promise<void> => {
    if (await holdLease()) {
      for (;;) {
        const changed = await store.read(changedReplies({ version, limit: CHANGED }));
        if (changed.length > 0) await load(changed);
        if (stopping || leases.length === 0) return;
        if (changed.length < CHANGED) break;
      }
      if (has_changed) place();
      await flush();
      // Nothing is left to read: the store is left alone until there is.
      if (keys.size === 0) {
        idle_version = version;
        await release();
      }
    }
    outage.works();
  };

  const release = async (): Promise<void> => {
    const releasing = releaseReplyLease(mine());
    standBy();
    await store.write([releasing], IN_BACKGROUND);
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
    /** Starts to read replies, if a channel has any. */
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

    /** Ends all connections, stores what they reached, and gives the lease back. */
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
        for (const one of keys.values()) close(one);
        await Promise.all(closing);
        if (leases.length > 0) await store_now(release());
      };
      await Promise.race([end(), late.promise]);
      cancel();
    },

    /** What this process reads, by channel. */
    health: (): ReplyHealth[] =>
      able.map(({ name }) => {
        const all = [...keys.values()].filter(({ channel }) => channel.name === name);
        const figures = all.flatMap(({ connections }) => connections?.figures() ?? []);
        const sum = (of: "connections" | "working" | "served") =>
          figures.reduce((total, one) => total + one[of], 0);
        return {
          channel: name,
          ...{ connections: sum("connections"), working: sum("working"), served: sum("served") },
        };
      }),

    /** Keys whose replies this process reads, at most `most_keys`. */
    keys: (): number => [...keys.values()].filter(({ connections }) => connections).length,

    /** Answers that came to this process since its start, by what became of them (`ReplyOutcome.is`). */
    answers: (): Readonly<Record<string, number>> => ({ ...counts }),
  };
}

/**
 * The keys that have a place if at most `most` may: the first of each account before the second of any, and the older
 * before the newer. A key of several accounts takes the share of the one that has fewest before it.
 */
function fairest(keys: readonly Key[], most: number): readonly Key[] {
  if (keys.length <= most) return keys;
  const bornOf = ({ members: { channels, links } }: Key) =>
    (channels[0]?.channel_id ?? links[0]!.link_id).slice("chn_".length);
  const shares = new Map<string, number>();
  const shareOf = (account_id: string) => shares.get(account_id) ?? 0;
  const ranked = keys
    .toSorted((a, b) => (bornOf(a) < bornOf(b) ? -1 : 1))
    .map((key) => {
      const { channels, links } = key.members;
      const accounts = [...channels.slice(0, OWNERS), ...links.slice(0, OWNERS)].map(
        ({ account_id }) => account_id,
      );
      const owner = accounts.reduce((least, one) => (shareOf(one) < shareOf(least) ? one : least));
      const rank = shareOf(owner);
      shares.set(owner, rank + 1);
      return { key, rank };
    });
  return ranked
    .sort((a, b) => a.rank - b.rank)
    .slice(0, most)
    .map(({ key }) => key);
}
