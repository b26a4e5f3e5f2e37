/**
 * Chooses which of the due messages to send now, in turns of accounts (docs/interface.md 19.4.6);
 * pure.
 */

import { WEBHOOK } from "../../notification-limits.ts";

/** A message that is due. */
export interface DueMessage {
  readonly seq: number;
  readonly channel_id: string;
  readonly account_id: string;
  readonly host: string;
  /** The last attempt of its channel failed, or none has succeeded so far. */
  readonly failing: boolean;
  /** Attempts that its channel may still make in this minute. */
  readonly left: number;
}

interface Room {
  /** Messages that may go now, and those of failing channels among them. */
  readonly total: number;
  readonly failing: number;
  /** Connections that may be made to a host. */
  readonly ofHost: (host: string) => number;
  /** Messages of an account that are under way. */
  readonly underWay: (account_id: string) => number;
}

/** In rounds, one message of each account at a time, in the order given. */
export function chooseMessages(due: readonly DueMessage[], room: Room): DueMessage[] {
  const chosen: DueMessage[] = [];
  const counts = new Map<string, number>();
  const count = (name: string) => counts.get(name) ?? 0;
  let failing = 0;
  const fits = (one: DueMessage) =>
    chosen.length < room.total &&
    (!one.failing || failing < room.failing) &&
    count(`host ${one.host}`) < room.ofHost(one.host) &&
    count(one.channel_id) < one.left &&
    count(one.account_id) + room.underWay(one.account_id) < WEBHOOK.per_account;

  const queues = Map.groupBy(due, ({ account_id }) => account_id);
  while (queues.size > 0) {
    for (const [account_id, queue] of queues) {
      const at = queue.findIndex(fits);
      if (at < 0) {
        // Counts only grow, so what does not fit now will not fit later.
        queues.delete(account_id);
        continue;
      }
      const [one] = queue.splice(at, 1);
      chosen.push(one!);
      if (one!.failing) failing++;
      for (const name of [`host ${one!.host}`, one!.channel_id, account_id]) {
        counts.set(name, count(name) + 1);
      }
    }
  }
  return chosen;
}
