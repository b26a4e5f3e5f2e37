/** The API key of one agent (docs/interface.md 2.3). */

import { z } from "zod";
import { LIMITS } from "../limits.ts";
import { Client } from "./client.ts";
import { TASK_STATUSES } from "./task.ts";
import { Timestamp, text } from "./text.ts";

const count = z.int().min(0);

export const Key = z
  .object({
    id: z.string(),
    label: z.string(),
    prefix: z.string().meta({ description: "The first 8 characters of the secret" }),
    last4: z.string().meta({ description: "The last 4 characters of the secret" }),
    created_at: Timestamp,
    last_used_at: Timestamp.nullable(),
    last_client: Client.nullable(),
    last_host: z.string().nullable(),
    counts: z
      .object(Object.fromEntries(TASK_STATUSES.map((s) => [s, count])) as KeyCountsShape)
      .meta({ id: "TaskCounts", description: "The key's tasks by status" }),
  })
  .meta({ id: "Key" });
export type Key = z.infer<typeof Key>;
type KeyCountsShape = Record<(typeof TASK_STATUSES)[number], typeof count>;

export const Label = text({ max: LIMITS.label });
