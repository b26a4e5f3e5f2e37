/** Authorization codes, which contain the time of their expiry (docs/interface.md §18.5.1). */

/**
 * A code of this secret that is good until then (epoch seconds, in milliseconds). What is stored is the
 * digest of all of it, so the time cannot be changed; the grant lives on, as long as its request does.
 */
export function newCode(secret: string, until: number): string {
  return `${secret}.${Math.round(until * 1000).toString(36)}`;
}

/** Whether a code that was found by its digest has not expired. */
export function isInTime(code: string, now: number): boolean {
  const [, until = ""] = code.split(".");
  return Number.parseInt(until, 36) > now * 1000;
}
