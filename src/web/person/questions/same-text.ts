/** Compares texts as the server does. */

/** As a text field has it. */
export const withLineFeeds = (text: string): string => text.replace(/\r\n?/g, "\n");

/** True for texts that the server takes for the same: white space at the ends does not count (§5.7.4(5)). */
export const isSameText = (one: string, other: string): boolean =>
  withLineFeeds(one).trim() === withLineFeeds(other).trim();
