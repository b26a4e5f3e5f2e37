/** What channels of a person and webhooks of keys have in common (docs/interface.md 19.1, §2.16). */

import { z } from "zod";
import { OUTBOUND } from "../limits.ts";
import { isStorable, Timestamp } from "./text.ts";

export const ChannelState = z.enum(["ok", "failing", "gone"]).meta({ id: "ChannelState" });

export const ChannelError = z
  .object({
    code: z.string().meta({ description: "`status_<number>`, or a fault of the connection" }),
    at: Timestamp,
  })
  .meta({ id: "ChannelError" });
export type ChannelError = z.infer<typeof ChannelError>;

/** `src/outbound` decides whether it can be called. */
export const ChannelUrl = z
  .string()
  .refine(isStorable, "must hold no NUL character and no lone surrogate")
  .refine((value) => URL.canParse(value), "must be a URL such as https://example.com/hook")
  .meta({ maxLength: OUTBOUND.url_characters });
