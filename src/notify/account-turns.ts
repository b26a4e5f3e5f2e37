/** The share of each account in the requests of one lane, and turns of accounts where much is due (docs/interface.md §14.4.1). */

import { waitingAccounts } from "../../db/notify/queue.ts";
import type { Store } from "../../db/store.ts";
import type { Clock } from "../clock.ts";
import { PUSH } from "../notification-limits.ts";
import type { Release } from "./host-slots.ts";

interface AccountTurnsOptions {
  readonly store: Pick<Store, "read">;
  readonly clock: Pick<Clock, "now">;
  readonly lane: string;
  /** Requests that an account may have under way for each one that it leaves to others. */
  readonly share: number;
  /** Resolves when the next accounts may be read. */
  readonly pause: () => Promise<void>;
}

/**
 * Counts what accounts have under way. An account may have `share` requests under way for each that it leaves free
 * for others, and one at any rate: however many accounts have much to send, there is room for one more.
 */
export function createAccountTurns({ store, clock, lane, share, pause }: AccountTurnsOptions) {
  const under_way = new Map<string, number>();
  /** The account that the last round ended with. */
  let after = "";

  const add = (account_id: string, n: 1 | -1) => {
    const left = (under_way.get(account_id) ?? 0) + n;
    if (left > 0) under_way.set(account_id, left);
    else under_way.delete(account_id);
  };

  const admits = (account_id: string, room: number): boolean => {
    const own = under_way.get(account_id) ?? 0;
    return own === 0 || own + 1 <= share * (room - 1);
  };

  return {
    /** What each account has under way, as a JSON object. */
    busy: (): string => JSON.stringify(Object.fromEntries(under_way)),

    /** Counts a request until the release is called. */
    count(account_id: string, release: Release): Release {
      add(account_id, 1);
      let held = true;
      return () => {
        if (held) add(account_id, -1);
        held = false;
        release();
      };
    },

    /**
     * Goes once through all accounts with something in the lane, from where the last round ended. Yields some that
     * have a delivery due and may have another request under way; `room`: requests that may begin now.
     */
    async *round(room: () => number, most: number): AsyncGenerator<readonly string[]> {
      const from = after;
      for (let wrapped = false; ; ) {
        const limit = PUSH.accounts_per_read;
        const rows = await store.read(waitingAccounts({ lane, now: clock.now(), after, limit }));
        const waiting = rows.filter(([id, due]) => due === 1 && admits(id, room()));
        const chosen = waiting.slice(0, most).map(([id]) => id);
        const rest = chosen.length < waiting.length;
        const ended = !rest && rows.length < limit;
        after = ended ? "" : rest ? chosen.at(-1)! : rows.at(-1)![0];
        if (chosen.length > 0) yield chosen;
        if (wrapped && (ended || after >= from)) return;
        if (ended) {
          if (from === "") return;
          wrapped = true;
        }
        await pause();
      }
    },
  };
}
