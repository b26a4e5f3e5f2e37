/** Values for the header `Idempotency-Key` (§8). */

/** `bytes` random bytes as base64url. */
export function randomText(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  const text = btoa(String.fromCharCode(...random));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * A new key of 128 random bits, for one request and its repetitions. Keep it with what is sent, so that a
 * repetition after a restart has it too; the server remembers it for 24 hours.
 */
export const createIdempotencyKey = (): string => randomText(16);
