/** The API key of one agent (docs/interface.md 2.3). */

import { z } from "zod";
import type { FieldReasons } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Caller } from "./caller.ts";
import { Client } from "./client.ts";
import { KeyWebhook } from "./key-webhook.ts";
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
    webhook: KeyWebhook.exactOptional().meta({ description: "Only if the key has one" }),
  })
  .meta({ id: "Key" });
export type Key = z.infer<typeof Key>;
type KeyCountsShape = Record<(typeof TASK_STATUSES)[number], typeof count>;

export const Label = text({ max: LIMITS.label });

/**
 * `key_id` of a task to create, or of a list's filter (docs/interface.md 5.5): only an account names
 * a key, and where it is `required` it must.
 */
export const keyIdRule =
  ({ required }: { readonly required: boolean }) =>
  (caller: Caller | null, raw: unknown): FieldReasons => {
    // A body of another kind has no fields.
    if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return {};
    const given = "key_id" in raw;
    if (caller?.kind === "key" && given) return { key_id: "is permitted for an account only" };
    return caller?.kind === "account" && required && !given ? { key_id: "is required" } : {};
  };
