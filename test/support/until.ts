/** Waits for something that another process or the event loop has to do. */

/** Milliseconds after which a test gives up; only a failing test ever takes this long. */
const PATIENCE = 50_000;

/** Pauses between checks are this many times as long as a check, so that waiting costs little. */
const PAUSE = 4;

type Truthy<T> = Exclude<T, null | undefined | false | 0 | "">;

/** Resolves once `check` gives a truthy value; a throw counts as not yet. */
export async function until<T>(check: () => T | Promise<T>): Promise<Truthy<T>> {
  const end = performance.now() + PATIENCE;
  let last: unknown;
  while (performance.now() < end) {
    const begin = performance.now();
    try {
      const value = await check();
      if (value) return value as Truthy<T>;
      last = value;
    } catch (error) {
      last = error;
    }
    await Bun.sleep(Math.min(Math.max(5, PAUSE * (performance.now() - begin)), 100));
  }
  throw new Error("it did not happen", { cause: last });
}
