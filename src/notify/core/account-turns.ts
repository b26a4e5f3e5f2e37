/** The share of each account in the requests of one lane, and turns of accounts where much is due (§14.4.1). */

import { waitingAccounts } from "../../../db/notify/queue.ts";
import type { Store } from "../../../db/store/store.ts";
import type { Clock } from "../../clock.ts";
import { addTo, once, type Release } from "./under-way.ts";

/** Requests that an account may have under way in a lane for each one that it leaves to others. */
export const ACCOUNT_SHARE = 7;
/** Accounts that one read looks at. */
const PER_READ = 200;

interface AccountTurnsOptions {
  readonly store: Pick<Store, "read">;
  readonly clock: Pick<Clock, "now">;
  readonly lane: string;
  /** As {@link ACCOUNT_SHARE}. */
  readonly share: number;
  /** Resolves when the next accounts may be read. */
  readonly pause: () => Promise<void>;
}

/**
 * Counts what accounts have under way. An account may have `share` requests under way for each that
 * it leaves free for others, and always one: however many accounts have much to send, there is room
 * for one more.
 */
export function createAccountTurns({ store, clock, lane, share, pause }: AccountTurnsOptions) {
  const under_way = new Map<string, number>();
  /** The account that the last round ended with. */
  let after = "";

  const admits = (account_id: string, room: number): boolean => {
    const own = under_way.get(account_id) ?? 0;
    return own === 0 || own + 1 <= share * (room - 1);
  };

  return {
    /** The number of requests that each account has under way, as a JSON object. */
    busy: (): string => JSON.stringify(Object.fromEntries(under_way)),

    /** Counts a request until the returned release is called, which also calls `release`. */
    count(account_id: string, release: Release): Release {
      addTo(under_way, account_id, 1);
      return once(() => {
        addTo(under_way, account_id, -1);
        release();
      });
    },

    /**
     * Goes once through all accounts with something in the lane, from where the last round ended. Yields at most `most`
     * accounts at a time that have a delivery due and may have another request under way. `room`: requests that may
     * begin now.
     */
    async *round(room: () => number, most: number): AsyncGenerator<readonly string[]> {
      const from = after;
      for (let wrapped = false; ; ) {
        const moment = { lane, now: clock.now(), after, limit: PER_READ };
        const rows = await store.read(waitingAccounts(moment));
        const waiting = rows.filter(([id, due]) => due === 1 && admits(id, room()));
        const chosen = waiting.slice(0, most).map(([id]) => id);
        const rest = chosen.length < waiting.length;
        const ended = !rest && rows.length < PER_READ;
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
