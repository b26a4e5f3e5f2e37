/** Sign-in by a pairing code: the view of a link, and the form to type a code. */

import { ArrowRight } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import { type Fault, retryMessage } from "../../state/api.ts";
import {
  cancelPairing,
  claimPairing,
  codeIn,
  forgetPairingCode,
  isPairingCode,
  isUnconfirmed,
  offerOf,
} from "../../state/pairing.ts";
import { recover, recoveryCodeIn } from "../../state/recovery.ts";
import { Ago } from "../../ui/ago.tsx";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { Facts, Problem } from "../../ui/parts.tsx";
import { useAction } from "../../ui/use-action.ts";
import { useLoaded } from "../../ui/use-loaded.ts";
import { Frame } from "../frame.tsx";
import { NO_CODE, NO_RECOVERY_CODE } from "../words.ts";

type Offer = Awaited<ReturnType<typeof offerOf>>;

/** Asks before signing in: the person who opened a link may not know where it leads. */
export function Pair({ code }: { code: string }) {
  const claim = useAction();
  const unfinished = isUnconfirmed(code);
  // A claim that was sent is confirmed by sending it again, without a lookup.
  const { value: offer, fault } = useLoaded(unfinished ? null : code, () => offerOf(code));
  const gone = [claim.fault, fault].find((one) => one?.code === "not_found");
  if (gone && !unfinished) {
    return (
      <Frame title="This code isn't valid">
        <p className="mt-2 text-lg text-soft leading-snug">
          A code works once, for 5 minutes. Make a new one on the other device.
        </p>
        <Button className="mt-8 w-full" onClick={cancelPairing}>
          Back
        </Button>
      </Frame>
    );
  }
  return (
    <Frame title="Add this browser?">
      <p className="mt-2 text-lg text-soft leading-snug">
        {unfinished
          ? `Signing in to an account on ${location.host} didn't finish: the server's response was lost. It's safe to try again.`
          : `This link signs this browser in to an account on ${location.host}. Continue only if you made the link: that account will see everything you do here.`}
      </p>
      {offer && <Account offer={offer} />}
      <div className="mt-8 space-y-3">
        <Button
          variant="primary"
          className="w-full"
          busy={claim.busy}
          // The person decides by the account that is shown; if the lookup failed, by the link
          // alone.
          disabled={!unfinished && !offer && !fault}
          onClick={() => void claim.run(() => claimPairing(code))}
        >
          {unfinished ? "Try again" : "Add this browser"}
        </Button>
        {claim.fault && <Problem>{messageOf(claim.fault)}</Problem>}
        <Button className="w-full" disabled={claim.busy} onClick={cancelPairing}>
          Cancel
        </Button>
      </div>
    </Frame>
  );
}

/** The account, described as in its own view Account. */
function Account({ offer }: { offer: Offer }) {
  return (
    <section className="card mt-6 p-5">
      <Facts
        facts={[
          [
            "Link made by",
            offer.offered_by === null ? (
              "The administrator"
            ) : (
              <bdi key="b" className="said">
                {offer.offered_by}
              </bdi>
            ),
          ],
          ["Account created", <Ago key="c" at={offer.account_created_at} />],
          [
            "Account ID",
            <code key="a" className="break-all font-mono text-[0.8125rem]">
              {offer.account_id}
            </code>,
          ],
        ]}
      />
    </section>
  );
}

/**
 * Shown when a link is opened in a browser that is already signed in, which it leaves signed in.
 */
export function AlreadySignedIn() {
  // Navigating to another view drops the link.
  useEffect(() => {
    window.addEventListener("hashchange", forgetPairingCode);
    return () => window.removeEventListener("hashchange", forgetPairingCode);
  }, []);
  return (
    <Frame title="You're already signed in">
      <p className="mt-2 text-lg text-soft leading-snug">
        This link adds a browser to an account, but this browser is already signed in to one. To use
        the link here, sign out under Account first, then open it again.
      </p>
      <Button variant="primary" className="mt-8 w-full" onClick={forgetPairingCode}>
        Stay signed in
      </Button>
    </Frame>
  );
}

/**
 * The form for a code that another device shows, or for its whole link. `leads`: it is the first
 * choice of the view.
 */
export function CodeForm({ leads }: { leads: boolean }) {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState(false);
  const claim = useAction();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const code = codeIn(text);
    const recovery_code = recoveryCodeIn(text);
    const is_wrong = recovery_code === null && !isPairingCode(code);
    setWrong(is_wrong);
    if (claim.busy || is_wrong) return;
    void claim.run(() => (recovery_code === null ? claimPairing(code) : recover(recovery_code)));
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
        error={wrong ? NO_CODE : undefined}
      />
      {claim.fault && <Problem>{messageOf(claim.fault, recoveryCodeIn(text) !== null)}</Problem>}
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

function messageOf(fault: Fault, for_recovery = false): string {
  if (fault.code !== "not_found") return retryMessage(fault);
  if (for_recovery) return NO_RECOVERY_CODE;
  return "This code isn't valid. A code works once, for 5 minutes: make a new one.";
}
