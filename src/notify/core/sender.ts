/** Sends notifications: a delivery worker for each lane of each channel that is configured. */

import type { Store } from "../../../db/store/store.ts";
import type { Clock } from "../../clock.ts";
import type { Config } from "../../config.ts";
import type { Ids } from "../../ids.ts";
import type { Log } from "../../log.ts";
import type { LaneHealth, NotificationKind } from "../../model/notification.ts";
import type { Traces } from "../../observability/traces.ts";
import { createTurns } from "../../overload/turns.ts";
import type { Channel, CodeOf, Connection, Network, TicketOf, Verdict } from "./channel.ts";
import { createFailureLog } from "./failure-log.ts";
import type { Notification } from "./notification.ts";
import { codesOf } from "./prepare.ts";
import { createRequestPool, REQUESTS, RESERVED } from "./request-pool.ts";
import { createDeliveryWorker } from "./worker.ts";

/** Requests made and answers handled in one turn of the event loop, over all lanes. */
export const PER_TURN = 4;

interface Lane {
  readonly channel: Channel;
  readonly connection: Connection;
}

interface SenderOptions {
  readonly config: Config;
  /** All channels, including those without a lane. */
  readonly channels: readonly Channel[];
  readonly lanes: readonly Lane[];
  readonly store: Store;
  readonly clock: Clock;
  /** Real time, also in tests. */
  readonly timers: Pick<Clock, "after">;
  readonly ids: Ids;
  readonly log: Log;
  /** Null or absent without a collector of traces. */
  readonly traces?: Traces | null;
  readonly ticketOf: TicketOf;
  readonly codeOf: CodeOf;
}

/** Connects the lanes that are configured. Throws a ConfigError if a value cannot be used. */
export async function connectLanes(
  channels: readonly Channel[],
  config: Config,
  clock: Clock,
  network: Network,
): Promise<readonly Lane[]> {
  const lanes: Lane[] = [];
  for (const channel of channels) {
    const connections = await channel.connect(config, clock, network);
    lanes.push(...connections.map((connection) => ({ channel, connection })));
  }
  if (lanes.length > 0) startHttpClient();
  return lanes;
}

/**
 * Bun starts the thread of its HTTP client with the first request, and ends the process if no file
 * descriptor is left for it then. A connection attempt to a closed port starts the thread now.
 */
function startHttpClient(): void {
  fetch.preconnect("http://127.0.0.1:1");
}

/** For a notification that belongs to no question. */
const NO_QUESTION = { ticket: null, shown: null, badge: null, handle: null };

/** The connection, with a turn of the event loop for each request and for what follows its answer. */
const inTurns = (connection: Connection, turn: () => Promise<void> | undefined): Connection => ({
  ...connection,
  async send(request, origin) {
    await turn();
    const answer = await connection.send(request, origin);
    await turn();
    return answer;
  },
});

/** The channel that a test is sent to. */
interface TestedTarget {
  readonly channel_id: string;
  readonly address: string;
  readonly account_id: string;
}

export type Sender = ReturnType<typeof createSender>;

/** Makes the workers of all lanes. Without a lane, it sends nothing. */
export function createSender(options: SenderOptions) {
  const { config, channels, lanes, store, clock, timers, ids, log, ticketOf, codeOf } = options;
  const { traces = null } = options;
  const pool = createRequestPool(REQUESTS, RESERVED);
  const full = config.PUSH_CONTENT === "full";
  const base_url = config.PUBLIC_URL?.replace(/\/$/, "") ?? null;
  const turn = createTurns(PER_TURN).begin;
  const failures = createFailureLog({ clock, log });
  const deps = { store, clock, timers, ids, log, failures, traces };
  const rest = { ...deps, full, base_url, ticketOf, codeOf };
  const workers = lanes.map(({ channel, connection }) => {
    const { in_flight, own_sockets } = connection;
    const slots = own_sockets ? createRequestPool(own_sockets, 0).lane() : pool.lane(in_flight);
    return createDeliveryWorker({ channel, connection: inTurns(connection, turn), ...rest, slots });
  });

  const wake = () => {
    for (const worker of workers) worker.run();
  };

  return {
    /** The lanes that a notification of this kind is planned for. */
    lanesFor: (kind: NotificationKind): readonly string[] =>
      lanes
        .filter(({ channel }) => channel.supports(kind))
        .map(({ connection }) => connection.lane),
    /** Like `lanesFor`, without the stopped lanes, which send nothing until a restart. */
    openLanesFor: (kind: NotificationKind): readonly string[] =>
      workers.flatMap((worker, i) => {
        const { lane, state } = worker.health();
        return state !== "stopped" && lanes[i]!.channel.supports(kind) ? [lane] : [];
      }),
    /** The lanes of channels that replace alerts instead of clearing them. */
    replacingLanes: (): readonly string[] =>
      lanes.filter(({ channel }) => channel.replaces).map(({ connection }) => connection.lane),
    /** The public key that browsers subscribe with; null if no lane has one. */
    clientKey: (): string | null =>
      lanes.map(({ connection }) => connection.clientKey?.()).find((key) => key !== undefined) ??
      null,
    /** Starts to send what is queued. */
    start(): void {
      for (const { name, whyOff } of channels) {
        if (lanes.some(({ channel }) => channel.name === name)) continue;
        const reason = whyOff?.(config);
        // What nobody configured is not missed.
        if (reason != null) log.info("channel is off", { channel: name, reason });
      }
      wake();
    },
    /**
     * Sends the test of a channel outside of the queue, within `connection_wait` and the time limit of a
     * request. Null for a lane that this process does not have.
     */
    async sendNow(
      lane: string,
      notification: Notification,
      { channel_id, address, account_id }: TestedTarget,
    ): Promise<Verdict | null> {
      const found = lanes.find(({ connection }) => connection.lane === lane);
      const codes = codesOf(notification, channel_id, codeOf);
      const to = { address, delivery_id: ids.unique(), base_url, ...NO_QUESTION, codes };
      const request = found?.channel.render(notification, to) ?? null;
      if (!found || request === null) return null;
      const answer = await found.connection.send(request, { owner: account_id, is_test: true });
      return found.channel.classify(answer, { kind: "task", attempts: 1, resent: false });
    },
    /** True if the test of this address has a button that answers it. */
    hasTestButton(lane: string, address: string): boolean {
      const channel = lanes.find(({ connection }) => connection.lane === lane)?.channel;
      return channel !== undefined && (channel.hasTestButton?.(address, base_url) ?? true);
    },
    /** After a test that was accepted: why answers cannot come back by the channel, or null. */
    async check(lane: string, { address, account_id }: TestedTarget): Promise<string | null> {
      const connection = lanes.find((one) => one.connection.lane === lane)?.connection;
      return (await connection?.check?.(address, { owner: account_id, is_test: true })) ?? null;
    },
    /** Call it after a change has queued deliveries. */
    wake,
    /** Resolves when nothing is under way. */
    async settled(): Promise<void> {
      await Promise.all(workers.map((worker) => worker.settled()));
    },
    /** Waits at most `seconds` (default 10) for the requests under way, and puts the rest back into the queue. */
    async stop(seconds?: number): Promise<void> {
      await Promise.all(workers.map((worker) => worker.stop(seconds)));
    },
    /** State of each lane of this process. */
    health: (): LaneHealth[] => workers.map((worker) => worker.health()),
  };
}
