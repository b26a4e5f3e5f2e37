/** Long polls: requests that sleep until something happens (docs/interface.md 6). */

import type { Cancel, Clock } from "../clock.ts";
import { ClientGone, fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Feed } from "./feed.ts";

/** What a look at the store found. */
interface Look<T> {
  readonly value: T;
  /** True: the wait is over. */
  readonly done: boolean;
  /** Seconds from now until the next look is due without any event; absent: none. */
  readonly again_in?: number;
}

/** A counted place of a request that is about to sleep. Giving it back twice is harmless. */
export interface Place {
  leave(): void;
}

interface Wait<T> {
  /** Who is counted: a key or an account. */
  readonly owner: string;
  /** Resources whose events end the sleep. */
  readonly subjects: readonly string[];
  /** Seconds to sleep at most; 0 looks once. */
  readonly seconds: number;
  /** Aborts when the client goes. */
  readonly signal: AbortSignal;
  /** A place taken before, when the request must not start without one. */
  readonly place?: Place | undefined;
  look(): Promise<Look<T>>;
}

export type Waiters = ReturnType<typeof createWaiters>;

export function createWaiters({ feed, clock }: { feed: Feed; clock: Clock }) {
  const sleeping = new Map<string, number>();
  const endings = new Set<() => void>();
  let closed = false;

  /** A place for `owner`, or null when it has its full number (§6.5). */
  const take = (owner: string): Place | null => {
    const count = sleeping.get(owner) ?? 0;
    if (count >= LIMITS.waits) return null;
    sleeping.set(owner, count + 1);
    let held = true;
    return {
      leave() {
        if (!held) return;
        held = false;
        const left = sleeping.get(owner)! - 1;
        if (left > 0) sleeping.set(owner, left);
        else sleeping.delete(owner);
      },
    };
  };

  return {
    take,

    /** Keys and accounts that have requests asleep now. */
    owners: (): number => sleeping.size,

    /** Requests asleep now, over all owners. */
    count: (): number => [...sleeping.values()].reduce((sum, count) => sum + count, 0),

    /**
     * Looks, and sleeps between looks until one is done, the time is up, or the server stops: what
     * the last look found is the result. Listens before the first look, so no event falls between.
     * Throws `429 too_many_waits`, `503 store_unavailable` when the store is lost, and whatever
     * `look` throws.
     */
    async wait<T>({ owner, subjects, seconds, signal, place, look }: Wait<T>): Promise<T> {
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
          // A feed that has yet to follow a store that came back would skip what happens now.
          if (feed.isLost()) await feed.caughtUp();
        }
        let found = await look();
        if (found.done || seconds === 0 || closed) return found.value;

        const own_place = place ?? take(owner) ?? fail("too_many_waits");
        cancels.push(() => own_place.leave());
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
          found = await look();
          if (found.done || last) return found.value;
        }
      } finally {
        place?.leave();
        for (const cancel of cancels) cancel();
      }
    },

    /** Ends every wait with what it last found; later ones look once (docs/interface.md 6.4). */
    close(): void {
      closed = true;
      for (const end of [...endings]) end();
    },
  };
}
