/** Procedures of pairing codes (§5.14). */

import { z } from "zod";
import { AccountToken } from "../src/model/account.ts";
import { Claimed, Pairing, PairingCode, PairingOffer } from "../src/model/pairing.ts";
import { Label } from "../src/model/text.ts";
import { account, open, router, routes } from "./trpc.ts";

const route = routes("Sign-ins");

export const pairings = router({
  create: account
    .meta({
      openapi: route("POST /v1/pairings", "createPairing", {
        summary: "Make a code by which another device signs in",
        description:
          "Valid once, for 5 minutes, to type or as a link for a QR code. An account has at most 5 open codes: a new one ends the oldest. A sign-in that was itself added less than 10 minutes ago gets `403`.",
      }),
      status: 201,
    })
    .input(z.strictObject({}).meta({ id: "PairingCreate" }))
    .output(Pairing)
    .mutation(({ ctx }) => ctx.services.pairings.create(ctx.caller, ctx.scope.linkBase())),

  lookup: open
    .meta({
      openapi: route("POST /v1/pairings/lookup", "readPairing", {
        summary: "See what a code leads to",
        description:
          "For the person to check before the code is used. Changes nothing; `404` for a code that cannot be used.",
      }),
      limit: "pairings",
      errors: ["not_found"],
    })
    .input(z.strictObject({ code: PairingCode }).meta({ id: "PairingReference" }))
    .output(PairingOffer)
    .mutation(({ ctx, input }) => ctx.services.pairings.lookUp(input.code)),

  claim: open
    .meta({
      openapi: route("POST /v1/pairings/claim", "claimPairing", {
        summary: "Sign in with a code",
        description:
          "Adds a sign-in to the account of the code, with a token that the client makes. Store the token before you send it: sent again with the same code and token, the request gets the same response.",
      }),
      status: 201,
      limit: "pairings",
      errors: ["not_found", "too_many_sessions"],
    })
    .input(
      z
        .strictObject({
          code: PairingCode,
          label: Label.exactOptional().meta({
            description: "Name of the device for the person, such as `Safari on iPhone`",
          }),
          token: AccountToken.meta({
            description:
              "The token of the new sign-in, which the client makes from 256 random bits",
          }),
        })
        .meta({ id: "PairingClaim" }),
    )
    .output(Claimed)
    .mutation(({ ctx, input }) => ctx.services.pairings.claim(input, ctx.scope.address())),
});
