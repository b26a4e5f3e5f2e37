/** Sign-in with the admin token. */

import { type FormEvent, useState } from "react";
import { Logo } from "../person/logo.tsx";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { Problem } from "../ui/parts.tsx";
import { useAction } from "../ui/use-action.ts";
import { createAdminApi } from "./api.ts";
import { Title } from "./title.tsx";

interface SignInProps {
  readonly onEnter: (token: string) => void;
}

export function SignIn({ onEnter }: SignInProps) {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState(false);
  const entry = useAction();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const token = text.trim();
    // A header cannot contain other characters.
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
        Figures of the service. Nothing that people or agents write is shown here.
      </p>
      <form onSubmit={submit} className="space-y-3">
        <TextField
          label="Admin token"
          name="token"
          type="password"
          value={text}
          onChange={({ target }) => setText(target.value)}
          error={
            wrong ? "isn't a valid token: it has only ASCII characters and no spaces" : undefined
          }
          hint="The server's ADMIN_TOKEN. It's kept until you close this tab."
        />
        {entry.fault && <Problem>{entry.fault.message}</Problem>}
        <Button type="submit" variant="primary" className="w-full" busy={entry.busy}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
