/** The views of a start link, which creates the first account of the server, and of an invitation. */

import { type Fault, retryMessage } from "../../state/api.ts";
import { createAccount } from "../../state/new-account.ts";
import { inviteCode, startCode } from "../../state/start-code.ts";
import { Button } from "../../ui/button.tsx";
import { Problem } from "../../ui/parts.tsx";
import { useAction } from "../../ui/use-action.ts";
import { Frame } from "../frame.tsx";

export const Start = ({ code }: { code: string }) => (
  <Creation
    title="Create the first account"
    text="This server has no account yet, and this link creates its only one. Continue if you started this server."
    code={code}
    messageOf={messageOfStart}
    onLeave={startCode.forget}
  />
);

export const Invited = ({ code }: { code: string }) => (
  <Creation
    title="You're invited"
    text={`The administrator of ${location.host} invites you to Relay: your agents ask, you answer. The link works once, and creates an account for you in this browser.`}
    code={code}
    messageOf={messageOfInvitation}
    onLeave={inviteCode.forget}
  />
);

interface CreationProps {
  readonly title: string;
  readonly text: string;
  readonly code: string;
  readonly messageOf: (fault: Fault) => string;
  /** Called when the person wants to sign in instead. */
  readonly onLeave: () => void;
}

function Creation({ title, text, code, messageOf, onLeave }: CreationProps) {
  const creation = useAction();
  return (
    <Frame title={title}>
      <p className="said mt-2 text-lg text-soft leading-snug">{text}</p>
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
        <Button className="w-full" onClick={onLeave}>
          Sign in instead
        </Button>
      </div>
    </Frame>
  );
}

function messageOfStart(fault: Fault): string {
  if (fault.code === "account_creation_off") return "This server already has its first account.";
  if (fault.fields.start_code === undefined) return retryMessage(fault);
  return "This link isn't valid. Open the address that Relay shows in its terminal.";
}

function messageOfInvitation(fault: Fault): string {
  const is_over = fault.code === "account_creation_off" || fault.fields.start_code !== undefined;
  if (!is_over) return retryMessage(fault);
  return "This invitation was used, or is no longer valid. Ask the administrator for a new one.";
}
