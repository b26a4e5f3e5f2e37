/** Operator figures of notifications: no content, no address. */

import { furthestByLane } from "../../db/notify/question-deliveries.ts";
import { newestRecords, queuedDeliveries } from "../../db/notify/records.ts";
import { queuedMessages } from "../../db/notify/webhook-queue.ts";
import { Furthest } from "../model/delivery.ts";
import type { DeliveryRecord, LaneHealth } from "../model/notification.ts";
import type { ServiceDeps } from "./deps.ts";

interface PushStatusDeps extends Pick<ServiceDeps, "store"> {
  /** Of every lane, that of webhooks included. */
  readonly health: () => LaneHealth[];
  /** The lane of webhooks, which have a queue of their own. */
  readonly webhook_lane: string;
}

interface Queue {
  readonly lane: string;
  /** At most 10,000 are counted. */
  readonly rows: number;
  /** When the longest waiting one was planned. */
  readonly oldest: number;
}

export interface PushStatus {
  /** Of this process; none while pushes are off. */
  readonly lanes: readonly LaneHealth[];
  /** What waits to be sent, of all processes. */
  readonly queues: readonly Queue[];
  /** What became of the last deliveries of all processes, newest first. */
  readonly records: readonly DeliveryRecord[];
  /** How far the last deliveries of questions got. */
  readonly furthest: readonly (readonly [lane: string, furthest: Furthest, deliveries: number])[];
}

export function createPushStatus({ store, health, webhook_lane }: PushStatusDeps) {
  return {
    /**
     * With the newest `limit` outcome records of the last 7 days, and as many deliveries of questions.
     */
    async read(limit: number): Promise<PushStatus> {
      const [queues, [messages], records, furthest] = await Promise.all([
        store.read(queuedDeliveries({})),
        store.read(queuedMessages({})),
        store.read(newestRecords({ limit })),
        store.read(furthestByLane({ limit })),
      ]);
      const [rows = 0, oldest_ms = null] = messages ?? [];
      const all =
        oldest_ms === null ? queues : [...queues, [webhook_lane, rows, oldest_ms] as const];
      return {
        lanes: health(),
        queues: all.map(([lane, rows, oldest_ms]) => ({ lane, rows, oldest: oldest_ms / 1000 })),
        records,
        furthest: furthest.filter(([, one]) => Furthest.safeParse(one).success),
      };
    },
  };
}
