/** What an app sends to prove that it is genuine (§4.2). */

import { z } from "zod";
import { LIMITS } from "../limits.ts";

const Attempt = z.object({
  /** 32 bytes, base64url. */
  challenge: z.string().regex(/^[\w-]{43}$/),
  /** SHA-256 digest of the attested public key, base64. */
  key_id: z.string(),
  /** The attestation object, base64. */
  object: z.string(),
});
export type Attempt = z.infer<typeof Attempt>;

/** Reads the field `attestation` of an account's creation; null if it cannot be read. */
export function readAttempt(attestation: string): Attempt | null {
  if (attestation.length > LIMITS.attestation) return null;
  try {
    const text = Buffer.from(attestation, "base64url").toString("utf8");
    return Attempt.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
