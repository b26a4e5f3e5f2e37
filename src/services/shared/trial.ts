/** The trial: the first minutes of a sign-in that was added by a code, in which it has fewer rights (§4.1.6). */

import { pastTrialNow } from "../../../db/sessions.ts";
import { fail } from "../../errors.ts";
import { LIMITS } from "../../limits.ts";
import type { AccountCaller, CredentialMaker } from "../../model/caller.ts";
import type { ServiceDeps } from "./deps.ts";

/** A sign-in added after this time is in its trial at `now` (both epoch seconds). */
export const trialSince = (now: number): number => now - LIMITS.session_trial;

const TRIAL_MINUTES = LIMITS.session_trial / 60;

interface TrialFacts {
  readonly made_by: CredentialMaker;
  readonly created_at: number;
  readonly confirmed_at: number | null;
}

/** True for a sign-in in its trial, if its account has others; `isPastTrial` in db/sessions.ts decides the same. */
export const isInTrial = (
  { made_by, created_at, confirmed_at }: TrialFacts,
  trial_since: number,
): boolean => made_by !== "account" && confirmed_at === null && created_at > trial_since;

/** Throws `403 forbidden` for what a sign-in may not do in its trial. */
export function failInTrial(): never {
  fail("forbidden", {
    detail: `This sign-in was added less than ${TRIAL_MINUTES} minutes ago and isn't confirmed yet. For now it can't change settings, other sign-ins, or devices, channels, agents and webhooks that aren't its own, approve programs, or delete anything. Confirm it on a device that was signed in earlier, or use that device.`,
  });
}

/** Returns a check that throws `403 forbidden` in the caller's trial, `401 unauthorized` for an ended sign-in. */
export function createTrialCheck({
  store,
  clock,
  assertLive,
}: Pick<ServiceDeps, "store" | "clock" | "assertLive">) {
  return async (caller: AccountCaller): Promise<void> => {
    const { account_id, credential } = caller;
    const values = { account_id, credential, trial_since: trialSince(clock.now()) };
    const [row] = await store.read(pastTrialNow(values));
    if (row![0] === 1) return;
    await assertLive(caller);
    failInTrial();
  };
}
