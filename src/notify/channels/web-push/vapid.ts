/** The VAPID key pair, and the tokens signed with it (RFC 8292). */

import webPush from "web-push";
import type { Clock } from "../../../clock.ts";
import type { Shared } from "../../channel.ts";

/** Seconds after which a signed token is renewed. It is valid for 12 hours (RFC 8292). */
export const TOKEN_AGE = 21_600;
/** Origins of push services whose tokens are kept. */
const KEPT = 1_000;

interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** The key pair that all processes on a store share. The first one makes it. */
export async function sharedVapidKeys({ secretOf }: Pick<Shared, "secretOf">): Promise<VapidKeys> {
  return JSON.parse(await secretOf("vapid", JSON.stringify(webPush.generateVAPIDKeys())));
}

/** Seconds by which the machine's clock may change before a token's own times count as wrong. */
const CLOCK_SET = 60;

interface SignedHeader {
  readonly header: string;
  /** When it was signed, by {@link Clock.elapsed} and {@link Clock.now}. */
  readonly made_at: number;
  readonly issued_at: number;
}

interface VapidHeadersOptions {
  readonly subject: string;
  readonly clock: Pick<Clock, "now" | "elapsed">;
}

/**
 * Returns a function from a push service's origin to its `Authorization` header. Headers are cached for
 * some hours, since signing takes longest.
 */
export function createVapidHeaders(keys: VapidKeys, { subject, clock }: VapidHeadersOptions) {
  const kept = new Map<string, SignedHeader>();

  return (origin: string): string => {
    const now = clock.elapsed();
    const known = kept.get(origin);
    const age = known ? now - known.made_at : 0;
    const was_set = known && Math.abs(clock.now() - known.issued_at - age) > CLOCK_SET;
    if (known && age < TOKEN_AGE && !was_set) return known.header;
    const { publicKey, privateKey } = keys;
    // It is valid for 12 hours, the library's default.
    const headers = webPush.getVapidHeaders(origin, subject, publicKey, privateKey, "aes128gcm");
    kept.delete(origin);
    if (kept.size >= KEPT) kept.delete(kept.keys().next().value!);
    const header = headers.Authorization;
    kept.set(origin, { header, made_at: now, issued_at: clock.now() });
    return header;
  };
}
