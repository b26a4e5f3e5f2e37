/** Holds back addresses that a service asked to send less to, in the memory of this process. */

import { type Delay, exponentialDelay } from "./channel.ts";

/** Seconds of the first hold of an address at most. It doubles up to {@link HOLD_BACKOFF_MOST}. */
export const HOLD_BACKOFF = 30;
/** Seconds of a hold that no service asked for, at most: nobody would say that the address works again. */
export const HOLD_BACKOFF_MOST = 300;
/** Seconds after a refusal, or a probe, until a new question may probe a held address. */
const PROBE_AFTER = 30;
/** Addresses whose holds are kept. */
const KEPT = 10_000;

interface Hold {
  readonly until: number;
  /** The part of the hold that the service asked for. */
  readonly asked_until: number;
  /** When a new question may be sent all the same. */
  readonly probe_at: number;
  /** Holds in a row. */
  readonly times: number;
  /** Sequence number among all holds. */
  readonly turn: number;
}

/**
 * Keeps the holds of a lane (§14.7). `after`: the end of a delay, in seconds of `Clock.elapsed`; without spread, it is
 * `least` from now.
 */
export function createAddressHolds(after: (delay: Delay) => number) {
  const holds = new Map<string, Hold>();
  let turn = 0;
  /** The hold of an address if it began after the request with the turn `made`. */
  const newer = (address: string, made: number) => {
    const held = holds.get(address);
    return held && made < held.turn ? held : undefined;
  };
  return {
    /** Number of the latest hold. Keep it with each request, for `hold` and `release`. */
    turn: (): number => turn,
    /**
     * Holds an address for at least `least` seconds, and longer each time in a row; returns the end.
     * Refusals of requests that were under way together count once.
     */
    hold(address: string, least: number, made: number): number {
      const same = newer(address, made);
      const times = same?.times ?? (holds.get(address)?.times ?? 0) + 1;
      const asked_until = Math.max(same?.asked_until ?? 0, after({ least, spread: 0 }));
      const until = same
        ? Math.max(same.until, asked_until)
        : after({ least, spread: exponentialDelay(HOLD_BACKOFF, times, HOLD_BACKOFF_MOST) });
      const probe_at = after({ least: PROBE_AFTER, spread: 0 });
      holds.delete(address);
      // The oldest is dropped: an address that is still refused is held again.
      if (holds.size >= KEPT) holds.delete(holds.keys().next().value!);
      const of = { until, asked_until, probe_at, times };
      holds.set(address, { ...of, turn: same?.turn ?? ++turn });
      return until;
    },
    /** The end of an address's hold; 0 if it is not held. */
    until: (address: string): number => holds.get(address)?.until ?? 0,
    /**
     * When a question that was not tried yet may be sent to the address: before the end of its hold, since the service
     * may be fine by now. What a service asked for is obeyed, unless it is as long as the question lasts. `ends_at`:
     * the end of the question.
     */
    untilProbe(address: string, ends_at: number): number {
      const held = holds.get(address);
      if (!held) return 0;
      const { until, asked_until, probe_at } = held;
      return Math.min(until, asked_until < ends_at ? Math.max(probe_at, asked_until) : probe_at);
    },
    /** Notes a request to an address that may be held: the next probe waits. */
    probed(address: string): void {
      const held = holds.get(address);
      if (!held) return;
      holds.set(address, { ...held, probe_at: after({ least: PROBE_AFTER, spread: 0 }) });
    },
    /** Ends the hold of an address that accepted a request, unless the request is older than the hold. */
    release(address: string, made: number): void {
      if (!newer(address, made)) holds.delete(address);
    },
  };
}
