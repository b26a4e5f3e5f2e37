/** Procedures of accounts (§5.2). */

import { z } from "zod";
import { Account, AccountPatch, AccountToken, TokenInput } from "../src/model/account.ts";
import { Label } from "../src/model/text.ts";
import { account, open, router, routes } from "./trpc.ts";

const route = routes("Accounts");

export const accounts = router({
  create: open
    .meta({
      openapi: route("POST /v1/accounts", "createAccount", {
        summary: "Create an account",
        description:
          "Only this response has the token. A client that makes the token itself cannot lose the account: the same request again returns the same account.",
      }),
      status: 201,
      body_optional: true,
      limit: "accounts",
      errors: ["account_creation_off", "attestation_required", "attestation_invalid"],
    })
    .input(
      z
        .strictObject({
          attestation: z.string().exactOptional().meta({
            description:
              "base64url of the JSON `{challenge, key_id, object}`: the challenge as it came, the key's id and the App Attest attestation object, both base64. Ignored while the server requires no app attestation",
          }),
          start_code: z.string().exactOptional().meta({
            description:
              "The code in the address that Relay prints at its start. Required for the first account on a server that creates only one; ignored otherwise",
          }),
          label: Label.exactOptional().meta({
            description: "Name of the device for the person, such as `Firefox on Linux`",
          }),
          token: AccountToken.exactOptional().meta({
            description:
              "A token that the client makes from 256 random bits; if absent, the server makes one. Store it before you send it: if the response is lost, send the request again with it",
          }),
        })
        .meta({ id: "AccountCreate" }),
    )
    .output(z.object({ account: Account, token: z.string() }).meta({ id: "AccountWithToken" }))
    .mutation(({ ctx, input }) =>
      ctx.services.accounts.create(ctx.scope.address(), input, () => ctx.scope.log()),
    ),

  get: account
    .meta({
      openapi: route("GET /v1/account", "getAccount", {
        summary: "Read the account",
        description: "The account of the token, with its settings.",
      }),
    })
    .input(z.strictObject({}))
    .output(Account)
    .query(({ ctx }) => ctx.services.accounts.read(ctx.caller)),

  update: account
    .meta({
      openapi: route("PATCH /v1/account", "updateAccount", {
        summary: "Change the settings",
        description: "Changes the settings in the body.",
      }),
    })
    .input(AccountPatch)
    .output(Account)
    .mutation(({ ctx, input }) => ctx.services.accounts.update(ctx.caller, input)),

  replaceToken: account
    .meta({
      openapi: route("POST /v1/account/token", "replaceToken", {
        summary: "Get a new token; the old one ends at once",
        description:
          "Only this response has the token. A client that makes the new token itself cannot lose it: sent again with the new token, the request changes nothing.",
      }),
    })
    .input(TokenInput)
    .output(z.object({ token: z.string() }).meta({ id: "AccountToken" }))
    .mutation(({ ctx, input }) => ctx.services.accounts.replaceToken(ctx.caller, input.token)),

  delete: account
    .meta({
      openapi: route("DELETE /v1/account", "deleteAccount", {
        summary: "Delete the account and all its data",
        description:
          "Deletes its devices, keys, tasks, questions, inboxes and logs too. Every credential of the account is refused as soon as the response is sent.",
      }),
      status: 204,
    })
    .input(z.strictObject({}))
    .output(z.void())
    .mutation(({ ctx }) => ctx.services.accounts.remove(ctx.caller)),
});
