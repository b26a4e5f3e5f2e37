/** Integers that a client sends (§1.3.3). */

import { z } from "zod";

/** An integer from `min` to `max`, inclusive. */
export function integer(min: number, max: number) {
  return z
    .int({
      // zod's own message for a text is "not a number".
      error: ({ code, input }) =>
        code === "invalid_type" && input !== undefined ? "must be of type integer" : undefined,
    })
    .min(min)
    .max(max);
}
