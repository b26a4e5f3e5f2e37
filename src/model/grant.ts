/** Access that a person gave a client by OAuth (docs/interface.md §2.13). */

import { z } from "zod";
import { Timestamp } from "./text.ts";

export const Grant = z
  .object({
    id: z.string(),
    client_name: z.string().nullable().meta({
      description: "What the client calls itself, unverified; null if it gave no name",
    }),
    client_host: z.string().nullable().meta({
      description: "Host of the web site that it was given to; null for a program on a computer",
    }),
    created_at: Timestamp,
    last_used_at: Timestamp.nullable(),
    expires_at: Timestamp.meta({ description: "When it ends unless it is used before" }),
  })
  .meta({ id: "Grant" });
export type Grant = z.infer<typeof Grant>;
