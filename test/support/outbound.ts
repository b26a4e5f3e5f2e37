/** Outgoing requests for tests: the guard for one account, and what channels connect with. */

import { systemClock } from "../../src/clock.ts";
import { createHostSlots } from "../../src/notify/core/host-slots.ts";
import { createDirectFetch } from "../../src/outbound/direct-fetch.ts";
import {
  createOutbound,
  type LinesRequest,
  type OutboundOptions,
  type OutboundRequest,
} from "../../src/outbound/guard.ts";
import { createResolver } from "../../src/outbound/resolver.ts";

type Request = Omit<OutboundRequest, "owner"> & { readonly owner?: string };

/** The guard, for the account `account` unless a request names another. */
export function createOwnedOutbound(options: OutboundOptions) {
  const outbound = createOutbound(options);
  return {
    check: (url: string) => outbound.check(url, "account"),
    request: (request: Request) => outbound.request({ owner: "account", ...request }),
    lines: (request: Omit<LinesRequest, "owner">) =>
      outbound.lines({ owner: "account", ...request }),
  };
}

/** What a channel connects with; `options` are the guard's. */
export const createNetwork = (options: Partial<OutboundOptions> = {}) => ({
  outbound: createOutbound({ private_networks: [], timers: systemClock, ...options }),
  direct: createDirectFetch({
    resolve: createResolver({ timers: systemClock }),
    timers: systemClock,
  }),
  slots: createHostSlots(),
});
