/** The first view: a new account, or a token that the person has. */

import { ArrowRight } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import { createApi } from "../state/api.ts";
import { type Farewell, lastFarewell, signIn, welcomed } from "../state/session.ts";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { Problem } from "../ui/parts.tsx";
import { Secret } from "../ui/secret.tsx";
import { useAction } from "../ui/use-action.ts";
import { Logo } from "./logo.tsx";

const FAREWELLS: Readonly<Record<Farewell, string | null>> = {
  never: null,
  "signed out": "You are signed out. Nothing of the account is left in this browser.",
  deleted: "The account is deleted, and all that was in it.",
  refused: "This browser's token is not valid any more, so you were signed out.",
};

function Frame({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="mx-auto flex min-h-dvh max-w-md flex-col justify-center px-5 py-10">
      <Logo className="size-14" />
      <h1 tabIndex={-1} className="mt-6 font-semibold text-3xl tracking-tight">
        {title}
      </h1>
      {children}
    </main>
  );
}

export function Welcome() {
  const creation = useAction();
  const farewell = FAREWELLS[lastFarewell()];
  const create = () =>
    creation.run(async () => {
      const { token, account } = await createApi(null).accounts.create.mutate({});
      // Kept at once: nobody gets into the account without it.
      signIn(token, account.id, true);
    });
  return (
    <Frame title="Relay">
      <p className="mt-2 text-lg text-soft leading-snug">
        Your agents ask, you answer. Their tasks in one place, as they happen.
      </p>
      {farewell && (
        <p role="status" className="mt-6 rounded-xl bg-sunken px-4 py-3 text-soft">
          {farewell}
        </p>
      )}
      <div className="mt-8 space-y-3">
        <Button
          look="primary"
          className="w-full"
          busy={creation.busy}
          onClick={() => void create()}
        >
          Create account
        </Button>
        {creation.fault && (
          <Problem>
            {creation.fault.code === "unanswered"
              ? "The server cannot be reached. Try again."
              : creation.fault.message}
          </Problem>
        )}
      </div>
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
        label="I have a token"
        name="token"
        type="password"
        placeholder="mca_…"
        value={text}
        onChange={({ target }) => setText(target.value)}
        hint="You find it in the app or another browser, under Account."
        error={wrong ? "is no account token: they begin with mca_" : undefined}
      />
      {entry.fault && <Problem>{entry.fault.message}</Problem>}
      <Button type="submit" className="w-full" busy={entry.busy}>
        Sign in
      </Button>
    </form>
  );
}

/** What the person has to know of an account that was made just now. */
export function Created({ token }: { token: string }) {
  return (
    <Frame title="Your account is ready">
      <p className="mt-2 mb-5 text-soft">
        This token is the only way into it: there is no name and no password. Keep it where you keep
        passwords. You find it again under Account while you are signed in here.
      </p>
      <Secret text={token} name="account token" />
      <Button look="primary" className="mt-5 w-full" onClick={welcomed}>
        Continue
        <ArrowRight aria-hidden className="size-4.5" />
      </Button>
    </Frame>
  );
}
