/** Asks before a sign-in that the server does not know is removed from this browser. */

import { leave } from "../../state/session.ts";
import { Confirm } from "../../ui/dialog.tsx";
import { useKeptAnswers } from "../use-store.ts";

export function UnsentWarning() {
  const count = useKeptAnswers().filter(({ refused }) => refused === null).length;
  if (count === 0) return null;
  return (
    <p className="mb-3 font-medium text-danger">
      {count === 1
        ? "1 answer hasn't been sent yet. It's lost if you sign out now."
        : `${count} answers haven't been sent yet. They're lost if you sign out now.`}
    </p>
  );
}

export function SignOutHere({ onClose }: { onClose: () => void }) {
  return (
    <Confirm
      open
      onClose={onClose}
      title="Sign out of this browser?"
      action="Sign out"
      onConfirm={() => leave("signed out")}
    >
      <UnsentWarning />
      <p>
        This removes the token and the account's data from this browser. If the server gets its data
        back, you need your recovery code, a saved token or another device to sign in again.
      </p>
    </Confirm>
  );
}
