/** The first view: create an account, or sign in with a token. */

import { ArrowRight } from "lucide-react";
import { type FormEvent, useState } from "react";
import { createApi } from "../state/api.ts";
import { confirmTokenSaved, lastSignOut, type SignOutReason, signIn } from "../state/session.ts";
import { needsStartCode } from "../state/start-code.ts";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { Problem } from "../ui/parts.tsx";
import { Secret } from "../ui/secret.tsx";
import { useAction } from "../ui/use-action.ts";
import { Frame } from "./frame.tsx";

const SIGN_OUT_MESSAGES: Readonly<Record<SignOutReason, string | null>> = {
  never: null,
  "signed out": "You're signed out. Your account data was removed from this browser.",
  deleted: "Your account and all its data were deleted.",
  refused: "You were signed out because your token is no longer valid.",
};

export function Welcome() {
  const creation = useAction();
  const message = SIGN_OUT_MESSAGES[lastSignOut()];
  const create = () =>
    creation.run(async () => {
      const { token, account } = await createApi(null).accounts.create.mutate({});
      // Stored at once: without the token the account is lost.
      signIn(token, account.id, true);
    });
  return (
    <Frame title="Relay">
      <p className="mt-2 text-lg text-soft leading-snug">
        Your agents ask, you answer. Follow all their tasks in one place.
      </p>
      {message && (
        <p role="status" className="mt-6 rounded-xl bg-sunken px-4 py-3 text-soft">
          {message}
        </p>
      )}
      {needsStartCode() ? (
        <p className="mt-8 text-soft">
          To create the first account, open the address that Relay shows in its terminal.
        </p>
      ) : (
        <div className="mt-8 space-y-3">
          <Button
            variant="primary"
            className="w-full"
            busy={creation.busy}
            onClick={() => void create()}
          >
            Create account
          </Button>
          {creation.fault && (
            <Problem>
              {creation.fault.code === "unanswered"
                ? "Couldn't reach the server. Try again."
                : creation.fault.message}
            </Problem>
          )}
        </div>
      )}
      <div className="my-7 flex items-center gap-4 text-faint text-sm">
        <span aria-hidden className="h-px flex-1 bg-line" />
        or
        <span aria-hidden className="h-px flex-1 bg-line" />
      </div>
      <TokenForm />
    </Frame>
  );
}

function TokenForm() {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState(false);
  const entry = useAction();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const token = text.trim();
    setWrong(!/^mca_[\w-]+$/.test(token));
    if (!/^mca_[\w-]+$/.test(token)) return;
    void entry.run(async () => {
      const { id } = await createApi(token).accounts.get.query({});
      signIn(token, id);
    });
  };
  return (
    <form onSubmit={submit} className="space-y-3">
      <TextField
        label="Account token"
        name="token"
        type="password"
        placeholder="mca_…"
        value={text}
        onChange={({ target }) => setText(target.value)}
        hint="Find it under Account in the app or another browser."
        error={wrong ? "isn't an account token: it must start with mca_" : undefined}
      />
      {entry.fault && <Problem>{entry.fault.message}</Problem>}
      <Button type="submit" className="w-full" busy={entry.busy}>
        Sign in
      </Button>
    </form>
  );
}

/** Shows the token of a new account. */
export function Created({ token }: { token: string }) {
  return (
    <Frame title="Your account is ready">
      <p className="mt-2 mb-5 text-soft">
        This token is the only way to sign in: there's no username or password. Save it in your
        password manager. While you're signed in here, you can find it under Account.
      </p>
      <Secret text={token} name="account token" />
      <Button variant="primary" className="mt-5 w-full" onClick={confirmTokenSaved}>
        Continue
        <ArrowRight aria-hidden className="size-4.5" />
      </Button>
    </Frame>
  );
}
