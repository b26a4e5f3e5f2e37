/** The way in: the token that the server was started with. */

import { type FormEvent, useState } from "react";
import { Logo } from "../person/logo.tsx";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { Problem } from "../ui/parts.tsx";
import { useAction } from "../ui/use-action.ts";
import { createAdminApi } from "./api.ts";
import { Title } from "./title.tsx";

interface SignInProps {
  /** True: the token that this tab had is not valid any more. */
  readonly refused: boolean;
  readonly onEnter: (token: string) => void;
}

export function SignIn({ refused, onEnter }: SignInProps) {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState(false);
  const entry = useAction();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const token = text.trim();
    // What a header could not hold.
    const none = !/^[!-~]+$/.test(token);
    setWrong(none);
    if (none) return;
    void entry.run(async () => {
      await createAdminApi(token).jobs.query();
      onEnter(token);
    });
  };
  return (
    <main className="mx-auto flex min-h-dvh max-w-md flex-col justify-center px-5 py-10">
      <Logo className="size-14" />
      <Title className="mt-6 font-semibold text-3xl tracking-tight" />
      <p className="mt-2 mb-8 text-lg text-soft leading-snug">
        How the service does. Nothing of what people and agents write is shown here.
      </p>
      {refused && (
        <p role="status" className="mb-6 rounded-xl bg-sunken px-4 py-3 text-soft">
          The server does not take this tab's token any more.
        </p>
      )}
      <form onSubmit={submit} className="space-y-3">
        <TextField
          label="Admin token"
          name="token"
          type="password"
          value={text}
          onChange={({ target }) => setText(target.value)}
          error={wrong ? "is no token: it has no spaces and only ASCII characters" : undefined}
          hint="The server's ADMIN_TOKEN. It is kept until this tab is closed."
        />
        {entry.fault && <Problem>{entry.fault.message}</Problem>}
        <Button type="submit" look="primary" className="w-full" busy={entry.busy}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
