/** How the pushes do, for whoever runs the service: no content, no token. */

import { newestRecords, queuedPushes } from "../../db/notify/records.ts";
import type { Environment, LaneHealth, PushRecord } from "../model/push.ts";
import type { ServiceDeps } from "./deps.ts";

interface PushStatusDeps extends Pick<ServiceDeps, "store"> {
  readonly health: () => LaneHealth[];
}

interface Queue {
  readonly environment: Environment;
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
  /** What became of the last pushes of all processes, newest first. */
  readonly records: readonly PushRecord[];
}

export function createPushStatus({ store, health }: PushStatusDeps) {
  return {
    /** With the newest `limit` outcome records of the last 7 days. */
    async read(limit: number): Promise<PushStatus> {
      const [queues, records] = await Promise.all([
        store.read(queuedPushes({})),
        store.read(newestRecords({ limit })),
      ]);
      return {
        lanes: health(),
        queues: queues.map(([environment, rows, oldest]) => ({
          environment: environment as Environment,
          rows: rows as number,
          oldest: (oldest as number) / 1000,
        })),
        records,
      };
    },
  };
}
