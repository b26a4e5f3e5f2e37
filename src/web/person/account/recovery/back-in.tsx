/** The form to sign in with a recovery code, or with an account token. */

import { type FormEvent, useState } from "react";
import { createApi, type Fault, retryMessage } from "../../../state/api.ts";
import { recover, recoveryCodeIn, unfinishedCode } from "../../../state/recovery.ts";
import { signIn } from "../../../state/session.ts";
import { Button } from "../../../ui/button.tsx";
import { TextField } from "../../../ui/field.tsx";
import { Problem } from "../../../ui/parts.tsx";
import { useAction } from "../../../ui/use-action.ts";
import { NO_RECOVERY_CODE } from "../../words.ts";

async function signInWith(token: string): Promise<void> {
  const { id } = await createApi(token).accounts.get.query({});
  signIn(token, id);
}

export function BackInForm() {
  const [unfinished] = useState(unfinishedCode);
  const [text, setText] = useState(unfinished ?? "");
  const [wrong, setWrong] = useState(false);
  const { busy, fault, run } = useAction();
  const token = text.trim();
  const is_token = /^mca_[\w-]+$/.test(token);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const code = recoveryCodeIn(text);
    setWrong(!is_token && code === null);
    if (busy) return;
    if (is_token) void run(() => signInWith(token));
    else if (code !== null) void run(() => recover(code));
  };
  return (
    <form onSubmit={submit} className="space-y-3">
      <TextField
        label="Recovery code or account token"
        name="recovery"
        required
        // A code is typed from paper, so it can be read; a token is pasted.
        type={token.startsWith("mca_") ? "password" : "text"}
        dir="ltr"
        autoComplete="off"
        autoCapitalize="none"
        autoCorrect="off"
        spellCheck={false}
        value={text}
        onChange={({ target }) => setText(target.value)}
        hint={
          unfinished === null
            ? "You saved it when you created the account, or later under Account."
            : "Signing in with this code didn't finish. It's safe to try again."
        }
        error={wrong ? WRONG : undefined}
      />
      {fault && <Problem>{messageOf(fault)}</Problem>}
      <Button type="submit" className="w-full" busy={busy}>
        Sign in
      </Button>
    </form>
  );
}

const WRONG = "isn't a recovery code (8 groups of 4 characters) or an account token (mca_…)";

function messageOf(fault: Fault): string {
  if (fault.code !== "not_found") return retryMessage(fault);
  return NO_RECOVERY_CODE;
}
