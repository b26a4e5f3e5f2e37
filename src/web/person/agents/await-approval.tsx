/**
 * A program's request for access in a browser without a sign-in: another device decides
 * (§18.6).
 */

import { useEffect, useState } from "react";
import { after } from "../../clock.ts";
import { createApi, type Fault, faultOf, LATER } from "../../state/api.ts";
import { Button } from "../../ui/button.tsx";
import { Problem, Skeleton } from "../../ui/parts.tsx";
import { QrImage } from "../../ui/qr-image.tsx";
import { Welcome } from "../account/welcome.tsx";
import { Frame } from "../frame.tsx";

type Api = ReturnType<typeof createApi>;
type Approval = Awaited<ReturnType<Api["oauth"]["askApproval"]["mutate"]>>;

/** Seconds of one wait: less than the time limit of a call. */
const WAIT = 10;
/** Seconds between two tries while the server cannot be reached. */
const RETRY = 2;

type State = "waiting" | "approved" | "denied" | "ended";

/** Asks for an approval, waits for the decision, and then redirects to the program. */
function useApproval(request: string) {
  const [approval, setApproval] = useState<Approval | null>(null);
  const [state, setState] = useState<State>("waiting");
  const [fault, setFault] = useState<Fault | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const api = createApi(null, signal);
    const pause = () => new Promise<void>((resolve) => after(RETRY, resolve));
    const wait = async (secret: string) => {
      while (!signal.aborted) {
        const found = await api.oauth.awaitApproval
          .mutate({ secret, wait: WAIT }, { signal })
          .catch(faultOf);
        if (signal.aborted) return;
        if ("message" in found) {
          if (!LATER.has(found.code)) return setFault(found);
          await pause();
        } else if (found.status !== "waiting") {
          setState(found.status);
          if (found.redirect_to !== null) location.replace(found.redirect_to);
          return;
        }
      }
    };
    api.oauth.askApproval
      .mutate({ request }, { signal })
      .then((asked) => {
        if (signal.aborted) return;
        setApproval(asked);
        return wait(asked.secret);
      })
      .catch((error: unknown) => signal.aborted || setFault(faultOf(error)));
    return () => leaving.abort();
  }, [request]);
  return { approval, state, fault };
}

interface AwaitApprovalProps {
  readonly request: string;
  /** This browser is signed in, and may not approve yet (§4.1.6). */
  readonly in_trial?: boolean;
}

export function AwaitApproval({ request, in_trial = false }: AwaitApprovalProps) {
  const [here, setHere] = useState(false);
  const { approval, state, fault } = useApproval(request);
  if (here) return <Welcome />;
  if (state === "ended" || fault?.code === "not_found") {
    return (
      <Frame title="This request has expired">
        <p className="mt-4 text-soft">Start again in the program.</p>
      </Frame>
    );
  }
  if (state !== "waiting") {
    return (
      <Frame title={state === "approved" ? "Access approved" : "Access denied"}>
        <p className="mt-4 text-soft">
          You're being sent back to the program. You can close this page.
        </p>
      </Frame>
    );
  }
  return (
    <Frame title="A program asks for access">
      <p className="mt-4 text-soft">
        {in_trial
          ? "This browser is new and can't approve programs yet. Approve it on a device you signed in earlier, or choose “It was me” there first."
          : "You aren't signed in here. Approve it on a device where you are, such as your phone."}
      </p>
      <div className="mt-6 space-y-5">
        {fault && <Problem>{fault.message}</Problem>}
        {!approval && !fault && <Skeleton label="Loading the code" />}
        {approval && <Code approval={approval} />}
        {!in_trial && (
          <Button className="w-full" onClick={() => setHere(true)}>
            Sign in here instead
          </Button>
        )}
      </div>
    </Frame>
  );
}

function Code({ approval: { code, url, no_url_reason } }: { approval: Approval }) {
  return (
    <div className="card space-y-4 p-5">
      {url !== null && <QrImage text={url} label="QR code that opens the request on your device" />}
      <p className="text-soft">
        {url === null
          ? `There's no QR code: ${no_url_reason} Open Relay on the other device, choose Agents, and enter this code:`
          : "Scan this, or open Relay on the other device, choose Agents, and enter this code:"}
      </p>
      <p translate="no" className="font-mono font-semibold text-2xl tracking-wide">
        {code}
      </p>
      <p role="status" className="text-faint text-sm">
        Waiting for your approval. The other device must show the same code.
      </p>
    </div>
  );
}
