/**
 * The trial, in which a browser that was added by a code has fewer rights
 * (docs/interface.md §4.1.6).
 */

import { timeOf } from "../ui/time.ts";
import { useNow } from "../ui/use-now.ts";
import { useSignIns } from "./end-sign-in.tsx";

/** When this browser's trial ends, epoch seconds; null outside of a trial. */
export function useTrialEnd(): number | null {
  const all = useSignIns();
  const now = useNow();
  const ends = all?.find(({ current }) => current)?.trial_ends_at ?? null;
  return ends !== null && ends > now && all!.length > 1 ? ends : null;
}

/**
 * Says why something is not offered. `what` continues "it can't". Renders nothing outside of a
 * trial.
 */
export function TrialNote({ what }: { what: string }) {
  const ends = useTrialEnd();
  if (ends === null) return null;
  return (
    <p className="text-soft text-sm">
      This browser was added just now. Until {timeOf(ends)}, it can't {what}. Use a device that was
      signed in earlier.
    </p>
  );
}
