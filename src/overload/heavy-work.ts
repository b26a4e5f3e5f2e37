/** Runs work that takes milliseconds of the event loop, such as lists and large bodies, in turns (§11.2.4). */

import type { Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import { createFairQueue } from "./fair-queue.ts";

/** Turns of lists and large bodies on the event loop (§11.2.4). */
export const HEAVY_WORK = {
  /** Seconds of it until other work has its turns. Shorter slices cost ordinary lists a third of their rate. */
  slice: 0.01,
  /** Turns of the event loop that other work then has: a request that writes takes a few. */
  pause_turns: 8,
  /** Pieces that wait in one process; one more is `503`. */
  queued: 4_096,
  /** List pages of one credential that are made at once; more wait. */
  pages_per_credential: 2,
} as const;

/** About as many microtasks as a piece of work needs to finish. */
const HOPS = 16;

const tooMuchWork = () => new ServiceError("store_unavailable", { cause: "too much work waits" });

const turn = (): Promise<void> => new Promise((next) => setImmediate(next));

/** The pages of one credential. */
interface Pages {
  under_way: number;
  readonly waiting: (() => void)[];
}

export type HeavyWork = ReturnType<typeof createHeavyWork>;

/**
 * A page of 1 MiB or the parse of a body of 256 KiB takes up to tens of milliseconds of the event loop, and one
 * client may ask for many at once. Each piece waits here for its turn, one of each owner after the other. After
 * `HEAVY_WORK.slice` seconds of it, several turns of the event loop go to everything else: an ordinary request
 * takes a few of them.
 */
export function createHeavyWork(clock: Pick<Clock, "elapsed">) {
  const queue = createFairQueue<() => void>();
  const pages = new Map<string, Pages>();
  /** Seconds of heavy work since other work had its turns. */
  let used = 0;
  let pumping = false;
  let armed = false;

  /** Forgives a slice that is not used up when its turn of the event loop ends. */
  const arm = (): void => {
    if (armed) return;
    armed = true;
    setImmediate(() => {
      armed = false;
      if (used < HEAVY_WORK.slice) used = 0;
    });
  };

  const pump = async (): Promise<void> => {
    pumping = true;
    while (queue.size() > 0) {
      if (used >= HEAVY_WORK.slice) {
        for (let turns = 0; turns < HEAVY_WORK.pause_turns; turns++) await turn();
        used = 0;
      }
      const from = clock.elapsed();
      queue.take()!();
      // The piece ends before the next one begins, so that its memory is freed and its time counts.
      for (let hop = 0; hop < HOPS; hop++) await null;
      used += clock.elapsed() - from;
      arm();
    }
    pumping = false;
  };

  const next = (owner: string): Promise<void> => {
    if (queue.size() >= HEAVY_WORK.queued) return Promise.reject(tooMuchWork());
    return new Promise((begin) => {
      queue.add(owner, begin);
      if (!pumping) void pump();
    });
  };

  const leave = (owner: string, own: Pages): void => {
    const resume = own.waiting.shift();
    if (resume) resume();
    else if (--own.under_way === 0) pages.delete(owner);
  };

  return {
    /**
     * Resolves once `owner` may begin its next piece of work, which must then begin without delay. Throws
     * `503 store_unavailable` while `HEAVY_WORK.queued` pieces wait. A caller that gives up keeps its place,
     * which costs nothing when its turn comes.
     */
    next,

    /**
     * Resolves once `owner` may make its next page; call the result when the page is made. Limits concurrent
     * pages per owner, so that the cost of one, known only by its size, is charged before the next begins.
     * Throws as {@link next} does.
     */
    async page(owner: string): Promise<() => void> {
      const own = pages.get(owner) ?? { under_way: 0, waiting: [] };
      pages.set(owner, own);
      if (own.waiting.length >= HEAVY_WORK.queued) throw tooMuchWork();
      if (own.under_way < HEAVY_WORK.pages_per_credential) own.under_way++;
      else await new Promise<void>((resume) => own.waiting.push(resume));
      try {
        await next(owner);
      } catch (error) {
        leave(owner, own);
        throw error;
      }
      return () => leave(owner, own);
    },
  };
}
