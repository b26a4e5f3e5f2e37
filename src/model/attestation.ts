/** What an app sends to prove that it is genuine (docs/interface.md 4.2). */

import { z } from "zod";
import { LIMITS } from "../limits.ts";

/** A challenge as the service makes it: 32 bytes, base64url. */
const Challenge = z.string().regex(/^[\w-]{43}$/);

const Attempt = z.object({
  challenge: Challenge,
  /** base64 of the SHA-256 digest of the attested public key, as the app gets it. */
  key_id: z.string(),
  /** base64 of the attestation object. */
  object: z.string(),
});
export type Attempt = z.infer<typeof Attempt>;

/** Reads the `attestation` of an account's creation; null when it is none. */
export function readAttempt(attestation: string): Attempt | null {
  if (attestation.length > LIMITS.attestation) return null;
  try {
    const text = Buffer.from(attestation, "base64url").toString("utf8");
    return Attempt.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
