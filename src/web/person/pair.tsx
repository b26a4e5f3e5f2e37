/** Signing in by a pairing code: the view of a link, and the form for a code that is typed. */

import { ArrowRight } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { Fault } from "../state/api.ts";
import { claimPairing, codeIn, forgetPairingCode, isUnconfirmed } from "../state/pairing.ts";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { Problem } from "../ui/parts.tsx";
import { useAction } from "../ui/use-action.ts";
import { Frame } from "./frame.tsx";

/** Asks before it signs in: whoever opened a link may not know where it leads. */
export function Pair({ code }: { code: string }) {
  const claim = useAction();
  const unfinished = isUnconfirmed(code);
  const gone = claim.fault?.code === "not_found";
  return (
    <Frame title="Add this browser?">
      <p className="mt-2 text-lg text-soft leading-snug">
        {unfinished
          ? `Signing in to an account on ${location.host} was not finished: the server's response was lost. Trying again is safe.`
          : `The link that you opened signs this browser in to an account on ${location.host}. Continue if you made it: everything you do here is then seen in that account.`}
      </p>
      <div className="mt-8 space-y-3">
        {!gone && (
          <Button
            variant="primary"
            className="w-full"
            busy={claim.busy}
            onClick={() => void claim.run(() => claimPairing(code))}
          >
            {unfinished ? "Try again" : "Add this browser"}
          </Button>
        )}
        {claim.fault && <Problem>{messageOf(claim.fault)}</Problem>}
        <Button className="w-full" onClick={forgetPairingCode}>
          {gone ? "Back" : "Cancel"}
        </Button>
      </div>
    </Frame>
  );
}

/** A link was opened in a browser that is signed in: nothing is replaced. */
export function AlreadySignedIn() {
  return (
    <Frame title="You're already signed in">
      <p className="mt-2 text-lg text-soft leading-snug">
        The link that you opened adds a browser to an account, and this browser is signed in to one
        already. To use the link here, sign out under Account first, then open it again.
      </p>
      <Button variant="primary" className="mt-8 w-full" onClick={forgetPairingCode}>
        Stay signed in
      </Button>
    </Frame>
  );
}

/** For a code that another device shows, or its whole link. */
export function CodeForm({ leads }: { leads: boolean }) {
  const [text, setText] = useState("");
  const claim = useAction();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (claim.busy) return;
    void claim.run(() => claimPairing(codeIn(text)));
  };
  return (
    <form onSubmit={submit} className="space-y-3">
      <TextField
        label="I have a code"
        name="code"
        required
        dir="ltr"
        autoCapitalize="characters"
        spellCheck={false}
        placeholder="XXXX-XXXX"
        value={text}
        onChange={({ target }) => setText(target.value)}
        hint="On a device that's signed in, choose Account, then Add a device."
      />
      {claim.fault && <Problem>{messageOf(claim.fault)}</Problem>}
      <Button
        type="submit"
        variant={leads ? "primary" : "plain"}
        className="w-full"
        busy={claim.busy}
      >
        Use code
        <ArrowRight aria-hidden className="size-4.5" />
      </Button>
    </form>
  );
}

function messageOf({ code, message }: Fault): string {
  if (code === "unanswered") return "Couldn't reach the server. Try again.";
  if (code !== "not_found") return message;
  return "This code isn't valid. It works once, and for 5 minutes: make a new one.";
}
