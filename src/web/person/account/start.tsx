/** The view of a start link: lets the person create the first account of the server. */

import { type Fault, retryMessage } from "../../state/api.ts";
import { createAccount } from "../../state/new-account.ts";
import { startCode } from "../../state/start-code.ts";
import { Button } from "../../ui/button.tsx";
import { Problem } from "../../ui/parts.tsx";
import { useAction } from "../../ui/use-action.ts";
import { Frame } from "../frame.tsx";

export function Start({ code }: { code: string }) {
  const creation = useAction();
  return (
    <Frame title="Create the first account">
      <p className="mt-2 text-lg text-soft leading-snug">
        This server has no account yet, and this link creates its only one. Continue if you started
        this server.
      </p>
      <div className="mt-8 space-y-3">
        <Button
          variant="primary"
          className="w-full"
          busy={creation.busy}
          onClick={() => void creation.run(() => createAccount(code))}
        >
          Create account
        </Button>
        {creation.fault && <Problem>{messageOf(creation.fault)}</Problem>}
        <Button className="w-full" onClick={startCode.forget}>
          Sign in instead
        </Button>
      </div>
    </Frame>
  );
}

function messageOf(fault: Fault): string {
  if (fault.code === "account_creation_off") return "This server already has its first account.";
  if (fault.fields.start_code === undefined) return retryMessage(fault);
  return "This link isn't valid. Open the address that Relay shows in its terminal.";
}
