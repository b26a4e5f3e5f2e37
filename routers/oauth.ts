/** Procedures of approving OAuth clients (§5.15). */

import { z } from "zod";
import type { FieldReasons } from "../src/errors.ts";
import { LIMITS } from "../src/limits.ts";
import {
  Approval,
  ApprovalSecret,
  ApprovalState,
  Approved,
  Authorization,
  Denied,
  SealedRequest,
} from "../src/model/authorization.ts";
import { integer } from "../src/model/integer.ts";
import { Id, Label } from "../src/model/text.ts";
import { account, open, router, routes } from "./trpc.ts";

const route = routes("OAuth");

const reference = {
  request: SealedRequest.meta({
    description:
      "The last part of `#/authorize/…` for a request of this browser, or the code that another device shows",
  }),
};

/** Either an existing key or a label for a new one. */
function oneKey(_: unknown, raw: unknown): FieldReasons {
  const is_object = typeof raw === "object" && raw !== null && !Array.isArray(raw);
  return is_object && "key_id" in raw && "label" in raw
    ? { label: "must not be sent with key_id" }
    : {};
}

export const oauth = router({
  request: account
    .meta({
      openapi: route("POST /v1/oauth/request", "readAuthorization", {
        summary: "Read a client's request for access",
        description: "What the person needs to decide. Changes nothing.",
      }),
      errors: ["not_found"],
    })
    .input(z.strictObject(reference).meta({ id: "AuthorizationReference" }))
    .output(Authorization)
    .mutation(({ ctx, input }) => ctx.services.consents.read(ctx.caller, input.request)),

  approve: account
    .meta({
      openapi: route("POST /v1/oauth/approve", "approveAuthorization", {
        summary: "Give a client access to a key",
        description: "To an existing key, or to a new one with this label or the client's name.",
      }),
      rules: oneKey,
      errors: ["not_found", "too_many_keys"],
    })
    .input(
      z
        .strictObject({
          ...reference,
          key_id: Id.exactOptional(),
          label: Label.exactOptional(),
        })
        .meta({ id: "AuthorizationApproval" }),
    )
    .output(Approved)
    .mutation(({ ctx, input: { request, ...choice } }) =>
      ctx.services.consents.approve(ctx.caller, request, choice),
    ),

  deny: account
    .meta({
      openapi: route("POST /v1/oauth/deny", "denyAuthorization", {
        summary: "Refuse a client's request for access",
        description: "The client is told that the person refused.",
      }),
      errors: ["not_found"],
    })
    .input(z.strictObject(reference).meta({ id: "AuthorizationDenial" }))
    .output(Denied)
    .mutation(({ ctx, input }) => ctx.services.consents.deny(ctx.caller, input.request)),

  askApproval: open
    .meta({
      openapi: route("POST /v1/oauth/approvals", "askApproval", {
        summary: "Ask for the approval of a request by another device",
        description: "For a browser without a sign-in, which shows the code and waits.",
      }),
      status: 201,
      limit: "approvals",
      errors: ["not_found"],
    })
    .input(z.strictObject({ request: SealedRequest }).meta({ id: "ApprovalInput" }))
    .output(Approval)
    .mutation(({ ctx, input }) =>
      ctx.services.consents.ask(input.request, ctx.scope.address(), ctx.scope.linkBase()),
    ),

  awaitApproval: open
    .meta({
      openapi: route("POST /v1/oauth/approvals/wait", "awaitApproval", {
        summary: "Wait for the approval by another device",
        description: "Answers as soon as the other device has decided, or when the wait ends.",
      }),
      query: ["wait"],
      limit: "approval_waits",
      errors: ["too_many_waits"],
    })
    .input(
      z
        .strictObject({
          secret: ApprovalSecret,
          wait: integer(0, LIMITS.wait_max).meta({ description: "Seconds. Default 0" }).optional(),
        })
        .meta({ id: "ApprovalWait" }),
    )
    .output(ApprovalState)
    .mutation(({ ctx, input: { secret, wait = 0 } }) =>
      ctx.services.consents.wait(secret, {
        wait,
        address: ctx.scope.address(),
        signal: ctx.connection.signal,
      }),
    ),
});
