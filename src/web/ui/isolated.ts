/** For what is text alone: between these marks somebody's words keep their own direction, as in a `bdi`. */
export const isolated = (words: string): string => `\u2068${words}\u2069`;
