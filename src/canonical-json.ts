/** One text for equal JSON values. Pure. */

/**
 * JSON text whose objects have their members in one fixed order. Digests in the store are made of it, so a
 * change of the order would make repeated requests look like new ones.
 */
export const canonicalJson = (value: unknown): string => JSON.stringify(value, sortMembers);

const sortMembers = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
