/** The confirmation before this browser is signed out: what ends with its sign-in, and the ways back in. */

import { KeyRound } from "lucide-react";
import { useState, useSyncExternalStore } from "react";
import { newKeySecret, onNewKeySecret } from "../../state/new-key-secrets.ts";
import { pushChannel } from "../../state/push-channel.ts";
import { signOut } from "../../state/session.ts";
import { Confirm } from "../../ui/dialog.tsx";
import { Switch } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { useSignIns } from "../use-store.ts";
import { useSavedCode } from "./recovery/use-saved-code.ts";
import { UnsentWarning } from "./sign-out-here.tsx";
import { useTrialEnd } from "./trial.tsx";

export function SignOut({ open, onClose }: { open: boolean; onClose: () => void }) {
  const all = useSignIns();
  const new_secret = useSyncExternalStore(onNewKeySecret, newKeySecret);
  const { at: code_at } = useSavedCode(open ? 1 : null);
  /** True if this is the only sign-in. */
  const last = all?.every(({ current }) => current) ?? true;
  const own = all?.find(({ current }) => current);
  const in_trial = useTrialEnd() !== null;
  /** In its trial, a sign-in takes along the code that it got (§5.13.5). */
  const loses_code = in_trial && own?.made_by === "recovery";
  const has_code = !loses_code && typeof code_at === "number";
  /** Whether the only sign-in's token is kept valid as a way back in; not offered where a code is one. */
  const [keeps, setKeeps] = useState(true);
  const confirm = async () => {
    const done = await signOut(!last ? "sign-in" : keeps && !has_code ? "nothing" : "last sign-in");
    if (done) return;
    toast("Your token was just replaced. Copy the new one before you sign out.", { bad: true });
  };
  return (
    <Confirm
      open={open}
      onClose={onClose}
      title="Sign out of this browser?"
      action="Sign out"
      onConfirm={confirm}
    >
      <UnsentWarning />
      {!last ? (
        <p>
          {
            "This browser's token stops working, even where you saved it. To sign in again, add this browser from another device"
          }
          {has_code && ", or use your recovery code"}.
        </p>
      ) : has_code ? (
        <Warning>
          You aren't signed in anywhere else, so you need your recovery code to sign in again. Make
          sure you've saved it. This browser's token stops working.
        </Warning>
      ) : (
        <LastSignIn keeps={keeps} onKeeps={setKeeps} />
      )}
      <ul className="mt-3 list-disc space-y-1 ps-5">
        {new_secret && <li>Save the new agent's key first: it's shown only once.</li>}
        {loses_code && <li>The recovery code that this browser got stops working.</li>}
        {pushChannel() && <li>Notifications in this browser stop.</li>}
        <li>What you've typed here and not sent is deleted.</li>
        <li>
          {last
            ? "Your agents keep their access."
            : "Your other browsers stay signed in, and your agents keep their access."}
        </li>
      </ul>
    </Confirm>
  );
}

const Warning = ({ children }: { children: string }) => (
  <p className="flex gap-2">
    <KeyRound aria-hidden className="mt-0.5 size-5 shrink-0" />
    <span>{children}</span>
  </p>
);

interface LastSignInProps {
  readonly keeps: boolean;
  readonly onKeeps: (keeps: boolean) => void;
}

/** Says what signing out means for the only sign-in of an account without a recovery code. */
function LastSignIn({ keeps, onKeeps }: LastSignInProps) {
  return (
    <>
      <Warning>
        {keeps
          ? "You aren't signed in anywhere else and have no recovery code, so you need your token to sign in again. Make sure you've saved it, or make a recovery code first."
          : "You aren't signed in anywhere else, so only this server's administrator can let you back in."}
      </Warning>
      <div className="mt-4">
        <Switch
          label="Keep the token valid"
          hint="You can use it to sign in again."
          checked={keeps}
          onChange={({ target }) => onKeeps(target.checked)}
        />
      </div>
    </>
  );
}
