/** Checks if a URL that a client sent can be called (§11.6, §19.1.6). */

import type { Clock } from "../../clock.ts";
import { WEBHOOK_LIMITS } from "../../notification-limits.ts";
import { type Outbound, OutboundError, type OutboundFault } from "../../outbound/guard.ts";

const REASONS: Partial<Record<OutboundFault, string>> = {
  invalid_url: "must be an https URL without a user name, a password or a fragment",
  forbidden_address: "must not lead to a private address",
  unknown_host: "must name a host that has an address",
};

/** True for a fault that a channel with the URL is refused for. */
export const isRefused = (fault: OutboundFault): boolean => fault in REASONS;

interface UrlCheckOptions {
  readonly outbound: Outbound;
  /** Real time, also in tests. */
  readonly timers: Pick<Clock, "after">;
}

export type UrlCheck = ReturnType<typeof createUrlCheck>;

/**
 * Returns a function that says what is wrong with a URL of the account `owner`; null if nothing was found within
 * `check_wait` seconds. Each request checks its URL again.
 */
export function createUrlCheck({ outbound, timers }: UrlCheckOptions) {
  return async (url: string, owner: string): Promise<string | null> => {
    const late = Promise.withResolvers<null>();
    const cancel = timers.after(WEBHOOK_LIMITS.check_wait, () => late.resolve(null));
    const check = outbound.check(url, owner).then(
      () => null,
      (error: unknown) => {
        if (error instanceof OutboundError) return REASONS[error.fault] ?? null;
        throw error;
      },
    );
    return Promise.race([check, late.promise]).finally(cancel);
  };
}
