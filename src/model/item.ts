/** What an agent finds in its inbox, and the agents it may write to (§2.6, §2.7). */

import { z } from "zod";
import type { FieldReasons } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Caller } from "./caller.ts";
import { Question } from "./question.ts";
import { Task } from "./task.ts";
import { Id, Timestamp, text } from "./text.ts";

export const ItemType = z
  .enum(["task.created", "task.updated", "task.deleted", "question.answered", "message"])
  .meta({ id: "ItemType" });

/** Who caused an item. Not a union: generated clients of several languages cannot read one without named members. */
const Sender = z
  .object({
    kind: z.enum(["account", "key"]).meta({ id: "SenderKind" }),
    key_id: z.string().exactOptional().meta({ description: "Only for `key`" }),
    label: z
      .string()
      .exactOptional()
      .meta({ description: "Only for `key`: its label at the time of sending" }),
  })
  .meta({ id: "Sender" });

export const Item = z
  .object({
    id: z.string(),
    key_id: z.string().meta({ description: "The key whose inbox it is in" }),
    type: ItemType,
    from: Sender,
    task_id: z.string().nullable(),
    question_id: z.string().nullable(),
    task: Task.nullable().meta({
      description:
        "As it is when the item is read, null once it is gone; `task.deleted`: as it was",
    }),
    changes: z.array(z.string()).meta({ description: "Changed fields, for `task.updated`" }),
    question: Question.nullable().meta({
      description: "For `question.answered`; a wait may have returned it before",
    }),
    text: z.string().nullable().meta({ description: "For `message`" }),
    created_at: Timestamp,
    read_at: Timestamp.nullable(),
    received_at: Timestamp.exactOptional().meta({
      description: "When a read of the question first returned the answer to the agent; then only",
    }),
  })
  .meta({ id: "Item" });
export type Item = z.infer<typeof Item>;

/** Body of `POST /v1/messages`. */
export const MessageInput = z
  .strictObject({
    key_id: Id.meta({ description: "The receiving key, of the same account" }),
    text: text({ max: LIMITS.message }),
  })
  .meta({ id: "MessageCreate" });
export type MessageInput = z.infer<typeof MessageInput>;

/** A key cannot write to itself (§5.10.1). */
export const receiverRule = (caller: Caller | null, raw: unknown): FieldReasons =>
  caller?.kind === "key" && (raw as { readonly key_id?: unknown } | null)?.key_id === caller.key_id
    ? { key_id: "must be another key" }
    : {};

/** A key as the other keys of its account see it: without host and client. */
export const Agent = z
  .object({
    key_id: z.string(),
    label: z.string(),
    self: z.boolean().meta({ description: "True for the key that sent the request" }),
    last_used_at: Timestamp.nullable(),
  })
  .meta({ id: "Agent" });
export type Agent = z.infer<typeof Agent>;
