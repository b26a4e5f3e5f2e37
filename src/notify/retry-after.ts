/**
 * Seconds of a `Retry-After` header: a number, or a date (RFC 9110 10.2.3); null for anything else.
 * `now`: epoch seconds. The server may ask for any time: the caller limits it.
 */
export function retryAfter(header: unknown, now: number): number | null {
  if (typeof header !== "string") return null;
  if (/^\d+$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil(at / 1000 - now));
}
