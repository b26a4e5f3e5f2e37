/** Chooses which of the due messages to send now, in turns of accounts (§19.4.6); pure. */

import { WEBHOOK_LIMITS } from "../../notification-limits.ts";
import { mayTake } from "../core/host-slots.ts";

/** Messages of one account that are under way at once, per process. */
export const PER_ACCOUNT = 8;

export interface DueMessage {
  readonly seq: number;
  readonly channel_id: string;
  readonly account_id: string;
  readonly host: string;
  /** True if the last attempt of its channel failed, or none has succeeded so far. */
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
  /** Connections of an account to a host. */
  readonly heldBy: (host: string, account_id: string) => number;
  /** Messages of failing channels that are under way at a host, of one account or of all (null). */
  readonly failingAt: (host: string, account_id: string | null) => number;
  /** Messages of an account that are under way. */
  readonly underWay: (account_id: string) => number;
}

/** Chooses in rounds: one message of each account at a time, in the order given. */
export function chooseMessages(due: readonly DueMessage[], room: Room): DueMessage[] {
  const chosen: DueMessage[] = [];
  const counts = new Map<string, number>();
  const count = (name: string) => counts.get(name) ?? 0;
  let failing = 0;
  /** Failing channels never take the last connection to a host, and no account takes all of them. */
  const hasConnection = ({ host, account_id, failing }: DueMessage) => {
    const left = room.ofHost(host) - count(`host ${host}`);
    const own = room.heldBy(host, account_id) + count(`host ${host} ${account_id}`);
    if (!failing) return mayTake(left, own);
    const most =
      WEBHOOK_LIMITS.failing_per_host - count(`failing ${host}`) - room.failingAt(host, null);
    const own_failing = count(`failing ${host} ${account_id}`) + room.failingAt(host, account_id);
    return mayTake(left, own) && mayTake(most, own_failing);
  };
  const fits = (one: DueMessage) =>
    chosen.length < room.total &&
    (!one.failing || failing < room.failing) &&
    hasConnection(one) &&
    count(one.channel_id) < one.left &&
    count(one.account_id) + room.underWay(one.account_id) < PER_ACCOUNT;

  const queues = Map.groupBy(due, ({ account_id }) => account_id);
  while (queues.size > 0) {
    for (const [account_id, queue] of queues) {
      const at = queue.findIndex(fits);
      if (at < 0) {
        // Counts only grow: what does not fit now will not fit later.
        queues.delete(account_id);
        continue;
      }
      const [one] = queue.splice(at, 1);
      const { host, channel_id } = one!;
      const names = [`host ${host}`, `host ${host} ${account_id}`, channel_id, account_id];
      chosen.push(one!);
      if (one!.failing) {
        failing++;
        names.push(`failing ${host}`, `failing ${host} ${account_id}`);
      }
      for (const name of names) counts.set(name, count(name) + 1);
    }
  }
  return chosen;
}
