/** Makes random values, such as for the header `Idempotency-Key` (§8). */

/** `bytes` random bytes as base64url. */
export function randomText(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  const text = btoa(String.fromCharCode(...random));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * A new key of 128 random bits, for one request and its repetitions. Store it with the request if it may be repeated
 * after a restart. The server remembers it for 24 hours.
 */
export const createIdempotencyKey = (): string => randomText(16);
