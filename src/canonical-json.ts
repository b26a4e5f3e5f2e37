/** One text for equal values of JSON; pure. */

/** JSON without white space, with the members of each object in the order of their names. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const texts = members.map(([name, one]) => `${JSON.stringify(name)}:${canonicalJson(one)}`);
  return `{${texts.join(",")}}`;
}
