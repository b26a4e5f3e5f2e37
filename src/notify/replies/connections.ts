/** The connections of one key of a source of replies: which channels each serves, back-off, faults and position. */

import { channelGone } from "../../../db/channels.ts";
import { forgetTarget } from "../../../db/notify/targets.ts";
import { IN_BACKGROUND, type Store } from "../../../db/store/store.ts";
import type { Clock } from "../../clock.ts";
import type { Config } from "../../config.ts";
import type { Ids } from "../../ids.ts";
import type { Log } from "../../log.ts";
import { createOutage, isStoreAway } from "../../observability/outages.ts";
import type { Outbound } from "../../outbound/guard.ts";
import type { Channel } from "../core/channel.ts";
import {
  FAULTS_SHOWN,
  type PendingLink,
  type ReplyChannel,
  type ReplyConnection,
  type ReplyConnectionEnd,
  type ReplyEvent,
  type ReplyOutcome,
  type ReplySource,
} from "./source.ts";

/** Seconds after which a connection that worked begins a new row of ends. */
const LASTED = 60;
/** Seconds after which connections that were divided, and have worked since, become one again. */
const JOINED_AFTER = 600;
/** Seconds between two tries to handle an event, and tries until one that is at fault itself is given up. */
const TRY_EVERY = 1;
const TRIES = 30;
/** Connections of one key, but for topics that are refused alone; further channels are `too_many_channels`. */
const CONNECTIONS = 25;

/** Handles an event of a channel of `account_id`; null for a link. Throws if the store is away. */
type HandleEvent = (event: ReplyEvent, account_id: string | null) => Promise<ReplyOutcome>;

export interface ConnectionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly config: Config;
  readonly outbound: Outbound;
  readonly handle: HandleEvent;
  /** Resolves when the next connection may be opened. */
  readonly turn: () => Promise<void> | undefined;
  /** Stores and logs why the replies of channels do not arrive; null: they do. */
  readonly note: (
    channel: Channel,
    members: readonly ReplyChannel[],
    reason: string | null,
  ) => void;
}

/** The channels and links of a key. */
export interface Members {
  readonly channels: readonly ReplyChannel[];
  readonly links: readonly PendingLink[];
}

interface Connection {
  members: ReplyChannel[];
  /** The end of what is open now. */
  opened: AbortController | null;
  closed: boolean;
  /** True: it was opened as one of two. It takes no more channels. */
  split: boolean;
  /** Ends in a row. */
  ends: number;
  works: boolean;
  /** When it was opened last, by `Clock.elapsed`. */
  since: number;
  /** Position to resume from; at first the stored one. */
  position: number | null;
  /** Ends of its waits: for the next connection, and of each event that waits for the store. */
  readonly wakes: Set<() => void>;
  over: Promise<void>;
}

export type KeyConnections = ReturnType<typeof createKeyConnections>;

/** Opens and keeps the connections of `key`. `stored`: the position that an earlier process reached. */
export function createKeyConnections(
  { key, channel, stored }: { key: string; channel: Channel; stored: number | null },
  deps: ConnectionDeps,
) {
  const { store, clock, ids, log, config, outbound, handle, turn } = deps;
  const source: ReplySource = channel.replies!;
  const most = source.most ?? Number.POSITIVE_INFINITY;
  const named = { channel: channel.name, listener: key };
  const answers = createOutage({ clock, log, named, over: "answers handled again" });
  const failures = createOutage({ clock, log, named });
  const connections = new Set<Connection>();
  /** Connections that still run. */
  const running = new Set<Promise<void>>();
  let links: readonly PendingLink[] = [];
  /** Channels for which there was no connection. */
  let unserved: readonly ReplyChannel[] = [];

  /** Connections that count. One that was divided off alone and waits to be tried again takes nobody's place. */
  const counted = (): number =>
    [...connections].filter(
      ({ split, members, opened }) => !(split && members.length === 1 && opened === null),
    ).length;

  const note = (channels: readonly ReplyChannel[], reason: string | null) =>
    deps.note(channel, channels, reason);

  const forget = (channels: readonly ReplyChannel[], code: string) => {
    const now = clock.now();
    const statements = channels.flatMap(({ channel_id: id, account_id, address }) => [
      channelGone({ id, now, code }),
      ...channel.lanes.map((lane) =>
        forgetTarget({
          ...{ account_id, purpose: "alert", recipient_id: id, subject: "", lane, address },
          since: now,
        }),
      ),
    ]);
    // If it is not written, the service says it again.
    store
      .write(statements, IN_BACKGROUND)
      .catch((error: unknown) => failures.failed("channel not ended", error));
  };

  /** Waits, at most until the connection is closed. */
  const sleep = async ({ closed, wakes }: Connection, seconds: number): Promise<void> => {
    if (closed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(seconds, resolve);
    wakes.add(resolve);
    await promise;
    wakes.delete(resolve);
    cancel();
  };

  /** Handles an event, again while the store is away. Throws once `signal` aborts. */
  const handleEvent = async (event: ReplyEvent, connection: Connection, signal: AbortSignal) => {
    const found =
      event.kind === "link"
        ? null
        : connection.members.find(({ channel_id }) => channel_id === event.channel_id);
    if (found === undefined) return { is: "unknown" } as const;
    for (let tries = 1; ; tries++) {
      signal.throwIfAborted();
      try {
        const outcome = await handle(event, found?.account_id ?? null);
        answers.works();
        return outcome;
      } catch (error) {
        if (!isStoreAway(error) && tries >= TRIES) {
          answers.failed("answer not handled", error);
          return { is: "unknown" } as const;
        }
        answers.failed("answer waits", error);
        await sleep(connection, TRY_EVERY);
      }
    }
  };

  const portOf = (connection: Connection, signal: AbortSignal): ReplyConnection => ({
    key,
    channels: () => connection.members,
    links: () => links,
    from: connection.position,
    async handle(event, position) {
      const outcome = event ? await handleEvent(event, connection, signal) : null;
      signal.throwIfAborted();
      connection.position = position ?? connection.position;
      return outcome ?? { is: "unknown" };
    },
    works(channels = connection.members) {
      connection.works = true;
      note(channels, null);
    },
    fails: note,
    forget,
    signal,
    config,
    clock,
    outbound,
  });

  /** Half of the channels go to another connection. */
  const splitOff = (connection: Connection) => {
    const half = connection.members.splice(Math.ceil(connection.members.length / 2));
    connection.split = true;
    open(half, { split: true, position: connection.position });
  };

  const delayOf = ({ least, most }: ReplyConnectionEnd, ends: number): number => {
    const base = Math.min(most, least * 2 ** Math.min(ends - 1, 20));
    return base * (1 + ids.jitter());
  };

  const openOnce = async (connection: Connection): Promise<ReplyConnectionEnd> => {
    const opened = new AbortController();
    connection.opened = opened;
    connection.works = false;
    connection.since = clock.elapsed();
    try {
      await turn();
      return await source.open(portOf(connection, opened.signal));
    } catch (error) {
      if (!opened.signal.aborted) failures.failed("listener failed", error);
      return { reason: "failed", least: 1, most: 300, shows: false };
    } finally {
      connection.opened = null;
      opened.abort();
    }
  };

  const run = async (connection: Connection): Promise<void> => {
    while (!connection.closed) {
      const members = connection.members;
      const end = await openOnce(connection);
      // Opened again for other members.
      if (connection.closed || connection.members !== members) continue;
      if (connection.works && clock.elapsed() - connection.since >= LASTED) connection.ends = 0;
      connection.ends++;
      if (end.splits && members.length > 1 && counted() < 2 * CONNECTIONS) {
        splitOff(connection);
        connection.ends = 0;
      } else if (end.reason !== "ok" && (end.shows || connection.ends >= FAULTS_SHOWN)) {
        note(members, end.reason);
      }
      const wait = delayOf(end, Math.max(1, connection.ends));
      log.debug?.("listener ended", { ...named, reason: end.reason, wait });
      await sleep(connection, wait);
    }
  };

  const open = (
    members: ReplyChannel[],
    { split = false, position = stored }: { split?: boolean; position?: number | null } = {},
  ) => {
    const connection: Connection = {
      members,
      opened: null,
      closed: false,
      split,
      ends: 0,
      works: false,
      since: clock.elapsed(),
      position,
      wakes: new Set(),
      over: Promise.resolve(),
    };
    connections.add(connection);
    const over = run(connection).finally(() => {
      running.delete(over);
      connections.delete(connection);
    });
    running.add(over);
  };

  const close = (connection: Connection) => {
    connection.closed = true;
    connections.delete(connection);
    connection.opened?.abort();
    for (const wake of connection.wakes) wake();
  };

  /** Puts new channels into connections that have room, and opens those again that cannot grow while open. */
  const add = (added: readonly ReplyChannel[]) => {
    const rest = [...added];
    for (const connection of connections) {
      const room = most - connection.members.length;
      if (connection.split || room <= 0 || rest.length === 0) continue;
      connection.members = [...connection.members, ...rest.splice(0, room)];
      if (source.most !== null) connection.opened?.abort();
    }
    while (rest.length > 0 && counted() < CONNECTIONS) open(rest.splice(0, most));
    unserved = rest;
    note(rest, "too_many_channels");
  };

  /** Makes one of two connections that were divided, since a service limits how many it serves. */
  const joinTwo = (): void => {
    const settled = [...connections].filter(
      ({ split, works, opened, since }) =>
        split && works && opened && clock.elapsed() - since >= JOINED_AFTER,
    );
    const [first, second] = settled.sort((a, b) => a.members.length - b.members.length);
    if (!first || !second || first.members.length + second.members.length > most) return;
    const positions = [first.position, second.position];
    first.position = positions.includes(null) ? null : Math.min(...(positions as number[]));
    first.members = [...first.members, ...second.members];
    first.opened?.abort();
    close(second);
  };

  return {
    channel,

    /** Joins what was divided, and serves channels for which there was no room. Call it from time to time. */
    join(): void {
      joinTwo();
      if (unserved.length > 0) add(unserved);
    },

    /** Takes over the channels and links as they are now. */
    update(now: Members): void {
      links = now.links;
      const known = new Map(now.channels.map((one) => [one.channel_id, one]));
      const served = new Set<string>();
      for (const connection of connections) {
        // In place: an open connection goes on with those that are left.
        const left = connection.members.filter(({ channel_id }) => known.has(channel_id));
        if (left.length < connection.members.length) {
          connection.members.splice(0, connection.members.length, ...left);
        }
        for (const { channel_id } of left) served.add(channel_id);
      }
      const added = now.channels.filter(({ channel_id }) => !served.has(channel_id));
      add(added);
      if (links.length > 0 && connections.size === 0) open([]);
      for (const connection of connections) {
        const first = connection === connections.values().next().value;
        if (connection.members.length === 0 && !(first && links.length > 0)) close(connection);
      }
    },

    /** The position that every connection has reached; null before the first event. */
    position(): number | null {
      const reached = [...connections].map(({ position }) => position);
      if (reached.length === 0 || reached.includes(null)) return null;
      return Math.min(...(reached as number[]));
    },

    /** Ends every connection, and resolves when none runs any more. */
    async close(): Promise<void> {
      for (const connection of connections) close(connection);
      await Promise.all(running);
    },

    figures() {
      const all = [...connections];
      return {
        connections: all.length,
        working: all.filter(({ works, opened }) => works && opened).length,
        served: all.reduce((sum, { members }) => sum + members.length, 0),
      };
    },
  };
}
