/** The result of one check. */

import type { Io } from "../io.ts";

export interface Finding {
  /** The part of the way to the server that was checked. */
  readonly hop: string;
  readonly status: "ok" | "warn" | "fail";
  /** Milliseconds that the check took; null where the time would mean nothing. */
  readonly ms: number | null;
  /** What was found, in one line. */
  readonly text: string;
  /** What to do, if anything. */
  readonly advice: string | null;
}

/** A finding without the name of its hop and its time. */
export type Result = Omit<Finding, "hop" | "ms">;

/** Nothing is wrong. */
export const ok = (text: string): Result => ({ status: "ok", text, advice: null });
/** The server can be used, but something needs attention. */
export const warn = (text: string, advice: string): Result => ({
  status: "warn",
  text,
  advice,
});
/** The server cannot be used, at least in part. */
export const fail = (text: string, advice: string): Result => ({
  status: "fail",
  text,
  advice,
});

/** Runs one check and measures its time. It fails with `advice` if it throws or takes more than `seconds`. */
export async function check(
  { timers, signal }: Io,
  hop: string,
  seconds: number,
  advice: string,
  run: (signal: AbortSignal) => Promise<Result>,
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
    const result = await Promise.race([run(ended.signal), promise]).catch((error: unknown) =>
      fail(error instanceof Error ? error.message : String(error), advice),
    );
    return { hop, ms: Math.round((timers.elapsed() - begun) * 1000), ...result };
  } finally {
    cancel();
    signal.removeEventListener("abort", interrupt);
    ended.abort();
  }
}
