/** Sign-in with the admin token. */

import { Logo } from "../person/logo.tsx";
import { TokenForm } from "../ui/token-form.tsx";
import { createAdminApi } from "./api.ts";
import { Title } from "./title.tsx";

export function SignIn({ onEnter }: { onEnter: (token: string) => void }) {
  return (
    <main className="mx-auto flex min-h-dvh max-w-md flex-col justify-center px-5 py-10">
      <Logo className="size-14" />
      <Title className="mt-6 font-semibold text-3xl tracking-tight" />
      <p className="mt-2 mb-8 text-lg text-soft leading-snug">
        Who uses this server, and whether all is well. Nothing that people or agents write is shown
        here.
      </p>
      <TokenForm
        label="Admin token"
        hint="The server's ADMIN_TOKEN. It's kept until you close this tab."
        // A header cannot contain other characters.
        pattern={/^[!-~]+$/}
        error="isn't a token: use only ASCII characters, without spaces"
        variant="primary"
        signIn={async (token) => {
          await createAdminApi(token).jobs.query();
          onEnter(token);
        }}
      />
    </main>
  );
}
