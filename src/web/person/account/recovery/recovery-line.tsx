/** The line that reminds the person of a recovery code that was shown and not saved. */

import { LifeBuoy } from "lucide-react";
import { useEffect, useState, useSyncExternalStore } from "react";
import {
  hasUnsavedCode,
  makeRecoveryCode,
  newRecoveryCode,
  onUnsavedCode,
} from "../../../state/recovery.ts";
import { useAction } from "../../../ui/use-action.ts";
import { useSession, useStore } from "../../use-store.ts";
import { useTrialEnd } from "../trial.tsx";
import { useSavedCode } from "./use-saved-code.ts";

/** Goes only with the view, and appears above questions only with it, so that it moves no button. */
export function RecoveryLine() {
  const { api } = useSession();
  const unsaved = useSyncExternalStore(onUnsavedCode, hasUnsavedCode);
  const waiting = useStore((store) => store.pending().length > 0);
  const [shown, setShown] = useState(unsaved);
  useEffect(() => {
    if (unsaved && !waiting) setShown(true);
  }, [unsaved, waiting]);
  const loads = useStore((store) => store.loads());
  const in_trial = useTrialEnd() !== null;
  const { busy, fault, run } = useAction();
  // Another browser may have made a code since.
  const { at } = useSavedCode(shown && loads > 0 ? loads : null);
  if (!shown || in_trial) return null;
  const make = async () =>
    newRecoveryCode.set({ code: await makeRecoveryCode(api), sign_in: null });
  return (
    <p className="mb-4 flex items-start gap-2 text-soft text-sm">
      <LifeBuoy aria-hidden className="mt-0.5 size-4 shrink-0" />
      <span>
        {at
          ? "You have a recovery code now. "
          : "You haven't saved a recovery code. If you lose this browser, you can't get back in. "}
        {!at && (
          <button
            type="button"
            disabled={busy}
            onClick={() => void run(make)}
            className="min-h-6 font-medium text-accent underline"
          >
            Save a recovery code
          </button>
        )}
        {fault && <span role="alert">{` ${fault.message}`}</span>}
      </span>
    </p>
  );
}
