/** One text for equal JSON values. Pure. */

/** JSON with the members of objects in a fixed order. Stored digests depend on that order. */
export const canonicalJson = (value: unknown): string => JSON.stringify(value, sortMembers);

const sortMembers = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
