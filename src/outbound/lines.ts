/** Reads the lines of an answer that has no end, within bounds of each line, of all bytes and of silence. */

import type { IncomingMessage } from "node:http";
import type { Clock } from "../clock.ts";
import { toOutboundError } from "./exchange.ts";
import { OutboundError } from "./guard.ts";

export interface LineBounds {
  /** Bytes of a line; a longer one is left out. */
  readonly line: number;
  /** Seconds without a line until the answer counts as dead. */
  readonly idle: number;
  /**
   * Bytes that may come at once, and in each further second. A server that sends more is cut off. A line counts as
   * at least 256 bytes, and so does what arrives at once.
   */
  readonly burst: number;
  readonly per_second: number;
}

interface LineReaderOptions {
  readonly timers: Pick<Clock, "after" | "elapsed">;
  readonly bounds: LineBounds;
  /** Ends the reading as `failed`. */
  readonly signal: AbortSignal;
  /** Called once, when nothing more is read. */
  readonly over: () => void;
}

const NEWLINE = 10;
/** Bytes that a shorter line or part counts as, since each costs work however short it is. */
const LEAST = 256;
/** Lines that are handed over before other work has its turn. */
const PER_TURN = 50;

/**
 * The lines of `response`, which it must read from the start. Lines that nobody takes wait: their number is bounded
 * by the bytes.
 */
export function createLineReader(
  response: IncomingMessage,
  { timers, bounds, signal, over }: LineReaderOptions,
): AsyncIterable<string> {
  const lines: string[] = [];
  /** The beginning of a line; null while an overlong one is skipped. */
  let begun: Buffer[] | null = [];
  let begun_bytes = 0;
  let tokens = bounds.burst;
  let counted_at = timers.elapsed();
  let ended: { readonly error: OutboundError | null } | undefined;
  let wake: (() => void) | undefined;
  let cancel = () => {};

  const end = (error: OutboundError | null) => {
    if (ended) return;
    ended = { error };
    cancel();
    signal.removeEventListener("abort", leave);
    wake?.();
    over();
  };
  const leave = () => {
    const reason: unknown = signal.reason;
    end(reason instanceof OutboundError ? reason : new OutboundError("failed", { cause: reason }));
  };
  const arm = () => {
    cancel();
    cancel = timers.after(bounds.idle, () => end(new OutboundError("timed_out")));
  };

  /** Adds what has become free since the last part. */
  const refill = () => {
    const now = timers.elapsed();
    tokens = Math.min(bounds.burst, tokens + (now - counted_at) * bounds.per_second);
    counted_at = now;
  };
  /** Counts bytes; false, and the end, if there are too many. */
  const admit = (bytes: number): boolean => {
    tokens -= bytes;
    if (tokens < 0) end(new OutboundError("answer_too_large"));
    return tokens >= 0;
  };

  const addPart = (part: Buffer) => {
    begun_bytes += part.length;
    if (begun_bytes > bounds.line) begun = null;
    begun?.push(part);
  };

  const take = (part: Buffer) => {
    if (ended) return;
    refill();
    if (!admit(Math.max(LEAST, part.length))) return;
    let from = 0;
    let has_line = false;
    for (;;) {
      const at = part.indexOf(NEWLINE, from);
      if (at < 0) break;
      addPart(part.subarray(from, at));
      if (!admit(Math.max(0, LEAST - begun_bytes))) return;
      if (begun) {
        lines.push(Buffer.concat(begun).toString().replace(/\r$/, ""));
        has_line = true;
      }
      begun = [];
      begun_bytes = 0;
      from = at + 1;
    }
    // A copy, so that a short rest does not keep the whole part.
    if (from < part.length) addPart(Buffer.from(part.subarray(from)));
    if (has_line) arm();
    wake?.();
  };

  response.on("data", take);
  response.on("end", () => end(null));
  response.on("error", (error) => end(toOutboundError(error)));
  response.on("close", () => end(null));
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  else arm();

  return {
    async *[Symbol.asyncIterator]() {
      try {
        for (;;) {
          for (let taken = 1; lines.length > 0; taken++) {
            yield lines.shift()!;
            if (taken % PER_TURN === 0) await new Promise<void>((next) => setImmediate(next));
          }
          if (ended?.error) throw ended.error;
          if (ended) return;
          await new Promise<void>((next) => {
            wake = next;
          });
          wake = undefined;
        }
      } finally {
        end(null);
      }
    },
  };
}
