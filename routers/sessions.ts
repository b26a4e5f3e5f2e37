/** Procedures of sign-ins (§5.13). */

import { z } from "zod";
import { Session } from "../src/model/session.ts";
import { Id, Label } from "../src/model/text.ts";
import { account, router, routes } from "./trpc.ts";

const route = routes("Sign-ins");

export const sessions = router({
  list: account
    .meta({
      openapi: route("GET /v1/sessions", "listSessions", {
        summary: "List the sign-ins of the account, newest first",
        description: "At most 50, each with a token of its own.",
      }),
    })
    .input(z.strictObject({}))
    .output(z.object({ sessions: z.array(Session) }).meta({ id: "SessionList" }))
    .query(async ({ ctx }) => ({ sessions: await ctx.services.sessions.list(ctx.caller) })),

  update: account
    .meta({
      openapi: route("PATCH /v1/sessions/{session_id}", "updateSession", {
        summary: "Label a sign-in",
        description:
          "Changes the label that the person sees, of any sign-in of the account. In its first 10 minutes, a sign-in that was added by a code can label only itself.",
      }),
      errors: ["not_found"],
    })
    .input(z.strictObject({ session_id: Id, label: Label }).meta({ id: "SessionUpdate" }))
    .output(Session)
    .mutation(({ ctx, input }) =>
      ctx.services.sessions.setLabel(ctx.caller, input.session_id, input.label),
    ),

  confirm: account
    .meta({
      openapi: route("POST /v1/sessions/{session_id}/confirm", "confirmSession", {
        summary: "Confirm a sign-in that was added by a code",
        description:
          "Ends the first 10 minutes in which it has fewer rights. Any sign-in of the account with full rights may do so; `403` otherwise. Sent again, it changes nothing.",
      }),
      body_optional: true,
      errors: ["not_found"],
    })
    .input(z.strictObject({ session_id: Id }).meta({ id: "SessionConfirm" }))
    .output(Session)
    .mutation(({ ctx, input }) => ctx.services.sessions.confirm(ctx.caller, input.session_id)),

  delete: account
    .meta({
      openapi: route("DELETE /v1/sessions/{session_id}", "deleteSession", {
        summary: "End a sign-in",
        description:
          "Its token is refused as soon as the response is sent, and its event streams and waits end. In its first 10 minutes, a sign-in that was added by a code can end only itself.",
      }),
      status: 204,
      query: ["last"],
      errors: ["not_found", "last_session"],
    })
    .input(
      z.strictObject({
        session_id: Id,
        last: z
          .boolean()
          .meta({
            description:
              "True: end it even if it is the only one; then only the administrator can open the account again",
          })
          .optional(),
      }),
    )
    .output(z.void())
    .mutation(({ ctx, input }) =>
      ctx.services.sessions.remove(ctx.caller, input.session_id, input.last ?? false),
    ),
});
