/** Procedures of notification channels (§19.2). */

import { z } from "zod";
import {
  Channel,
  ChannelCheckInput,
  ChannelInput,
  ChannelLink,
  ChannelLinkInput,
  ChannelPatch,
  ChannelProblem,
  channelCheckRule,
  channelRule,
  TestCode,
} from "../src/model/channel.ts";
import { TestOutcome } from "../src/model/delivery.ts";
import { Id, Timestamp } from "../src/model/text.ts";
import { account, open, router, routes } from "./trpc.ts";

const route = routes("Channels");

export const channels = router({
  list: account
    .meta({
      openapi: route("GET /v1/channels", "listChannels", {
        summary: "List notification channels, newest first",
        description: "At most 20. Devices are listed by `GET /v1/devices`.",
      }),
    })
    .input(z.strictObject({}))
    .output(z.object({ channels: z.array(Channel) }).meta({ id: "ChannelList" }))
    .query(async ({ ctx }) => ({ channels: await ctx.services.channels.list(ctx.caller) })),

  create: account
    .meta({
      openapi: route("POST /v1/channels", "createChannel", {
        summary: "Create a notification channel",
        description:
          "Only this response has the secret of a webhook, and the URL of a topic that Relay makes. A signed test is sent, and nothing else until a test gets a 2xx status. An existing subscription moves to the new channel.",
      }),
      status: 201,
      rules: channelRule,
      errors: ["too_many_channels"],
    })
    .input(ChannelInput)
    .output(
      z
        .object({
          channel: Channel,
          secret: z
            .string()
            .exactOptional()
            .meta({ description: "Of a webhook: `whsec_` + base64" }),
          url: z.string().exactOptional().meta({ description: "Of a topic that Relay made" }),
        })
        .meta({ id: "ChannelWithSecret" }),
    )
    .mutation(({ ctx, input }) => ctx.services.channels.create(ctx.caller, input)),

  check: account
    .meta({
      openapi: route("POST /v1/channels/check", "checkChannel", {
        summary: "See why a channel would not work on this server",
        description:
          "Creates nothing, and sends nothing to the URL. `problem` is null if nothing is known against the channel.",
      }),
      may_be_slow: true,
      rules: channelCheckRule,
    })
    .input(ChannelCheckInput)
    .output(z.object({ problem: ChannelProblem.nullable() }).meta({ id: "ChannelCheckResult" }))
    .mutation(async ({ ctx, input }) => ({
      problem: await ctx.services.channels.check(ctx.caller, input, ctx.scope.linkBase().url),
    })),

  createLink: account
    .meta({
      openapi: route("POST /v1/channels/links", "createChannelLink", {
        summary: "Create a link that adds a channel",
        description:
          "The person opens the link in the app of the service and taps Start. The channel exists only after the account has confirmed who that was.",
      }),
      status: 201,
      may_be_slow: true,
    })
    .input(ChannelLinkInput)
    .output(ChannelLink)
    .mutation(({ ctx, input }) => ctx.services.channelLinks.create(ctx.caller, input)),

  getLink: account
    .meta({
      openapi: route("GET /v1/channels/links/{link_id}", "getChannelLink", {
        summary: "See who has opened a link",
        description: "Not found once the link has expired or was confirmed.",
      }),
      errors: ["not_found"],
    })
    .input(z.strictObject({ link_id: Id }))
    .output(ChannelLink)
    .query(({ ctx, input }) => ctx.services.channelLinks.get(ctx.caller, input.link_id)),

  confirmLink: account
    .meta({
      openapi: route("POST /v1/channels/links/{link_id}/confirm", "confirmChannelLink", {
        summary: "Add the channel of whoever opened a link",
        description: "A repetition returns the same channel.",
      }),
      status: 201,
      body_optional: true,
      errors: ["not_found", "link_not_opened", "too_many_channels"],
    })
    .input(z.strictObject({ link_id: Id }).meta({ id: "ChannelLinkConfirm" }))
    .output(z.object({ channel: Channel }).meta({ id: "LinkedChannel" }))
    .mutation(({ ctx, input }) => ctx.services.channelLinks.confirm(ctx.caller, input.link_id)),

  key: account
    .meta({
      openapi: route("GET /v1/web-push/key", "getWebPushKey", {
        summary: "Get the key that browsers subscribe to web push with",
        description:
          "The `applicationServerKey` of `PushManager.subscribe`. Not found while web push is off.",
      }),
      errors: ["not_found"],
    })
    .input(z.strictObject({}))
    .output(
      z
        .object({
          public_key: z.string().meta({ description: "65 bytes of a P-256 point, base64url" }),
        })
        .meta({ id: "WebPushKey" }),
    )
    .query(({ ctx }) => ctx.services.channels.key()),

  update: account
    .meta({
      openapi: route("PATCH /v1/channels/{channel_id}", "updateChannel", {
        summary: "Change a notification channel",
        description: "Changes the fields in the body, from the next attempt on.",
      }),
      errors: ["not_found"],
    })
    .input(ChannelPatch.extend({ channel_id: Id }).meta({ id: "ChannelUpdate" }))
    .output(Channel)
    .mutation(({ ctx, input: { channel_id, ...patch } }) =>
      ctx.services.channels.update(ctx.caller, channel_id, patch),
    ),

  delete: account
    .meta({
      openapi: route("DELETE /v1/channels/{channel_id}", "deleteChannel", {
        summary: "Delete a notification channel",
        description: "Queued notifications are not sent.",
      }),
      status: 204,
      errors: ["not_found"],
    })
    .input(z.strictObject({ channel_id: Id }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.channels.remove(ctx.caller, input.channel_id)),

  test: account
    .meta({
      openapi: route("POST /v1/channels/{channel_id}/test", "sendChannelTest", {
        summary: "Send a test through a channel and wait for its outcome",
        description:
          "Waits up to 10 seconds. Each channel has 6 tests an hour. `reached_at` of the channel shows that the person pressed the button of the notification.",
      }),
      body_optional: true,
      may_be_slow: true,
      errors: ["not_found"],
    })
    .input(z.strictObject({ channel_id: Id }).meta({ id: "ChannelTest" }))
    .output(TestOutcome)
    .mutation(({ ctx, input }) => ctx.services.channels.test(ctx.caller, input.channel_id)),

  reached: open
    .meta({
      openapi: route("POST /v1/channels/{channel_id}/reached", "answerChannelTest", {
        summary: "Answer the test of a channel",
        description:
          "What the button of the notification sends: its code is the credential, for 10 minutes. A repetition changes nothing.",
      }),
      limit: "test_answers",
      errors: ["not_found"],
    })
    .input(
      z
        .strictObject({
          channel_id: Id,
          code: TestCode,
        })
        .meta({ id: "ChannelTestAnswer" }),
    )
    .output(z.object({ reached_at: Timestamp }).meta({ id: "ChannelReached" }))
    .mutation(({ ctx, input }) => ctx.services.channels.reached(input.channel_id, input.code)),
});
