/** Procedures of live activities (§5.6). */

import { z } from "zod";
import { LiveActivityInput, LiveActivityName } from "../src/model/device.ts";
import { account, router, routes } from "./trpc.ts";

const route = routes("Live activities");

export const liveActivities = router({
  put: account
    .meta({
      openapi: route("PUT /v1/tasks/{task_id}/live-activity", "registerLiveActivity", {
        summary: "Register the live activity of a task on a device",
        description:
          "Send it each time the activity gets a new update token. Nothing is kept for a task that is not `in_progress`, or while the setting `live_activities` is off.",
      }),
      status: 204,
      errors: ["not_found"],
    })
    .input(LiveActivityInput)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.liveActivities.put(ctx.caller, input)),

  delete: account
    .meta({
      openapi: route("DELETE /v1/tasks/{task_id}/live-activity", "removeLiveActivity", {
        summary: "Remove the live activity of a task on a device, if one is registered",
        description: "The response is the same if none is registered.",
      }),
      status: 204,
      errors: ["not_found"],
    })
    .input(LiveActivityName)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.liveActivities.remove(ctx.caller, input)),
});
