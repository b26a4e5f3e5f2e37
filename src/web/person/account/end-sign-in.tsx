/** Signs out another device. */

import type { SignIn } from "../../state/api.ts";
import { remindWithoutCode } from "../../state/recovery.ts";
import { Confirm } from "../../ui/dialog.tsx";
import { announceResult } from "../../ui/toast.tsx";
import { useSession } from "../use-store.ts";

/** The confirmation before another device is signed out; open while `signIn` is set. */
export function EndSignIn({ signIn, onClose }: { signIn: SignIn | null; onClose: () => void }) {
  const { api, signIns } = useSession();
  const end = async ({ id, label, made_by }: SignIn) => {
    await api.sessions.delete.mutate({ session_id: id });
    if (made_by === "recovery") await remindWithoutCode(api).catch(() => null);
    signIns.drop(id);
    announceResult(`Signed out ${label}`);
  };
  return (
    <Confirm
      open={signIn !== null}
      onClose={onClose}
      title={
        <>
          Sign out <bdi>{signIn?.label ?? "this device"}</bdi>?
        </>
      }
      action="Sign out"
      onConfirm={() => end(signIn!)}
    >
      It loses access immediately, and needs a new code to sign in again. If you don't know it,
      replace your recovery code too.
    </Confirm>
  );
}
