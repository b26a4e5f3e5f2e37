/** The form to sign in with a token. */

import { type FormEvent, useState } from "react";
import { Button } from "./button.tsx";
import { TextField } from "./field.tsx";
import { Problem } from "./parts.tsx";
import { useAction } from "./use-action.ts";

interface TokenFormProps {
  readonly label: string;
  readonly placeholder?: string;
  readonly hint: string;
  /** Matches tokens; for another text, `error` is shown. */
  readonly pattern: RegExp;
  readonly error: string;
  readonly variant?: "primary" | "plain";
  readonly signIn: (token: string) => Promise<void>;
}

export function TokenForm({ pattern, error, variant = "plain", signIn, ...field }: TokenFormProps) {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState(false);
  const { busy, fault, run } = useAction();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const token = text.trim();
    setWrong(!pattern.test(token));
    if (pattern.test(token)) void run(() => signIn(token));
  };
  return (
    <form onSubmit={submit} className="space-y-3">
      <TextField
        {...field}
        name="token"
        type="password"
        value={text}
        onChange={({ target }) => setText(target.value)}
        error={wrong ? error : undefined}
      />
      {fault && <Problem>{fault.message}</Problem>}
      <Button type="submit" variant={variant} className="w-full" busy={busy}>
        Sign in
      </Button>
    </form>
  );
}
