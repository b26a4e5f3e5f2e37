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

/** The state of one wait. Thousands sleep at once: it has fields instead of closures. */
class Sleep {
  /** True if an event came since the last read. */
  woken = false;
  /** True if the next read is the last: the time is up, the client is gone, or the server stops. */
  over = false;
  /** True if events may have been missed. */
  lost = false;
  #resume: (() => void) | undefined;

  wake(): void {
    this.woken = true;
    this.#resume?.();
  }

  end(): void {
    this.over = true;
    this.#resume?.();
  }

  lose(): void {
    this.lost = true;
    this.#resume?.();
  }

  /** The client disconnected. */
  handleEvent(): void {
    this.end();
  }

  /** Resolves at the next of these, or at once if one came before. */
  asleep(): Promise<void> | undefined {
    if (this.woken || this.over || this.lost) return undefined;
    return new Promise((resume) => {
      this.#resume = resume;
    });
  }
}

export type Waiters = ReturnType<typeof createWaiters>;

export function createWaiters({ feed, clock }: { feed: Feed; clock: Clock }) {
  /** Slots that are taken, by owner. */
  const counts = new Map<string, number>();
  const sleeps = new Set<Sleep>();
  let asleep = 0;
  let refused = 0;
  let closed = false;

  class Slot implements WaitSlot {
    #owner: string | null;

    constructor(owner: string) {
      this.#owner = owner;
    }

    release(): void {
      if (this.#owner === null) return;
      const left = counts.get(this.#owner)! - 1;
      if (left > 0) counts.set(this.#owner, left);
      else counts.delete(this.#owner);
      this.#owner = null;
    }
  }

  /** A slot for `owner`, or null if all its slots are taken (§6.5). */
  const reserve = (owner: string): WaitSlot | null => {
    const count = counts.get(owner) ?? 0;
    if (count >= LIMITS.waits) {
      refused++;
      return null;
    }
    counts.set(owner, count + 1);
    return new Slot(owner);
  };

  /** Ends the wait once its time is up, or has it read again before that. */
  const arm = (sleep: Sleep, left: number, again_in = left): Cancel =>
    again_in < left
      ? clock.after(again_in, () => sleep.wake())
      : clock.after(left, () => sleep.end());

  feed.onLost(() => {
    for (const sleep of sleeps) sleep.lose();
  });

  return {
    reserve,

    /** The number of keys and accounts with requests that have a slot. */
    owners: (): number => counts.size,

    /** Waits that got no slot so far. */
    refused: (): number => refused,

    /** The number of requests that sleep: what they wait for exists, and their timers are set. */
    count: (): number => asleep,

    /**
     * Reads, and sleeps between reads, until a read is done, the time is up, or the server stops. Returns the value of
     * the last read. Listens before the first read, so it misses no event. Throws `429 too_many_waits`,
     * `503 store_unavailable` if the store is lost, `ClientGone`, and whatever `read` throws.
     */
    async wait<T>(options: Wait<T>): Promise<T> {
      const { seconds, subjects, signal } = options;
      if (seconds === 0) {
        try {
          return (await options.read()).value;
        } finally {
          options.slot?.release();
        }
      }
      const sleep = new Sleep();
      let { slot } = options;
      let cancel: Cancel | undefined;
      feed.listen(subjects, sleep);
      sleeps.add(sleep);
      try {
        // A feed that lags behind a store that is back would miss what happens now.
        if (feed.isLost()) await feed.caughtUp();
        let found = await options.read();
        if (found.done || closed) return found.value;

        slot ??= reserve(options.owner) ?? fail("too_many_waits");
        signal.addEventListener("abort", sleep);
        // A listener added after the abort never fires.
        if (signal.aborted) throw new ClientGone();
        const until = clock.elapsed() + seconds;
        for (;;) {
          const left = until - clock.elapsed();
          // The time was up during the read.
          if (left <= 0) sleep.end();
          const waking = sleep.asleep();
          if (waking) {
            cancel = arm(sleep, left, found.again_in);
            asleep++;
            try {
              await waking;
            } finally {
              asleep--;
            }
            cancel();
          }
          if (signal.aborted) throw new ClientGone();
          if (sleep.lost) fail("store_unavailable");
          const last = sleep.over;
          sleep.woken = false;
          found = await options.read();
          if (found.done || last) return found.value;
        }
      } finally {
        slot?.release();
        cancel?.();
        signal.removeEventListener("abort", sleep);
        sleeps.delete(sleep);
        feed.unlisten(subjects, sleep);
      }
    },

    /** Ends every wait after one more read. Later waits read once (§6.4). */
    close(): void {
      closed = true;
      for (const sleep of sleeps) sleep.end();
    },
  };
}
