/** The part of the account view about the recovery code: whether there is one, and a new one. */

import { LifeBuoy } from "lucide-react";
import { useState, useSyncExternalStore } from "react";
import {
  hasUnsavedCode,
  makeRecoveryCode,
  newRecoveryCode,
  onUnsavedCode,
} from "../../../state/recovery.ts";
import { Ago } from "../../../ui/ago.tsx";
import { Button } from "../../../ui/button.tsx";
import { Confirm } from "../../../ui/dialog.tsx";
import { Problem, Section } from "../../../ui/parts.tsx";
import { useAction } from "../../../ui/use-action.ts";
import { useSession, useStore } from "../../use-store.ts";
import { useTrialEnd } from "../trial.tsx";
import { useSavedCode } from "./use-saved-code.ts";

export function RecoverySettings() {
  const { api } = useSession();
  const loads = useStore((store) => store.loads());
  const in_trial = useTrialEnd() !== null;
  // Ending a sign-in can end the code.
  const unsaved = useSyncExternalStore(onUnsavedCode, hasUnsavedCode);
  const { at, fault } = useSavedCode(`${loads} ${unsaved}`);
  const making = useAction();
  const [replacing, setReplacing] = useState(false);
  const make = async () =>
    newRecoveryCode.set({ code: await makeRecoveryCode(api), sign_in: null });
  return (
    <Section title="Recovery code">
      <p className="mb-3 text-soft">
        {at ? (
          <>
            {"The last one was made "}
            <Ago at={at} />
            {". It signs you in, once, if you lose all your browsers and phones."}
          </>
        ) : (
          "A code to keep where you keep passwords, or on paper: it signs you in, once, if you lose all your browsers and phones."
        )}
      </p>
      {at === null && (
        <p className="mb-3 font-medium text-warn">
          You haven't saved one. If you lose them, only this server's administrator can let you back
          in.
        </p>
      )}
      {(fault ?? making.fault) && <Problem>{(fault ?? making.fault)!.message}</Problem>}
      {!in_trial && at !== undefined && (
        <Button
          busy={making.busy}
          onClick={() => (at === null ? void making.run(make) : setReplacing(true))}
        >
          <LifeBuoy aria-hidden className="size-4.5" />
          {at === null ? "Make a recovery code" : "Replace the recovery code"}
        </Button>
      )}
      <Confirm
        open={replacing}
        onClose={() => setReplacing(false)}
        title="Replace your recovery code?"
        action="Replace"
        onConfirm={make}
      >
        The code that you saved stops working, and a new one is shown for you to save.
      </Confirm>
    </Section>
  );
}
