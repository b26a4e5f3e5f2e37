/** Procedures of inboxes, messages and agents (§5.9 to §5.11). */

import { z } from "zod";
import { LIMITS } from "../src/limits.ts";
import { integer } from "../src/model/integer.ts";
import { Agent, Item, MessageInput, receiverRule } from "../src/model/item.ts";
import { Id } from "../src/model/text.ts";
import type { NextCall } from "../src/rpc/meta.ts";
import { limitParameter, PAGING_NOTE, pageParameters } from "./paging.ts";
import { hints } from "./tool.ts";
import { account, anyone, key, router, routes } from "./trpc.ts";

const route = routes("Inbox");

const Unread = z.int().min(0).meta({ description: "Unread items after this request" });

/** The next call: a reader that peeks acknowledges what it has handled; after an empty wait it waits on. */
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
  return { why: "Nothing yet. To keep waiting", name: "read_inbox", arguments: given };
}

/** A note on answers, since a wait may have returned them before (§5.9.1). */
const repeatedAnswers = ({ items }: { readonly items: readonly Item[] }): string | null =>
  items.some(({ type }) => type === "question.answered")
    ? "Act on each answer once: a call that waited may have returned it before."
    : null;

export const inbox = router({
  read: key
    .meta({
      openapi: route("GET /v1/inbox", "readInbox", {
        summary: "Read the unread items, oldest first, and wait for the first if you like",
        description:
          "Send `peek=true` and, as `ack`, the id of the last item you handled: then a lost response loses no item, though an item can come twice. Without `peek` the items become read at once. A response ends after `limit` items or about 1 MiB; the other items stay unread.",
      }),
      errors: ["too_many_waits"],
      consumes: true,
      pages: true,
      reads_first: true,
      only_waited: ({ wait = 0 }, result) =>
        wait > 0 && (result === null || (result as { items: Item[] }).items.length === 0),
      mcp: {
        name: "read_inbox",
        title: "Read inbox",
        description:
          "Read what came for you, oldest first: tasks the person created, changed or deleted, answers, messages from agents. Call it at the start, between steps and, with `wait_seconds`, when idle. Items become read when returned or, with `peek`, when you pass the last you handled as `ack`. Answers a wait returned come again: act once.",
        annotations: hints({}),
        defaults: { limit: 10 },
        next: readOn,
        note: repeatedAnswers,
      },
    })
    .input(
      z.strictObject({
        wait: integer(0, LIMITS.wait_max)
          .meta({ description: "Seconds to wait for the first unread item; default 0" })
          .optional(),
        limit: limitParameter(LIMITS.inbox_page, LIMITS.inbox_page_default),
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
      const { connection, effects, page_bytes, confirmed } = ctx;
      const { signal } = connection;
      const options = { signal, effects, page_bytes, confirmed };
      return ctx.services.inbox.read(ctx.caller, input, options);
    }),

  ofKey: account
    .meta({
      openapi: route("GET /v1/keys/{key_id}/inbox", "listKeyInbox", {
        summary: "See the inbox of a key, newest first; marks nothing as read",
        description: PAGING_NOTE,
      }),
      pages: true,
      errors: ["not_found"],
    })
    .input(
      z.strictObject({
        key_id: Id,
        ...pageParameters(LIMITS.inbox_page, LIMITS.inbox_page_default),
      }),
    )
    .output(
      z
        .object({
          items: z.array(Item),
          unread: Unread,
          unreceived: Unread.meta({
            description: "Unread items without the answers that reads of their questions returned",
          }),
          next_cursor: z.string().nullable(),
        })
        .meta({ id: "KeyInboxPage" }),
    )
    .query(({ ctx, input: { key_id, ...page } }) =>
      ctx.services.inbox.ofKey(ctx.caller, key_id, page, ctx),
    ),
});

export const messages = router({
  send: anyone
    .meta({
      openapi: route("POST /v1/messages", "sendMessage", {
        summary: "Send a message to a key of the account",
        description:
          "The message becomes an item of the receiving inbox. At most 100 messages from one key to another may be unread.",
      }),
      status: 201,
      accepts_idempotency_key: true,
      rules: receiverRule,
      errors: ["not_found", "account_full", "inbox_full"],
      mcp: {
        name: "send_message",
        title: "Write to another agent",
        description:
          "Write to another agent to hand over work or tell it what it needs. For the person, use ask_question or `status_note`.",
        fields: { key_id: "From list_agents" },
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
      openapi: route("GET /v1/agents", "listAgents", {
        summary: "List the agents of the account, newest first",
        description: "All keys of the account, the caller included.",
      }),
      mcp: {
        name: "list_agents",
        title: "List agents",
        description: "List the person's agents with the `key_id` for send_message; `self` is you.",
        annotations: hints({ reads: true }),
      },
    })
    .input(z.strictObject({}))
    .output(z.object({ agents: z.array(Agent) }).meta({ id: "AgentList" }))
    .query(async ({ ctx }) => ({ agents: await ctx.services.inbox.agents(ctx.caller) })),
});
