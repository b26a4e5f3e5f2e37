/** Banner for new sign-ins, above every view. */

import { ShieldAlert } from "lucide-react";
import { Suspense, useState, useSyncExternalStore } from "react";
import type { SignIn } from "../../state/api.ts";
import { useNow } from "../../ui/use-now.ts";
import { useSession } from "../use-store.ts";
import { EndSignIn } from "../views.ts";
import { ConfirmButton } from "./confirm-sign-in.tsx";
import { isUnconfirmed, useTrialEnd } from "./trial.tsx";

/**
 * Shows the sign-ins that are new to this browser, each until the person says whether it was them.
 * That ends its trial where this browser may do so.
 */
export function NewSignIns() {
  const { signIns } = useSession();
  const unknown = useSyncExternalStore(signIns.subscribe, signIns.unknown);
  const in_trial = useTrialEnd() !== null;
  const now = useNow();
  const [ending, setEnding] = useState<SignIn | null>(null);
  return (
    <>
      <div role="status">
        {unknown.map((one) => (
          <div
            key={one.id}
            className="flex flex-wrap items-center gap-x-3 border-warn/30 border-b bg-warn-soft py-1 pr-2 pl-4 text-warn md:pl-10"
          >
            <ShieldAlert aria-hidden className="size-5 shrink-0" />
            <p className="said min-w-40 flex-1 py-1 font-medium text-sm">
              <bdi>{one.label}</bdi> {SIGNED_IN[one.made_by]}
              {one.address !== null && ` from ${one.address}`}.
            </p>
            <span className="flex items-center">
              {!in_trial && (
                <button
                  type="button"
                  aria-label={`Sign it out, ${one.label}`}
                  onClick={() => setEnding(one)}
                  className={ACTION}
                >
                  Sign it out
                </button>
              )}
              {!in_trial && isUnconfirmed(one, now) ? (
                <ConfirmButton signIn={one} className="text-sm" />
              ) : (
                <button
                  type="button"
                  aria-label={`OK, ${one.label} is mine`}
                  onClick={() => signIns.know(one.id)}
                  className={ACTION}
                >
                  OK
                </button>
              )}
            </span>
          </div>
        ))}
      </div>
      <Suspense>{ending && <EndSignIn signIn={ending} onClose={() => setEnding(null)} />}</Suspense>
    </>
  );
}

const SIGNED_IN: Readonly<Record<SignIn["made_by"], string>> = {
  account: "signed in to your account",
  pairing: "signed in to your account with a code",
  administrator: "was signed in to your account by the administrator",
  recovery: "signed in to your account with your recovery code",
};

const ACTION =
  "touch inline-flex items-center justify-center rounded-lg px-3 font-medium text-sm hover:underline";
