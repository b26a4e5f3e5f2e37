/** Ids, secrets and revisions as a port, which a test can fix. */

import { randomBytes } from "node:crypto";
import type { Clock } from "./clock.ts";

/** Prefixes of ids (§1.4.1). */
type IdPrefix =
  | ("acc" | "ses" | "key" | "tsk" | "qst" | "itm" | "act")
  | ("chn" | "lnk" | "dlv" | "msg")
  | ("crd" | "grt" | "apv" | "inv");

export interface Ids {
  /** Prefix and a UUIDv7 of 32 lowercase hex digits, which sorts by creation time. */
  next(prefix: IdPrefix): string;
  /** Prefix and 256 random bits in base64url. */
  secret(prefix: "mca" | "mck" | "mcc" | "mco" | "sig"): string;
  /** `whsec_` and 256 random bits in base64, as Standard Webhooks requires. */
  webhookSecret(): string;
  /** 256 random bits in base64url. */
  challenge(): string;
  /** `bytes` random bytes. */
  random(bytes: number): Uint8Array;
  /** A value that no other call in any process returns, for a revision of a row or a lease. */
  unique(): string;
  /** A random number from 0 to below 1, which spreads back-off. */
  jitter(): number;
}

export function createIds(clock: Clock): Ids {
  const process_part = randomBytes(9).toString("base64url");
  let changes = 0;
  let last_ms = 0;
  let counter = 0;

  return {
    next(prefix) {
      const ms = Math.round(clock.now() * 1000);
      // The counter keeps the order within a millisecond, and when the clock steps back.
      if (ms > last_ms) {
        last_ms = ms;
        counter = randomBytes(2).readUInt16BE() & 0x3ff;
      } else if (++counter > 0xfff) {
        last_ms += 1;
        counter = 0;
      }
      const random = randomBytes(8);
      random[0] = 0x80 | (random[0]! & 0x3f);
      return `${prefix}_${hex(last_ms, 12)}7${hex(counter, 3)}${random.toString("hex")}`;
    },
    secret: (prefix) => `${prefix}_${randomBytes(32).toString("base64url")}`,
    webhookSecret: () => `whsec_${randomBytes(32).toString("base64")}`,
    challenge: () => randomBytes(32).toString("base64url"),
    random: (bytes) => randomBytes(bytes),
    unique: () => `${process_part}${(++changes).toString(36)}`,
    jitter: () => randomBytes(4).readUInt32BE() / 2 ** 32,
  };
}

/** The SHA-256 digest of a secret in base64url, which the store keeps in its place (§4.1.2). */
export function digest(secret: string): string {
  return Bun.SHA256.hash(secret, "base64url");
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
