/** App attestation: hands out challenges, and lets an attempt through once (docs/interface.md 4.2). */

import { insertChallenge, useChallenge } from "../../db/challenges.ts";
import type { AttestationCheck } from "../auth/attestation.ts";
import { fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Log } from "../log.ts";
import { readAttempt } from "../model/attestation.ts";
import type { ServiceDeps } from "./deps.ts";

export type Attestations = ReturnType<typeof createAttestations>;

interface AttestationDeps extends Pick<ServiceDeps, "store" | "clock" | "ids"> {
  /** Null while the server requires no attestation. */
  readonly check: AttestationCheck | null;
  readonly log: Log;
}

export function createAttestations({ store, clock, ids, check, log }: AttestationDeps) {
  return {
    /** Works also while no attestation is required, so that an app need not know. */
    async challenge(): Promise<{ challenge: string; expires_at: number }> {
      const row = { challenge: ids.challenge(), expires_at: clock.now() + LIMITS.challenge_life };
      await store.write([insertChallenge(row)]);
      return row;
    },

    /**
     * Throws `403 attestation_required` or `403 attestation_invalid`. The challenge is used up
     * first, whatever comes of it: of two requests with the same one, one is refused unseen.
     */
    async admit(attestation: string | undefined): Promise<void> {
      if (!check) return;
      if (attestation === undefined) fail("attestation_required");
      const attempt = readAttempt(attestation);
      let reason = attempt ? null : "it is no attestation";
      if (attempt) {
        const now = clock.now();
        const [used] = await store.write([useChallenge({ challenge: attempt.challenge, now })]);
        reason =
          used!.changes > 0 ? check(attempt, now) : "the challenge is unknown, used or expired";
      }
      if (reason === null) return;
      log.info("attestation refused", { reason });
      fail("attestation_invalid");
    },
  };
}
