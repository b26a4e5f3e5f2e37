/** Asks before a sign-in that the server does not know is removed from this browser. */

import { leave } from "../../state/session.ts";
import { Confirm } from "../../ui/dialog.tsx";
import { useWaitingChanges } from "../use-change.ts";
import { useKeptAnswers, useSession, useStore } from "../use-store.ts";

export function UnsentWarning() {
  const { waitingChanges } = useSession();
  const answers = useKeptAnswers().filter(({ refused }) => refused === null).length;
  // While connected, the sign-out sends them.
  const live = useStore((store) => store.connection() === "live");
  useWaitingChanges();
  const changes = live ? 0 : waitingChanges.waiting().length;
  return (
    <>
      {answers > 0 && <Lost count={answers} what="answer" />}
      {changes > 0 && <Lost count={changes} what="change" />}
    </>
  );
}

function Lost({ count, what }: { count: number; what: "answer" | "change" }) {
  return (
    <p className="mb-3 font-medium text-danger">
      {count === 1
        ? `1 ${what} hasn't been sent yet. It's lost if you sign out now.`
        : `${count} ${what}s haven't been sent yet. They're lost if you sign out now.`}
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
