/** Long polls: requests that sleep until an event, their deadline, or a stop (§6). */

import type { Cancel, Clock } from "../clock.ts";
import { ClientGone, fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Feed } from "./feed.ts";

/** The result of one read within a wait. */
interface WaitRead<T> {
  readonly value: T;
  /** True if the wait is over. */
  readonly done: boolean;
  /** Seconds until the next read if there is no event; absent: only an event causes one. */
  readonly again_in?: number;
}

/** A wait that counts toward the limit of its owner. It may be released more than once. */
export interface WaitSlot {
  release(): void;
}

interface Wait<T> {
  /** The key or account whose waits are counted. */
  readonly owner: string;
  /** Resources whose events end the sleep. */
  readonly subjects: readonly string[];
  /** Seconds to sleep at most; 0: read once. */
  readonly seconds: number;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** A slot reserved before, if the request must not start without one. */
  readonly slot?: WaitSlot | undefined;
  read(): Promise<WaitRead<T>>;
}

export type Waiters = ReturnType<typeof createWaiters>;

export function createWaiters({ feed, clock }: { feed: Feed; clock: Clock }) {
  const sleeping = new Map<string, number>();
  const endings = new Set<() => void>();
  let closed = false;

  /** A slot for `owner`, or null if all its slots are taken (§6.5). */
  const reserve = (owner: string): WaitSlot | null => {
    const count = sleeping.get(owner) ?? 0;
    if (count >= LIMITS.waits) return null;
    sleeping.set(owner, count + 1);
    let held = true;
    return {
      release() {
        if (!held) return;
        held = false;
        const left = sleeping.get(owner)! - 1;
        if (left > 0) sleeping.set(owner, left);
        else sleeping.delete(owner);
      },
    };
  };

  return {
    reserve,

    /** The number of keys and accounts with sleeping requests. */
    owners: (): number => sleeping.size,

    /** The number of sleeping requests of all owners. */
    count: (): number => [...sleeping.values()].reduce((sum, count) => sum + count, 0),

    /**
     * Reads, and sleeps between reads, until a read is done, the time is up, or the server stops. Returns the value of
     * the last read. Listens before the first read, so it misses no event. Throws `429 too_many_waits`,
     * `503 store_unavailable` if the store is lost, `ClientGone`, and whatever `read` throws.
     */
    async wait<T>({ owner, subjects, seconds, signal, slot, read }: Wait<T>): Promise<T> {
      let woken = false;
      let over = false;
      let lost = false;
      let rouse = () => {};
      const wake = () => {
        woken = true;
        rouse();
      };
      const end = () => {
        over = true;
        rouse();
      };
      const onLost = () => {
        lost = true;
        rouse();
      };
      const cancels: Cancel[] = [];
      try {
        if (seconds > 0) {
          for (const subject of subjects) cancels.push(feed.onSubject(subject, wake));
          cancels.push(feed.onLost(onLost));
          // A feed that lags behind a store that is back would miss what happens now.
          if (feed.isLost()) await feed.caughtUp();
        }
        let found = await read();
        if (found.done || seconds === 0 || closed) return found.value;

        const own_slot = slot ?? reserve(owner) ?? fail("too_many_waits");
        cancels.push(() => own_slot.release());
        signal.addEventListener("abort", end);
        cancels.push(() => signal.removeEventListener("abort", end));
        // A listener added after the abort never fires.
        if (signal.aborted) throw new ClientGone();
        endings.add(end);
        cancels.push(() => endings.delete(end));
        cancels.push(clock.after(seconds, end));

        for (;;) {
          if (!woken && !over && !lost) {
            const cancel_again =
              found.again_in === undefined ? undefined : clock.after(found.again_in, wake);
            await new Promise<void>((resume) => {
              rouse = resume;
            });
            cancel_again?.();
          }
          if (signal.aborted) throw new ClientGone();
          if (lost) fail("store_unavailable");
          const last = over;
          woken = false;
          found = await read();
          if (found.done || last) return found.value;
        }
      } finally {
        slot?.release();
        for (const cancel of cancels) cancel();
      }
    },

    /** Ends every wait after one more read. Later waits read once (§6.4). */
    close(): void {
      closed = true;
      for (const end of [...endings]) end();
    },
  };
}
