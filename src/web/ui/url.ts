/** Web addresses in texts of agents. */

/** The parsed address; null if it is invalid. Safari before 18 has no `URL.parse`. */
export function urlOf(address: string): URL | null {
  try {
    return new URL(address);
  } catch {
    return null;
  }
}
