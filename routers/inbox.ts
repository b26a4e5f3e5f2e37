/** docs/interface.md 5.9 to 5.11. */

import { z } from "zod";
import { LIMITS } from "../src/limits.ts";
import { Agent, Item, MessageInput, TO_ITSELF } from "../src/model/item.ts";
import { Id } from "../src/model/text.ts";
import { PAGES } from "./page.ts";
import { hints, type NextCall } from "./tool.ts";
import { account, anyone, key, router } from "./trpc.ts";

const tags = ["Inbox"];

const Limit = z
  .int()
  .min(1)
  .max(LIMITS.inbox_page)
  .meta({ description: `Default ${LIMITS.inbox_page_default}` })
  .optional();

const Unread = z.int().min(0).meta({ description: "Unread items after this request" });

/** A reader that peeks acknowledges by its next read what it has handled; an empty wait goes on. */
function readOn(
  { items }: { readonly items: readonly Item[] },
  given: { readonly peek?: boolean; readonly wait_seconds?: number },
): NextCall | null {
  const last = items.at(-1);
  if (last) {
    if (!given.peek) return null;
    const why = "Once you have handled these items";
    return { why, name: "read_inbox", arguments: { ...given, ack: last.id } };
  }
  if (!given.wait_seconds) return null;
  return { why: "Nothing yet. To wait on", name: "read_inbox", arguments: given };
}

export const inbox = router({
  read: key
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/inbox",
        operationId: "readInbox",
        tags,
        summary: "Read the unread items, oldest first, and wait for the first if you like",
        description:
          "Send `peek=true` and, as `ack`, the id of the last item you handled: then no item is lost when a response is, and an item can come twice but never zero times. Without `peek` the items become read at once. A response ends after `limit` items or about 1 MiB; the other items stay unread.",
      },
      errors: ["too_many_waits"],
      takes: true,
      pages: true,
      only_waited: ({ wait = 0 }, result) =>
        wait > 0 && (result === null || (result as { items: Item[] }).items.length === 0),
      mcp: {
        name: "read_inbox",
        title: "Read the inbox",
        description:
          "Read what came for you, oldest first, 10 at a time: tasks that the person made, changed or deleted, answers to your questions, and messages. Call it when you start and between steps. Send `peek` true and, as `ack`, the id of the last item you handled: that one and all older ones become read, and nothing is lost if a result does not reach you. Without `peek` the items become read at once. With nothing else to do, wait for the next item with `wait_seconds`.",
        annotations: hints({}),
        defaults: { limit: 10 },
        next: readOn,
      },
    })
    .input(
      z.strictObject({
        wait: z
          .int()
          .min(0)
          .max(LIMITS.wait_max)
          .meta({ description: "Seconds to wait for the first unread item; default 0" })
          .optional(),
        limit: Limit,
        peek: z
          .boolean()
          .meta({ description: "Whether the items stay unread; default `false`" })
          .optional(),
        ack: Id.meta({
          description: "Id of an item: it and all older ones become read first",
        }).optional(),
      }),
    )
    .output(z.object({ items: z.array(Item), unread: Unread }).meta({ id: "InboxPage" }))
    .query(({ ctx, input }) => {
      const { connection, effects, page_bytes } = ctx;
      const { signal } = connection;
      return ctx.services.inbox.read(ctx.caller, input, { signal, effects, page_bytes });
    }),

  ofKey: account
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/keys/{key_id}/inbox",
        operationId: "listKeyInbox",
        tags,
        summary: "See the inbox of a key, newest first; marks nothing read",
        description: PAGES,
      },
      pages: true,
      errors: ["not_found"],
    })
    .input(
      z.strictObject({
        key_id: Id,
        limit: Limit,
        cursor: z
          .string()
          .meta({ description: "The `next_cursor` of the previous page" })
          .optional(),
      }),
    )
    .output(
      z
        .object({ items: z.array(Item), unread: Unread, next_cursor: z.string().nullable() })
        .meta({ id: "KeyInboxPage" }),
    )
    .query(({ ctx, input: { key_id, ...page } }) =>
      ctx.services.inbox.ofKey(ctx.caller, key_id, page, ctx),
    ),
});

export const messages = router({
  send: anyone
    .meta({
      openapi: {
        method: "POST",
        path: "/v1/messages",
        operationId: "sendMessage",
        tags,
        summary: "Write into the inbox of a key of the account",
        description:
          "The message becomes an item of the receiving inbox. At most 100 messages from one key to another may be unread.",
      },
      status: 201,
      accepts_idempotency_key: true,
      rules: (caller, raw) =>
        caller?.kind === "key" && (raw as { key_id?: unknown } | null)?.key_id === caller.key_id
          ? TO_ITSELF
          : {},
      errors: ["not_found", "inbox_full"],
      mcp: {
        name: "send_message",
        title: "Write to another agent",
        description:
          "Write a message into the inbox of another agent of the same person. Call it to hand over work or to tell what the other one needs to know; list_agents has its `key_id`. It is no way to reach the person: for that there are ask_question and `status_note` of a task.",
        annotations: hints({ person: true }),
      },
    })
    .input(MessageInput)
    .output(Item)
    .mutation(({ ctx, input }) => ctx.services.inbox.send(ctx.caller, input, ctx)),
});

export const agents = router({
  list: key
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/agents",
        operationId: "listAgents",
        tags,
        summary: "List the agents of the account, newest first",
        description: "All keys of the account, the caller included.",
      },
      mcp: {
        name: "list_agents",
        title: "List the agents",
        description:
          "List the agents of the same person, newest first, with their labels and when each was last used; `self` marks yourself. Call it before send_message, to find the `key_id` to write to.",
        annotations: hints({ reads: true }),
      },
    })
    .input(z.strictObject({}))
    .output(z.object({ agents: z.array(Agent) }).meta({ id: "AgentList" }))
    .query(async ({ ctx }) => ({ agents: await ctx.services.inbox.agents(ctx.caller) })),
});
