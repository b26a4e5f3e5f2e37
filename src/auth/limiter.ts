/** Rate limits of this process: a token bucket per key, account and address (docs/interface.md 10.6). */

import type { Clock } from "../clock.ts";
import { fail } from "../errors.ts";
import { LIMITS, RATES, type Rate } from "../limits.ts";
import { type CredentialHolder, callerId } from "../model/caller.ts";

/** Buckets of one limit that are kept; above it, those unused for longest are dropped. */
export const BUCKETS = 50_000;

/** The state of a limit as an answer shows it; the same object for the same state. */
export interface Quota {
  /** Values of the headers of draft-ietf-httpapi-ratelimit-headers-10. */
  readonly headers: { readonly "ratelimit-policy": string; readonly ratelimit: string };
}

/** Limits of an address that are kept in memory. */
export type AddressLimit =
  | "address"
  | "challenges"
  | "pairings"
  | "approvals"
  | "approval_waits"
  | "registrations"
  | "mcp_challenges"
  | "expired_tokens";

/** Limits that are kept in memory; `pairings_process` is of all addresses together. */
type KeptLimit = "key" | "account" | "ticket" | AddressLimit | "pairings_process";

export type Limiter = ReturnType<typeof createLimiter>;

interface LimiterOptions {
  readonly clock: Clock;
  /** False: nothing is limited. */
  readonly on: boolean;
  readonly rates?: Readonly<Record<KeptLimit, Rate>>;
}

export function createLimiter({ clock, on, rates = RATES }: LimiterOptions) {
  const refused = {
    key: 0,
    account: 0,
    ticket: 0,
    address: 0,
    accounts: 0,
    challenges: 0,
    pairings: 0,
    pairings_process: 0,
    approvals: 0,
    approval_waits: 0,
    registrations: 0,
    mcp_challenges: 0,
    expired_tokens: 0,
  };
  const bucketsOf = (name: KeptLimit) =>
    on && rates[name].quota > 0
      ? createBuckets(name, rates[name], clock, () => refused[name]++)
      : null;
  const callers = {
    key: bucketsOf("key"),
    account: bucketsOf("account"),
    ticket: bucketsOf("ticket"),
  };
  const addresses = {
    address: bucketsOf("address"),
    challenges: bucketsOf("challenges"),
    pairings: bucketsOf("pairings"),
    approvals: bucketsOf("approvals"),
    approval_waits: bucketsOf("approval_waits"),
    registrations: bucketsOf("registrations"),
    mcp_challenges: bucketsOf("mcp_challenges"),
    expired_tokens: bucketsOf("expired_tokens"),
  };
  const all_pairings = bucketsOf("pairings_process");

  return {
    on,

    /** How often each limit refused a call; that of `accounts` is counted in the store. */
    refused,

    /** Charges one call to its caller; null when that limit is off. Throws `429 rate_limited`. */
    charge(caller: CredentialHolder): Quota | null {
      return callers[caller.kind]?.take(callerId(caller)) ?? null;
    },

    /**
     * Charges `tokens` more for a request that was already charged, so it never refuses: the bucket may
     * go into debt by at most one further window (docs/interface.md 10.6.3).
     */
    spend(caller: CredentialHolder, tokens: number): Quota | null {
      return callers[caller.kind]?.spend(callerId(caller), tokens) ?? null;
    },

    /**
     * Whether answers that were made since its request was charged have put the caller into debt
     * (docs/interface.md 10.6.3).
     */
    overdrawn(caller: CredentialHolder): boolean {
      return callers[caller.kind]?.isOverdrawn(callerId(caller)) ?? false;
    },

    /** What is left to the caller, without a charge. */
    peek(caller: CredentialHolder): Quota | null {
      return callers[caller.kind]?.peek(callerId(caller)) ?? null;
    },

    /** Charges one call to an address; null when that limit is off. Throws `429 rate_limited`. */
    address(name: AddressLimit, address: string): Quota | null {
      const quota = addresses[name]?.take(address) ?? null;
      if (name === "pairings") all_pairings?.take(name);
      return quota;
    },

    /**
     * Whether an address is above its limit, so that its next call would be refused; it is asked for
     * only when some address may be.
     */
    exhausted(name: AddressLimit, addressOf: () => string): boolean {
      const buckets = addresses[name];
      return buckets?.anyEmpty() ? buckets.isEmpty(addressOf()) : false;
    },

    /** As {@link peek}, for an address. */
    peekAddress(name: AddressLimit, address: string): Quota | null {
      return addresses[name]?.peek(address) ?? null;
    },
  };
}

/**
 * The headers of a limit: `q` calls at once, all of which are back within `w` seconds; `r` are left,
 * and after at most `t` seconds without a call the whole quota is.
 */
export function quotaOf(name: string, { quota, window }: Rate, left: number, t: number): Quota {
  return {
    headers: {
      "ratelimit-policy": `"${name}";q=${quota};w=${window}`,
      ratelimit: `"${name}";r=${left};t=${t}`,
    },
  };
}

/** Tokens that an answer of so many bytes costs beside the one for its request. */
export function tokensOf(bytes: number): number {
  if (bytes <= LIMITS.answer_free_bytes) return 0;
  return Math.ceil(bytes / LIMITS.answer_token_bytes);
}

/** Tokens that a request body of so many bytes costs beside the one for its request. */
export function tokensOfBody(bytes: number): number {
  if (bytes <= LIMITS.body_free_bytes) return 0;
  return Math.ceil(bytes / LIMITS.body_token_bytes);
}

/**
 * The buckets of one limit. One is kept as the moment at which it will be full again, in whole
 * milliseconds of the monotonic clock. One that has not been used for two windows is full, as its
 * debt is never more than that, and is forgotten.
 */
function createBuckets(name: string, rate: Rate, clock: Clock, refuse: () => void) {
  const { quota, window } = rate;
  const span = window * 1000;
  /** An empty bucket, and one further window of debt. */
  const most = 2 * span;
  /** Milliseconds until one call comes back. */
  const every = span / quota;
  const states = Array.from({ length: quota + 1 }, (_, left) =>
    quotaOf(name, rate, left, Math.ceil(((quota - left) * every) / 1000)),
  );
  let recent = new Map<string, number>();
  let older = new Map<string, number>();
  let turned_at = 0;
  /** No bucket is empty after this moment, in milliseconds. */
  let empty_until = 0;

  const nowMs = () => Math.round(clock.elapsed() * 1000);

  /** Milliseconds until it is full. */
  const debtOf = (id: string, now: number): number => {
    const full_at = recent.get(id) ?? older.get(id) ?? now;
    return Math.min(Math.max(full_at - now, 0), most);
  };

  const turn = (now: number) => {
    const due = now - turned_at >= most;
    if (!due && recent.size < BUCKETS) return;
    older = recent;
    recent = new Map();
    turned_at = now;
  };

  const stateOf = (debt: number): Quota =>
    debt <= span
      ? states[Math.floor((span - debt) / every)]!
      : quotaOf(name, rate, 0, Math.ceil(debt / 1000));

  return {
    take(id: string): Quota {
      const now = nowMs();
      turn(now);
      const debt = debtOf(id, now);
      const missing = debt + every - span;
      recent.set(id, missing > 0 ? now + debt : now + debt + every);
      // What the next call would miss.
      const next_missing = missing > 0 ? missing : missing + every;
      if (next_missing > 0) empty_until = Math.max(empty_until, now + next_missing);
      if (missing > 0) {
        refuse();
        fail("rate_limited", { retry_after: Math.ceil(missing / 1000) });
      }
      return stateOf(debt + every);
    },
    spend(id: string, tokens: number): Quota {
      const now = nowMs();
      turn(now);
      const debt = Math.min(debtOf(id, now) + tokens * every, most);
      recent.set(id, now + debt);
      return stateOf(debt);
    },
    peek: (id: string): Quota => stateOf(debtOf(id, nowMs())),
    anyEmpty: (): boolean => empty_until > 0 && nowMs() < empty_until,
    isEmpty: (id: string): boolean => debtOf(id, nowMs()) + every > span,
    isOverdrawn: (id: string): boolean => debtOf(id, nowMs()) > span,
  };
}
