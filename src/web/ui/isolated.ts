/** Isolates the direction of a text in plain strings, as `bdi` does in HTML. */
export const isolated = (words: string): string => `\u2068${words}\u2069`;
