/** Deadlines for the waits of benches and scripts, so that a wait in vain ends with an error that names it. */

/** The result of `work`. Rejects with `what` after so many seconds; `work` itself goes on. */
export async function within<T>(seconds: number, what: string, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`${what}: not within ${seconds} s`)),
    seconds * 1000,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves once `check` is true, which it is asked every `pause` milliseconds. Rejects with `what` after so many seconds. */
export async function untilTrue(
  seconds: number,
  what: string,
  check: () => boolean | Promise<boolean>,
  pause = 50,
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (!(await within(seconds, what, Promise.resolve(check())))) {
    if (performance.now() > end) throw new Error(`${what}: not within ${seconds} s`);
    await Bun.sleep(pause);
  }
}
