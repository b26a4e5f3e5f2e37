/** Waits for something that another process or the event loop has to do. */

/**
 * Milliseconds of pauses after which a test gives up. Time beyond the pauses does not count, so that a test does
 * not fail because the machine is slow.
 */
const TIME_LIMIT = 60_000;

/** Pauses between checks take this many times as long as a check, so that waiting costs little. */
const PAUSE = 4;

type Truthy<T> = Exclude<T, null | undefined | false | 0 | "">;

/** Resolves once `check` returns a truthy value; an exception counts as not yet. */
export async function until<T>(check: () => T | Promise<T>): Promise<Truthy<T>> {
  let last: unknown;
  for (let paused = 0; paused < TIME_LIMIT; ) {
    const begin = performance.now();
    try {
      const value = await check();
      if (value) return value as Truthy<T>;
      last = value;
    } catch (error) {
      last = error;
    }
    const pause = Math.min(Math.max(5, PAUSE * (performance.now() - begin)), 100);
    paused += pause;
    await Bun.sleep(pause);
  }
  throw new Error("it did not happen", { cause: last });
}
