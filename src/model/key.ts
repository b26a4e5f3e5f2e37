/** The API key of one agent (§2.3). */

import { z } from "zod";
import type { FieldReasons } from "../errors.ts";
import type { Caller } from "./caller.ts";
import { ChannelError, ChannelState } from "./channel.ts";
import { Client } from "./client.ts";
import { TASK_STATUSES } from "./task.ts";
import { Timestamp } from "./text.ts";

const count = z.int().min(0);

/** Where the inbox items of a key are posted to (§2.16). */
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

/** The rule for `key_id` in the body of a task or in a filter: only an account may send it, and must if `required`. */
export const keyIdRule =
  ({ required }: { readonly required: boolean }) =>
  (caller: Caller | null, raw: unknown): FieldReasons => {
    // Any other value has no fields.
    if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return {};
    const given = "key_id" in raw;
    if (caller?.kind === "key" && given) return { key_id: "is permitted for an account only" };
    return caller?.kind === "account" && required && !given ? { key_id: "is required" } : {};
  };
