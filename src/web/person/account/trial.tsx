/**
 * The trial: at first, a browser that was added by a code has fewer rights (§4.1.6).
 */

import type { SignIn } from "../../state/api.ts";
import { timeOf } from "../../ui/time.ts";
import { useNow } from "../../ui/use-now.ts";
import { useSignIns } from "../use-store.ts";

/** When this browser's trial ends, in epoch seconds; null outside of a trial. */
export function useTrialEnd(): number | null {
  const all = useSignIns();
  const now = useNow();
  const ends = all?.find(({ current }) => current)?.trial_ends_at ?? null;
  return ends !== null && ends > now && all!.length > 1 ? ends : null;
}

/** True if another sign-in is in its trial at `now`, as far as this browser knows. */
export const isUnconfirmed = ({ current, trial_ends_at }: SignIn, now: number): boolean =>
  !current && trial_ends_at !== null && trial_ends_at > now;

/**
 * Says why something is not offered, and when it will be. `what` continues "it can't". Renders nothing
 * outside of a trial.
 */
export function TrialNote({ what }: { what: string }) {
  const ends = useTrialEnd();
  if (ends === null) return null;
  return (
    <p className="text-soft text-sm">
      This browser is new, so it can't {what} until {timeOf(ends)}. To allow it now, choose “It was
      me” on a device you signed in earlier.
    </p>
  );
}
