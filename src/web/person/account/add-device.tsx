/** Dialog to add a device: a pairing code to scan or to type, until a device has joined. */

import { CircleCheck } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import { retryMessage } from "../../state/api.ts";
import { Button } from "../../ui/button.tsx";
import { Sheet } from "../../ui/dialog.tsx";
import { PairingCode } from "../../ui/pairing-code.tsx";
import { Facts, Problem, Skeleton } from "../../ui/parts.tsx";
import { useLoaded } from "../../ui/use-loaded.ts";
import { useSession, useSignIns } from "../use-store.ts";
import { ConfirmButton, useMayConfirm } from "./confirm-sign-in.tsx";
import { EndSignIn } from "./end-sign-in.tsx";

export function AddDevice({ open, onClose }: { open: boolean; onClose: () => void }) {
  /** Each new number makes a new code. */
  const [turn, setTurn] = useState(0);
  const again = useCallback(() => setTurn((before) => before + 1), []);
  return (
    <Sheet open={open} onClose={onClose} title="Add a device">
      <Code key={turn} onAgain={again} onClose={onClose} />
    </Sheet>
  );
}

interface CodeProps {
  readonly onAgain: () => void;
  readonly onClose: () => void;
}

function Code({ onAgain, onClose }: CodeProps) {
  const { api } = useSession();
  const { value: pairing, fault } = useLoaded("once", () => api.pairings.create.mutate({}));
  const joined = useJoined();
  // A code works once: make a new one if the device that joined has been signed out.
  const had_joined = useRef(false);
  useEffect(() => {
    if (!joined && had_joined.current) onAgain();
    had_joined.current = joined !== undefined;
  }, [joined, onAgain]);

  if (joined) return <Joined id={joined.id} onAgain={onAgain} onClose={onClose} />;
  if (fault) {
    return (
      <div className="space-y-4">
        <Problem>{retryMessage(fault)}</Problem>
        <Button onClick={onAgain}>Try again</Button>
      </div>
    );
  }
  if (!pairing) return <Skeleton rows={3} label="Making a code" />;
  return (
    <PairingCode pairing={pairing} onAgain={onAgain}>
      <p role="status" className="text-soft">
        Waiting for the device…
      </p>
    </PairingCode>
  );
}

/** The first sign-in that was added with a code since this was mounted; undefined until then. */
function useJoined() {
  const { signIns } = useSession();
  const all = useSignIns();
  const before = useRef<ReadonlySet<string> | null>(null);
  const id = useRef<string>(undefined);
  if (all) {
    before.current ??= new Set(all.map((one) => one.id));
    // A further one did not use this code, so it is reported like any other new sign-in.
    id.current ??= all.findLast(
      (one) => one.made_by === "pairing" && !before.current!.has(one.id),
    )?.id;
  }
  const joined = all?.find((one) => one.id === id.current);
  useEffect(() => {
    if (joined) signIns.know(joined.id);
  }, [signIns, joined]);
  return joined;
}

function Joined({ id, onAgain, onClose }: CodeProps & { readonly id: string }) {
  const signIn = useSignIns()?.find((one) => one.id === id) ?? null;
  const [ending, setEnding] = useState(false);
  const may_confirm = useMayConfirm(signIn);
  return (
    <div className="space-y-5">
      <p role="status" className="flex items-center gap-3 font-medium text-lg">
        <CircleCheck aria-hidden className="size-6 shrink-0 text-ok" />
        <span className="said">
          <bdi>{signIn?.label}</bdi> signed in
        </span>
      </p>
      {signIn && <Facts facts={[["Address", signIn.address ?? "Unknown"]]} />}
      <p className="text-soft">
        {may_confirm
          ? "Was this you? It can already answer questions and change tasks. For 10 minutes, or until you confirm it, it can't change devices, agents, channels, settings or the account."
          : "It has full access to your account."}
      </p>
      <div className="flex flex-wrap gap-3">
        {may_confirm && signIn && <ConfirmButton signIn={signIn} variant="primary" />}
        <Button variant="warning" onClick={() => setEnding(true)}>
          Sign it out
        </Button>
      </div>
      <div className="flex flex-wrap gap-3">
        <Button variant={may_confirm ? "plain" : "primary"} onClick={onClose}>
          Done
        </Button>
        <Button onClick={onAgain}>Add another</Button>
      </div>
      <EndSignIn signIn={ending ? signIn : null} onClose={() => setEnding(false)} />
    </div>
  );
}
