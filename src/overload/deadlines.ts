/** Answers a request that needs the store with `503` when it takes too long (§11.4.1). */

import { type Clock, type Due, forgiveStall } from "../clock.ts";
import { ServiceError } from "../errors.ts";

interface Entry extends Due {
  readonly reject: (error: ServiceError) => void;
}

/** Seconds between two checks for what is overdue. */
const SWEEP_EVERY = 0.1;

export type Deadlines = ReturnType<typeof createDeadlines>;

/**
 * Each call of the store has its own deadline; this bounds all calls of one request together. `seconds` count
 * from the arrival of the request with its body, without one stall of the process.
 */
export function createDeadlines(clock: Clock, seconds: number) {
  const open = new Set<Entry>();
  let sweeping = false;

  const sweep = (): void => {
    sweeping = open.size > 0;
    if (!sweeping) return;
    const expected = clock.elapsed() + SWEEP_EVERY;
    clock.after(SWEEP_EVERY, () => {
      const now = clock.elapsed();
      forgiveStall(now - expected, open);
      for (const entry of open) {
        if (entry.due > now) continue;
        open.delete(entry);
        entry.reject(new ServiceError("store_unavailable", { cause: "no answer in time" }));
      }
      sweep();
    });
  };

  return {
    /** The time to pass to {@link within} as the arrival of a request. */
    now: clock.elapsed,

    /**
     * Returns the result of `work`, or throws `503 store_unavailable` when there is no result in time. The work then
     * goes on, and its outcome is unknown.
     */
    within<T>(arrived: number, work: Promise<T>): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        const entry = { due: arrived + seconds, moved: false, reject };
        open.add(entry);
        if (!sweeping) sweep();
        work.then(
          (result) => {
            open.delete(entry);
            resolve(result);
          },
          (error: unknown) => {
            open.delete(entry);
            reject(error);
          },
        );
      });
    },
  };
}
