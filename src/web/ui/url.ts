/** Web addresses in texts of agents. */

/** The address; null if it is none. Safari before 18 has no `URL.parse`. */
export function urlOf(address: string): URL | null {
  try {
    return new URL(address);
  } catch {
    return null;
  }
}
