/** Shared by all lists: the query parameters of list pages, and their documentation. */

import { z } from "zod";
import { integer } from "../src/model/integer.ts";
import type { NextCall } from "../src/rpc/meta.ts";

export const PAGING_NOTE =
  "Continue while `next_cursor` is not null. A page ends after `limit` records or about 1 MiB, whichever comes first, so it may hold fewer records than `limit`.";

/** The query parameter `limit`: from 1 to `most` records. */
export const limitParameter = (most: number, by_default: number) =>
  integer(1, most)
    .meta({ description: `Default ${by_default}` })
    .optional();

/** The query parameters of a list whose list pages have up to `most` records. */
export const pageParameters = (most: number, by_default: number) => ({
  limit: limitParameter(most, by_default),
  cursor: z.string().meta({ description: "The `next_cursor` of the previous page" }).optional(),
});

/** The call by which an agent reads the next list page of the tool `name`. */
export const nextPage =
  (name: string) =>
  (
    { next_cursor: cursor }: { readonly next_cursor: string | null },
    given: Readonly<Record<string, unknown>>,
  ): NextCall | null =>
    cursor === null
      ? null
      : { why: "There are more. To read on", name, arguments: { ...given, cursor } };
