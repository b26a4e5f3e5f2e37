/** Confirms another device, which then has all rights (§5.13.4). */

import { faultOf, type SignIn } from "../../state/api.ts";
import { Button } from "../../ui/button.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";
import { useNow } from "../../ui/use-now.ts";
import { useSession } from "../use-store.ts";
import { isUnconfirmed, useTrialEnd } from "./trial.tsx";

/** True if this browser may confirm the sign-in: that is in its trial, and this one is not. */
export function useMayConfirm(signIn: SignIn | null): boolean {
  const in_trial = useTrialEnd() !== null;
  const now = useNow();
  return signIn !== null && !in_trial && isUnconfirmed(signIn, now);
}

interface ConfirmButtonProps {
  readonly signIn: SignIn;
  readonly variant?: "primary" | "plain";
  readonly className?: string;
}

export function ConfirmButton({ signIn, variant = "plain", className }: ConfirmButtonProps) {
  const { api, signIns } = useSession();
  const { busy, run } = useAction();
  const { id, label } = signIn;
  const confirm = () =>
    run(async () => {
      try {
        signIns.put(await api.sessions.confirm.mutate({ session_id: id }));
      } catch (error) {
        toast(faultOf(error).message, { bad: true });
        return;
      }
      signIns.know(id);
      toast(`${label} has full access now`, { href: "#/account" });
    });
  return (
    <Button
      variant={variant}
      className={className}
      busy={busy}
      aria-label={`It was me, ${label}`}
      onClick={() => void confirm()}
    >
      It was me
    </Button>
  );
}
