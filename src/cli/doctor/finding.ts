/** The result of one check. */

import type { Io } from "../io.ts";

export interface Finding {
  readonly hop: string;
  readonly status: "ok" | "warn" | "fail";
  /** Milliseconds that the check took; null where the time would mean nothing. */
  readonly ms: number | null;
  /** What was found, in one line. */
  readonly text: string;
  /** What to do; null if nothing. */
  readonly advice: string | null;
}

type Found = Omit<Finding, "hop" | "ms"> & { readonly ms?: number | null };

/** A result without a fault. `ms` replaces the measured time; null: show none. */
export const ok = (text: string, ms?: number | null): Found => ({
  status: "ok",
  text,
  advice: null,
  ...(ms !== undefined && { ms }),
});
/** A result that does not prevent the use of the server, but needs attention. */
export const warn = (text: string, advice: string): Found => ({ status: "warn", text, advice });
/** A result that prevents the use of the server, at least in part. */
export const fail = (text: string, advice: string): Found => ({ status: "fail", text, advice });

/**
 * Runs one check and measures its time. An error, or no result within `seconds`, is a failure with
 * `advice`.
 */
export async function check(
  { timers, signal }: Io,
  hop: string,
  seconds: number,
  advice: string,
  run: (signal: AbortSignal) => Promise<Found>,
): Promise<Finding> {
  const begun = timers.elapsed();
  const ended = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (error: unknown) => {
    reject(error);
    ended.abort();
  };
  const cancel = timers.after(seconds, () => stop(new Error(`no answer within ${seconds} s`)));
  const interrupt = () => stop(new Error("interrupted"));
  signal.addEventListener("abort", interrupt);
  try {
    const found = await Promise.race([run(ended.signal), promise]);
    const ms = Math.round((timers.elapsed() - begun) * 1000);
    return { hop, ms, ...found };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { hop, ms: Math.round((timers.elapsed() - begun) * 1000), ...fail(text, advice) };
  } finally {
    cancel();
    signal.removeEventListener("abort", interrupt);
    ended.abort();
  }
}
