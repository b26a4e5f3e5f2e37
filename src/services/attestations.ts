/** App attestation: issues challenges, and checks each attempt once (§4.2). */

import { insertChallenge, useChallenge } from "../../db/challenges.ts";
import type { AttestationCheck } from "../auth/attestation.ts";
import { fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Log } from "../log.ts";
import { readAttempt } from "../model/attestation.ts";
import type { ServiceDeps } from "./shared/deps.ts";

export type Attestations = ReturnType<typeof createAttestations>;

interface AttestationDeps extends Pick<ServiceDeps, "store" | "clock" | "ids"> {
  /** Null while the server requires no attestation. */
  readonly check: AttestationCheck | null;
}

export function createAttestations({ store, clock, ids, check }: AttestationDeps) {
  return {
    /** Issues a challenge. Also works while no attestation is required, so that an app need not know. */
    async challenge(): Promise<{ challenge: string; expires_at: number }> {
      const row = { challenge: ids.challenge(), expires_at: clock.now() + LIMITS.challenge_life };
      await store.write([insertChallenge(row)]);
      return row;
    },

    /**
     * Checks an attestation: throws `403 attestation_required` or `403 attestation_invalid`. Uses up the challenge
     * first, so that only one of two requests with it can pass.
     */
    async admit(attestation: string | undefined, log: () => Log): Promise<void> {
      if (!check) return;
      if (attestation === undefined) fail("attestation_required");
      const attempt = readAttempt(attestation);
      let reason = attempt ? null : "it is not an attestation";
      if (attempt) {
        const now = clock.now();
        const [used] = await store.write([useChallenge({ challenge: attempt.challenge, now })]);
        reason =
          used!.changes > 0 ? check(attempt, now) : "the challenge is unknown, used or expired";
      }
      if (reason === null) return;
      log().info("attestation refused", { reason });
      fail("attestation_invalid");
    },
  };
}
