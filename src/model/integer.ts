/** Integers that a client sends (docs/interface.md 1.3.3). */

import { z } from "zod";

/** An integer from `min` to `max`, inclusive; the reason for a value of another type names the type. */
export function integer(min: number, max: number) {
  return z
    .int({
      // zod calls a text in its place "not a number".
      error: ({ code, input }) =>
        code === "invalid_type" && input !== undefined ? "must be of type integer" : undefined,
    })
    .min(min)
    .max(max);
}
