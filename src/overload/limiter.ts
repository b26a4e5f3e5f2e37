/** The rate limits of this process: a token bucket per key, account, ticket and address (§10.6). */

import type { Clock } from "../clock.ts";
import { fail } from "../errors.ts";
import { FIRST_DOWNLOADS, LIMITS, RATES, type Rate } from "../limits.ts";
import { type CredentialHolder, callerId } from "../model/caller.ts";

/** Buckets of one limit that are kept; above it, those unused for longest are dropped. */
export const BUCKETS = 50_000;

/** The state of a limit as a response shows it. Equal states are the same object. */
export interface Quota {
  /** Values of the headers of draft-ietf-httpapi-ratelimit-headers-10. */
  readonly headers: { readonly "ratelimit-policy": string; readonly ratelimit: string };
}

/** Limits that are counted elsewhere; those of the others are here. */
const ELSEWHERE = ["accounts", "channel_tests", "webhook_sets", "address_uses"] as const;

type Limit = keyof typeof RATES;
type KeptLimit = Exclude<Limit, (typeof ELSEWHERE)[number]>;

const KEPT = (Object.keys(RATES) as Limit[]).filter(
  (name): name is KeptLimit => !(ELSEWHERE as readonly Limit[]).includes(name),
);

/** Limits of several addresses together, besides the limit of one address with the name before the last `_`. */
type SharedLimit = "pairings_block" | "downloads_process";

/** Limits of one address. */
export type AddressLimit = Exclude<KeptLimit, CredentialHolder["kind"] | SharedLimit>;

/**
 * The /48 of an IPv6 network, since one site may own all of it; null for an IPv4 address, whose neighbors are strangers.
 */
const blockOf = (network: string): string | null => /^(?:[\da-f]+:){3}/.exec(network)?.[0] ?? null;

/** Makes a record with a value for each name. */
const recordOf = <K extends string, V>(names: readonly K[], make: (name: K) => V) =>
  Object.fromEntries(names.map((name) => [name, make(name)])) as Record<K, V>;

export type Limiter = ReturnType<typeof createLimiter>;

interface LimiterOptions {
  readonly clock: Clock;
  /** False: nothing is limited. */
  readonly on: boolean;
  readonly rates?: Readonly<Record<KeptLimit, Rate>>;
}

export function createLimiter({ clock, on, rates = RATES }: LimiterOptions) {
  const refused = { accounts: 0, ...recordOf(KEPT, () => 0) };
  /** Null for a limit that is off. */
  const buckets = recordOf(KEPT, (name) =>
    on && rates[name].quota > 0
      ? createBuckets(name, rates[name], clock, () => refused[name]++)
      : null,
  );

  return {
    on,

    /** How often each limit refused a call. `accounts` is counted in the store, and set by its user. */
    refused,

    /** Charges one call to its caller; null when the limit is off. Throws `429 rate_limited`. */
    charge: (caller: CredentialHolder): Quota | null =>
      buckets[caller.kind]?.take(callerId(caller)) ?? null,

    /**
     * Charges `tokens` more for a call that was charged already. It never refuses: the bucket may go into debt
     * by at most one further window (§10.6.3).
     */
    spend: (caller: CredentialHolder, tokens: number): Quota | null =>
      buckets[caller.kind]?.spend(callerId(caller), tokens) ?? null,

    /** Takes back the charge of one call. */
    refund: (caller: CredentialHolder): Quota | null =>
      buckets[caller.kind]?.spend(callerId(caller), -1) ?? null,

    /** True if answers made since its request was charged have put the caller into debt (§10.6.3). */
    overdrawn: (caller: CredentialHolder): boolean =>
      buckets[caller.kind]?.isOverdrawn(callerId(caller)) ?? false,

    /** The state of the caller's limit, without a charge. */
    peek: (caller: CredentialHolder): Quota | null =>
      buckets[caller.kind]?.peek(callerId(caller)) ?? null,

    /** Charges one call to an address; null when the limit is off. Throws `429 rate_limited`. */
    chargeAddress(name: AddressLimit, address: string): Quota | null {
      const quota = buckets[name]?.take(address) ?? null;
      const block = name === "pairings" ? blockOf(address) : null;
      if (block !== null) buckets.pairings_block?.take(block);
      if (name === "downloads") {
        const is_first = buckets.downloads?.hasTaken(address, FIRST_DOWNLOADS + 1) === false;
        if (is_first) buckets.downloads_process?.spend(name, 1);
        else buckets.downloads_process?.take(name);
      }
      return quota;
    },

    /**
     * True if the next call of an address would be refused. `addressOf` is called only if some addresses are at their
     * limit.
     */
    exhausted: (name: AddressLimit, addressOf: () => string): boolean =>
      buckets[name]?.isEmpty(addressOf) ?? false,

    /** The state of the address's limit, without a charge. */
    peekAddress: (name: AddressLimit, address: string): Quota | null =>
      buckets[name]?.peek(address) ?? null,
  };
}

/**
 * The headers of a limit: `q` calls at once, which all come back within `w` seconds; `r` are left, and the whole
 * quota is back after at most `t` seconds without a call.
 */
export function quotaOf(name: string, { quota, window }: Rate, left: number, t: number): Quota {
  return {
    headers: {
      "ratelimit-policy": `"${name}";q=${quota};w=${window}`,
      ratelimit: `"${name}";r=${left};t=${t}`,
    },
  };
}

/** Tokens that an answer of `bytes` bytes costs beyond the one for its request (§10.6.3). */
export const tokensOf = (bytes: number): number =>
  bytes <= LIMITS.answer_free_bytes ? 0 : Math.ceil(bytes / LIMITS.answer_token_bytes);

/** Tokens that a request body of `bytes` bytes costs beyond the one for its request (§10.6.7). */
export const tokensOfBody = (bytes: number): number =>
  bytes <= LIMITS.body_free_bytes ? 0 : Math.ceil(bytes / LIMITS.body_token_bytes);

/**
 * The buckets of one limit. A bucket is stored as the moment at which it will be full again, in whole
 * milliseconds of the monotonic clock. Debt is at most two windows, so a bucket that was unused for that long
 * is full, and is forgotten.
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
      // Milliseconds that the next call would have to wait.
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
      const debt = Math.min(Math.max(debtOf(id, now) + tokens * every, 0), most);
      recent.set(id, now + debt);
      return stateOf(debt);
    },
    peek: (id: string): Quota => stateOf(debtOf(id, nowMs())),
    isEmpty: (idOf: () => string): boolean =>
      empty_until > 0 && nowMs() < empty_until && debtOf(idOf(), nowMs()) + every > span,
    isOverdrawn: (id: string): boolean => debtOf(id, nowMs()) > span,
    /** True if `calls` have not come back yet. */
    hasTaken: (id: string, calls: number): boolean => debtOf(id, nowMs()) > (calls - 1) * every,
  };
}
