/** Procedures of keys, with their grants, webhooks and request logs (§5.4). */

import { z } from "zod";
import { LIMITS } from "../src/limits.ts";
import { Grant } from "../src/model/authorization.ts";
import { ChannelUrl } from "../src/model/channel.ts";
import { Key, KeyWebhook } from "../src/model/key.ts";
import { ActivityEntry } from "../src/model/request-log.ts";
import { Id, Label } from "../src/model/text.ts";
import { PAGING_NOTE, pageParameters } from "./paging.ts";
import { account, anyone, router, routes } from "./trpc.ts";

const route = routes("Keys");

export const keys = router({
  list: account
    .meta({
      openapi: route("GET /v1/keys", "listKeys", {
        summary: "List keys, newest first",
        description: "At most 100, each with the number of its tasks in each status.",
      }),
    })
    .input(z.strictObject({}))
    .output(z.object({ keys: z.array(Key) }).meta({ id: "KeyList" }))
    .query(async ({ ctx }) => ({ keys: await ctx.services.keys.list(ctx.caller) })),

  create: account
    .meta({
      openapi: route("POST /v1/keys", "createKey", {
        summary: "Create a key for an agent",
        description: "Only this response has the secret.",
      }),
      status: 201,
      errors: ["too_many_keys"],
    })
    .input(z.strictObject({ label: Label }).meta({ id: "KeyCreate" }))
    .output(z.object({ key: Key, secret: z.string() }).meta({ id: "KeyWithSecret" }))
    .mutation(({ ctx, input }) => ctx.services.keys.create(ctx.caller, input.label)),

  update: account
    .meta({
      openapi: route("PATCH /v1/keys/{key_id}", "updateKey", {
        summary: "Rename a key",
        description: "Changes the label that the person sees.",
      }),
      errors: ["not_found"],
    })
    .input(z.strictObject({ key_id: Id, label: Label }).meta({ id: "KeyUpdate" }))
    .output(Key)
    .mutation(({ ctx, input }) =>
      ctx.services.keys.setLabel(ctx.caller, input.key_id, input.label),
    ),

  replaceSecret: account
    .meta({
      openapi: route("POST /v1/keys/{key_id}/secret", "replaceKeySecret", {
        summary: "Replace the secret of a key; the old one ends at once",
        description:
          "Only this response has the new secret. Access that was granted by OAuth stays.",
      }),
      errors: ["not_found"],
    })
    .input(z.strictObject({ key_id: Id }).meta({ id: "KeySecretReplacement" }))
    .output(z.object({ key: Key, secret: z.string() }).meta({ id: "KeyWithNewSecret" }))
    .mutation(({ ctx, input }) => ctx.services.keys.replaceSecret(ctx.caller, input.key_id)),

  grants: account
    .meta({
      openapi: route("GET /v1/keys/{key_id}/grants", "listGrants", {
        summary: "List the access to a key that was granted by OAuth, newest first",
        description: "At most 20. The key's own secret is not listed.",
      }),
      errors: ["not_found"],
    })
    .input(z.strictObject({ key_id: Id }))
    .output(z.object({ grants: z.array(Grant) }).meta({ id: "GrantList" }))
    .query(async ({ ctx, input }) => ({
      grants: await ctx.services.grants.list(ctx.caller, input.key_id),
    })),

  revokeGrant: account
    .meta({
      openapi: route("DELETE /v1/keys/{key_id}/grants/{grant_id}", "revokeGrant", {
        summary: "End access that was granted by OAuth",
        description: "Its tokens are refused as soon as the response is sent. The key stays.",
      }),
      status: 204,
      errors: ["not_found"],
    })
    .input(z.strictObject({ key_id: Id, grant_id: Id }))
    .output(z.void())
    .mutation(({ ctx, input }) =>
      ctx.services.grants.remove(ctx.caller, input.key_id, input.grant_id),
    ),

  setWebhook: anyone
    .meta({
      openapi: route("PUT /v1/keys/{key_id}/webhook", "registerKeyWebhook", {
        summary: "Have the inbox items of a key posted to a URL",
        description:
          "Each item is posted with a signature, and becomes read when a 2xx status comes back. A test is posted first. Only this response has the secret; another PUT replaces URL and secret.",
      }),
      errors: ["not_found"],
    })
    .input(z.strictObject({ key_id: Id, url: ChannelUrl }).meta({ id: "KeyWebhookSetting" }))
    .output(
      z
        .object({
          url: z.string(),
          secret: z.string().meta({ description: "`whsec_` + base64" }),
        })
        .meta({ id: "KeyWebhookSecret" }),
    )
    .mutation(({ ctx, input }) =>
      ctx.services.keyWebhooks.set(ctx.caller, input.key_id, input.url),
    ),

  webhook: anyone
    .meta({
      openapi: route("GET /v1/keys/{key_id}/webhook", "getKeyWebhook", {
        summary: "Read the state of the webhook of a key",
        description: "The response has neither the URL nor the secret.",
      }),
      errors: ["not_found"],
    })
    .input(z.strictObject({ key_id: Id }))
    .output(KeyWebhook)
    .query(({ ctx, input }) => ctx.services.keyWebhooks.read(ctx.caller, input.key_id)),

  removeWebhook: anyone
    .meta({
      openapi: route("DELETE /v1/keys/{key_id}/webhook", "removeKeyWebhook", {
        summary: "Remove the webhook of a key",
        description: "Items that were not posted stay unread in the inbox.",
      }),
      status: 204,
      errors: ["not_found"],
    })
    .input(z.strictObject({ key_id: Id }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.keyWebhooks.remove(ctx.caller, input.key_id)),

  activity: account
    .meta({
      openapi: route("GET /v1/keys/{key_id}/activity", "listKeyActivity", {
        summary: "List the last requests of a key, newest first",
        description: `The newest 200 of the last 7 days. ${PAGING_NOTE} An entry may be absent for a moment after its request.`,
      }),
      pages: true,
      errors: ["not_found"],
    })
    .input(
      z.strictObject({
        key_id: Id,
        ...pageParameters(LIMITS.activity_page, LIMITS.activity_page_default),
      }),
    )
    .output(
      z
        .object({ items: z.array(ActivityEntry), next_cursor: z.string().nullable() })
        .meta({ id: "ActivityPage" }),
    )
    .query(({ ctx, input: { key_id, ...page } }) =>
      ctx.services.requestLog.list(ctx.caller, key_id, page, ctx),
    ),

  delete: account
    .meta({
      openapi: route("DELETE /v1/keys/{key_id}", "deleteKey", {
        summary: "Delete a key, its tasks and its questions",
        description:
          "Deletes its inbox and request log too. The key is refused as soon as the response is sent.",
      }),
      status: 204,
      errors: ["not_found"],
    })
    .input(z.strictObject({ key_id: Id }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.keys.remove(ctx.caller, input.key_id)),
});
