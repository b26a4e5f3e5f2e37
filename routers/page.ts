/** What the documentation says of every list that comes in pages. */

export const PAGES =
  "Continue while `next_cursor` is not null. A page ends after `limit` records or about 1 MiB, whichever comes first, so it may hold fewer records than `limit`.";
