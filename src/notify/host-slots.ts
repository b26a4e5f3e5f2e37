/**
 * Limits the connections to hosts that users name: a few per host (name and port), shared by all
 * accounts, so that a host that hangs holds up nobody else (docs/interface.md 19.4.6).
 */

import { WEBHOOK } from "../notification-limits.ts";

/** Ends the use of a connection or request; harmless when called again. */
export type Release = () => void;

export type HostSlots = ReturnType<typeof createHostSlots>;

/** Connections of this process: `per_host` to each host, at most. */
export function createHostSlots(per_host: number = WEBHOOK.per_host) {
  const used = new Map<string, number>();
  /** Who waits for a connection to a host, in order. */
  const waiting = new Map<string, (() => void)[]>();

  const free = (host: string) => per_host - (used.get(host) ?? 0);

  const take = (host: string): Release | null => {
    if (free(host) <= 0) return null;
    used.set(host, (used.get(host) ?? 0) + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const left = used.get(host)! - 1;
      if (left > 0) used.set(host, left);
      else used.delete(host);
      waiting.get(host)?.shift()?.();
    };
  };

  return {
    /** Connections that may still be made. */
    free,
    /** Hosts that have their full number. */
    full: (): string[] => [...used.keys()].filter((host) => free(host) <= 0),
    /** Null when the host has its full number. */
    take,

    /** Waits for a connection; null if the signal aborts first. */
    async wait(host: string, signal: AbortSignal): Promise<Release | null> {
      for (;;) {
        const taken = signal.aborted ? null : take(host);
        if (taken || signal.aborted) return taken;
        const turn = Promise.withResolvers<void>();
        const line = waiting.get(host) ?? [];
        waiting.set(host, [...line, turn.resolve]);
        signal.addEventListener("abort", () => turn.resolve(), { once: true });
        await turn.promise;
        const others = waiting.get(host)?.filter((one) => one !== turn.resolve) ?? [];
        if (others.length > 0) waiting.set(host, others);
        else waiting.delete(host);
      }
    },
  };
}
