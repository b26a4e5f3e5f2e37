/** The first minutes of a sign-in that was added by a code, in which it has fewer rights (docs/interface.md §4.1.6). */

import { pastTrialNow } from "../../db/sessions.ts";
import type { Store } from "../../db/store.ts";
import type { Clock } from "../clock.ts";
import { fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { AccountCaller, Caller } from "../model/caller.ts";

/** A sign-in that was added after this moment is in its trial at `now` (both epoch seconds). */
export const trialSince = (now: number): number => now - LIMITS.session_trial;

const TRIAL_MINUTES = LIMITS.session_trial / 60;

/** Throws `403 forbidden` for what a sign-in may not do in its trial. */
export function failInTrial(): never {
  fail("forbidden", {
    detail: `This sign-in was added less than ${TRIAL_MINUTES} minutes ago. For now it can't change other sign-ins, add devices, agents or webhooks, add, change or delete channels, approve programs, or delete agents or the account. Use a device that was signed in earlier.`,
  });
}

interface TrialCheckDeps {
  readonly store: Pick<Store, "read">;
  readonly clock: Pick<Clock, "now">;
  readonly assertLive: (caller: Caller) => Promise<void>;
}

/** A check that throws `403 forbidden` in the trial of the caller's sign-in, `401 unauthorized` once that has ended. */
export function createTrialCheck({ store, clock, assertLive }: TrialCheckDeps) {
  return async (caller: AccountCaller): Promise<void> => {
    const { account_id, credential } = caller;
    const values = { account_id, credential, trial_since: trialSince(clock.now()) };
    const [row] = await store.read(pastTrialNow(values));
    if (row![0] === 1) return;
    await assertLive(caller);
    failInTrial();
  };
}
