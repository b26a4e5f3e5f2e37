/** Dialog to add a device: a pairing code to scan or to type, until a device has joined. */

import { CircleCheck } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { type Fault, faultOf, type Pairing } from "../state/api.ts";
import { Button } from "../ui/button.tsx";
import { Sheet } from "../ui/dialog.tsx";
import { PairingCode } from "../ui/pairing-code.tsx";
import { Facts, Problem, Skeleton } from "../ui/parts.tsx";
import { ConfirmButton, useMayConfirm } from "./confirm-sign-in.tsx";
import { EndSignIn, useSignIns } from "./end-sign-in.tsx";
import { useSession } from "./use-store.ts";

export function AddDevice({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Sheet open={open} onClose={onClose} title="Add a device">
      <Code onClose={onClose} />
    </Sheet>
  );
}

function Code({ onClose }: { onClose: () => void }) {
  const { api } = useSession();
  const [pairing, setPairing] = useState<Pairing | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  /** Each new number makes a new code. */
  const [turn, setTurn] = useState(0);
  const joined = useJoined(turn);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of `turn` makes a new code.
  useEffect(() => {
    let ended = false;
    setPairing(null);
    setFault(null);
    api.pairings.create.mutate({}).then(
      (made) => ended || setPairing(made),
      (error: unknown) => ended || setFault(faultOf(error)),
    );
    return () => {
      ended = true;
    };
  }, [api, turn]);
  const again = () => setTurn(turn + 1);
  // A code works once: make a new one if the device that joined has been signed out.
  const had_joined = useRef(false);
  useEffect(() => {
    if (!joined && had_joined.current) setTurn((before) => before + 1);
    had_joined.current = joined !== undefined;
  }, [joined]);

  if (joined) return <Joined id={joined.id} onAgain={again} onClose={onClose} />;
  if (fault) {
    return (
      <div className="space-y-4">
        <Problem>
          {fault.code === "unanswered" ? "Couldn't reach the server." : fault.message}
        </Problem>
        <Button onClick={again}>Try again</Button>
      </div>
    );
  }
  if (!pairing) return <Skeleton rows={3} label="Making a code" />;
  return (
    <PairingCode pairing={pairing} onAgain={again}>
      <p role="status" className="text-soft">
        Waiting for the device…
      </p>
    </PairingCode>
  );
}

/**
 * The first sign-in that was added with a code since `turn` changed; undefined while there is none.
 */
function useJoined(turn: number) {
  const { signIns } = useSession();
  const all = useSignIns();
  const here = useRef<{ turn: number; before: ReadonlySet<string>; joined: string | null } | null>(
    null,
  );
  if (all && here.current?.turn !== turn) {
    here.current = { turn, before: new Set(all.map(({ id }) => id)), joined: null };
  }
  const { current } = here;
  // A further one did not use this code, so it is reported like any other new sign-in.
  if (current) {
    current.joined ??=
      all?.findLast(({ id, made_by }) => made_by === "pairing" && !current.before.has(id))?.id ??
      null;
  }
  const joined = all?.find(({ id }) => id === current?.joined);
  useEffect(() => {
    if (joined) signIns.know(joined.id);
  }, [signIns, joined]);
  return joined;
}

interface JoinedProps {
  readonly id: string;
  readonly onAgain: () => void;
  readonly onClose: () => void;
}

function Joined({ id, onAgain, onClose }: JoinedProps) {
  const signIn = useSignIns()?.find((one) => one.id === id) ?? null;
  const [ending, setEnding] = useState(false);
  const may_confirm = useMayConfirm(signIn);
  return (
    <div className="space-y-5">
      <p role="status" className="flex items-center gap-3 font-medium text-lg">
        <CircleCheck aria-hidden className="size-6 shrink-0 text-ok" />
        <span className="said">
          <bdi>{signIn?.label}</bdi> joined
        </span>
      </p>
      {signIn && <Facts facts={[["Address", signIn.address ?? "Unknown"]]} />}
      <p className="text-soft">
        {may_confirm
          ? "Was this you? It can answer questions and change tasks now. Until you confirm it, or for 10 minutes, it can't change devices, agents, channels, settings or the account."
          : "It has full access to your account."}
      </p>
      <div className="flex flex-wrap gap-3">
        {may_confirm && signIn && <ConfirmButton signIn={signIn} variant="primary" />}
        <Button variant="warning" onClick={() => setEnding(true)}>
          End this sign-in
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
