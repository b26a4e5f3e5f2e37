/** Procedures of app attestation (§4.2, §5.2.6). */

import { z } from "zod";
import { Timestamp } from "../src/model/text.ts";
import { open, router, routes } from "./trpc.ts";

const route = routes("Accounts");

export const attest = router({
  challenge: open
    .meta({
      openapi: route("POST /v1/attest/challenge", "createAttestationChallenge", {
        summary: "Get a challenge for app attestation",
        description:
          "Valid for one `POST /v1/accounts`, within five minutes. Give the device the SHA-256 digest of the challenge's text (UTF-8), exactly as returned, as `clientDataHash`.",
      }),
      body_optional: true,
      limit: "challenges",
    })
    .input(z.strictObject({}).meta({ id: "AttestationChallengeCreate" }))
    .output(
      z
        .object({ challenge: z.string(), expires_at: Timestamp })
        .meta({ id: "AttestationChallenge" }),
    )
    .mutation(({ ctx }) => ctx.services.attestations.challenge()),
});
