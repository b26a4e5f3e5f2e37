/** Where the inbox items of a key are posted to (docs/interface.md §2.16). */

import { z } from "zod";
import { ChannelError, ChannelState } from "./channel-parts.ts";
import { Timestamp } from "./text.ts";

export const KeyWebhook = z
  .object({
    state: ChannelState,
    origin: z.string().meta({ description: "Origin of the URL" }),
    hint: z.string().meta({ description: "The last 4 characters of the URL" }),
    last_sent_at: Timestamp.nullable(),
    last_error: ChannelError.nullable(),
    missed: z.int().min(0).meta({ description: "Items that were never delivered" }),
    created_at: Timestamp,
  })
  .meta({ id: "KeyWebhook" });
export type KeyWebhook = z.infer<typeof KeyWebhook>;
