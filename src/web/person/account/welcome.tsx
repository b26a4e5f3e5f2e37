/** The first view: create an account, or sign in with a code or a token. */

import { Fragment, useSyncExternalStore } from "react";
import { retryMessage } from "../../state/api.ts";
import { hasRemembered } from "../../state/drafts.ts";
import { type KeptAnswer, onUnsent, unsentAnswers } from "../../state/kept-answers.ts";
import { createAccount } from "../../state/new-account.ts";
import { lastSignOut, type SignOutReason } from "../../state/session.ts";
import { accountCreation } from "../../state/start-code.ts";
import { Button } from "../../ui/button.tsx";
import { Problem } from "../../ui/parts.tsx";
import { useAction } from "../../ui/use-action.ts";
import { Frame } from "../frame.tsx";
import { AnswerQuote } from "../questions/kept-answers.tsx";
import { CodeForm } from "./pair.tsx";
import { BackInForm } from "./recovery/back-in.tsx";

const SIGN_OUT_MESSAGES: Readonly<Record<SignOutReason, string | null>> = {
  never: null,
  "signed out": "You're signed out. Your account data was removed from this browser.",
  deleted: "Your account and all its data were deleted.",
  ended: "This browser was signed out from another device.",
  refused: "This browser was signed out: its token is no longer valid.",
};

/**
 * True if this person probably has a code. The page cannot know whether accounts exist, but the
 * first browser usually runs on the server's machine and opens a loopback address. Further ones use
 * another address, or are phones or tablets.
 */
function leadsWithCode(): boolean {
  const is_local = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(location.hostname);
  return !is_local || matchMedia("(pointer: coarse), (max-width: 40rem)").matches;
}

function Or() {
  return (
    <div className="my-7 flex items-center gap-4 text-faint text-sm">
      <span aria-hidden className="h-px flex-1 bg-line" />
      or
      <span aria-hidden className="h-px flex-1 bg-line" />
    </div>
  );
}

export function Welcome() {
  const creation = useAction();
  const reason = lastSignOut();
  const message = SIGN_OUT_MESSAGES[reason];
  const unsent = useSyncExternalStore(onUnsent, unsentAnswers);
  /** True if somebody else ended the sign-in: the person wants back in. */
  const was_ended = reason === "ended" || reason === "refused";
  const allowed = accountCreation();
  // Somebody was signed in, so the first account exists.
  const mode = allowed === "first" && reason !== "never" ? "off" : allowed;
  const leads = mode === "off" || was_ended || leadsWithCode();
  const creating =
    mode === "first" ? (
      <p key="new" className="text-soft">
        To create the first account, open the address that Relay shows in its terminal.
      </p>
    ) : (
      <div key="new" className="space-y-3">
        <Button
          variant={leads ? "plain" : "primary"}
          className="w-full"
          busy={creation.busy}
          onClick={() => void creation.run(() => createAccount())}
        >
          Create account
        </Button>
        {creation.fault && <Problem>{retryMessage(creation.fault)}</Problem>}
      </div>
    );
  const code = <CodeForm key="code" leads={leads} />;
  const back = <BackInForm key="back" />;
  const offered = was_ended
    ? [code, back, creating]
    : [...(leads ? [code, creating] : [creating, code]), back];
  const ways = mode === "off" ? offered.filter((way) => way !== creating) : offered;
  return (
    <Frame title="Relay">
      <p className="mt-2 text-lg text-soft leading-snug">
        Your agents ask, you answer. Follow all their tasks in one place.
      </p>
      {message && (
        <div role="status" className="mt-6 rounded-xl bg-sunken px-4 py-3 text-soft">
          <p>{message}</p>
          {unsent.length > 0 && <Unsent answers={unsent} />}
          {hasRemembered() && (
            <p className="mt-2 text-sm">
              What you had typed is kept until you leave this page: sign in to the same account.
            </p>
          )}
        </div>
      )}
      {mode === "off" && !was_ended && (
        <p className="mt-6 text-soft">
          This server doesn't accept new accounts. If you have an account, sign in with a code from
          another device, your recovery code, or your account token.
        </p>
      )}
      {was_ended && (
        <p className="mt-6 text-soft">
          To sign in again, use a code from another device, your recovery code, or an account token.
        </p>
      )}
      <div className="mt-8">
        {ways.map((way, at) => (
          <Fragment key={way.key}>
            {at > 0 && <Or />}
            {way}
          </Fragment>
        ))}
      </div>
    </Frame>
  );
}

/** Answers that waited when the sign-in was ended. */
function Unsent({ answers }: { answers: readonly KeptAnswer[] }) {
  return (
    <>
      <p className="mt-3 font-medium text-warn">
        {answers.length === 1 ? "1 answer wasn't sent:" : `${answers.length} answers weren't sent:`}
      </p>
      <ul className="mt-1 max-h-60 list-disc space-y-1 overflow-y-auto ps-5 text-sm">
        {answers.map((one) => (
          <li key={one.question_id} className="said">
            <AnswerQuote given={one} />
          </li>
        ))}
      </ul>
      <p className="mt-2 text-sm">
        To send {answers.length === 1 ? "it" : "them"}, sign in to the same account before you leave
        this page.
      </p>
    </>
  );
}
