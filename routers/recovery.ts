/** Procedures of recovery codes (§5.2.7, §5.13.5). */

import { z } from "zod";
import { AccountToken } from "../src/model/account.ts";
import {
  Recovered,
  RecoveryCode,
  RecoveryCodeInput,
  RecoveryCodeState,
} from "../src/model/recovery-code.ts";
import { Label } from "../src/model/text.ts";
import { account, open, router, routes } from "./trpc.ts";

const ofAccount = routes("Accounts");
const ofSignIns = routes("Sign-ins");

export const recovery = router({
  get: account
    .meta({
      openapi: ofAccount("GET /v1/account/recovery-code", "getRecoveryCode", {
        summary: "See whether the account has a recovery code",
        description: "When the code was made. The code itself cannot be read again.",
      }),
    })
    .input(z.strictObject({}))
    .output(RecoveryCodeState)
    .query(({ ctx }) => ctx.services.recovery.read(ctx.caller)),

  replace: account
    .meta({
      openapi: ofAccount("POST /v1/account/recovery-code", "replaceRecoveryCode", {
        summary: "Make a recovery code; an earlier one ends at once",
        description:
          "A code that signs in once, also when every sign-in has ended. Only this response has it. If the response is lost, make another one. A sign-in that was itself added less than 10 minutes ago gets `403`.",
      }),
      status: 201,
      body_optional: true,
    })
    .input(z.strictObject({}).meta({ id: "RecoveryCodeCreate" }))
    .output(RecoveryCode)
    .mutation(({ ctx }) => ctx.services.recovery.replace(ctx.caller)),

  claim: open
    .meta({
      openapi: ofSignIns("POST /v1/sessions/recover", "claimRecoveryCode", {
        summary: "Sign in with a recovery code",
        description:
          "Adds a sign-in to the account of the code, with a token that the client makes, and replaces the code. Store the token before you send it: sent again with the same code and token, the request gets the same response, with the same new code. A code gets `403` while its account is blocked, and while the sign-in that got it is less than 10 minutes old and unconfirmed.",
      }),
      status: 201,
      limit: "pairings",
      errors: ["forbidden", "not_found", "too_many_sessions"],
    })
    .input(
      z
        .strictObject({
          code: RecoveryCodeInput,
          label: Label.exactOptional().meta({
            description: "Name of the device for the person, such as `Safari on iPhone`",
          }),
          token: AccountToken.meta({
            description:
              "The token of the new sign-in, which the client makes from 256 random bits",
          }),
        })
        .meta({ id: "SessionRecover" }),
    )
    .output(Recovered)
    .mutation(({ ctx, input }) => ctx.services.recovery.recover(input, ctx.scope.address())),
});
