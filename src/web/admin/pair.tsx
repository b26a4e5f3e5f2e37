/** A pairing code for a person who has lost every sign-in (§5.14.5). */

import { useState } from "react";
import type { Pairing } from "../state/api.ts";
import { Button } from "../ui/button.tsx";
import { Sheet } from "../ui/dialog.tsx";
import { PairingCode } from "../ui/pairing-code.tsx";
import { Problem } from "../ui/parts.tsx";
import { useAction } from "../ui/use-action.ts";
import type { AdminApi } from "./api.ts";

interface PairProps {
  readonly api: AdminApi;
  /** Null while it is closed. */
  readonly account_id: string | null;
  readonly onClose: () => void;
}

export function Pair({ api, account_id, onClose }: PairProps) {
  return (
    <Sheet open={account_id !== null} onClose={onClose} title="Let a person back in">
      {account_id !== null && <Code api={api} account_id={account_id} />}
    </Sheet>
  );
}

function Code({ api, account_id }: { api: AdminApi; account_id: string }) {
  const [pairing, setPairing] = useState<Pairing | null>(null);
  const { busy, fault, run } = useAction();
  const make = () => run(async () => setPairing(await api.pair.mutate({ account_id })));
  if (pairing) return <PairingCode pairing={pairing} onAgain={() => void make()} />;
  return (
    <div className="space-y-5">
      <p>
        Makes a code that signs one browser in to the account{" "}
        <code className="said break-all font-mono text-[0.8125rem]">{account_id}</code>.
      </p>
      <p className="text-soft">
        Anyone with the code has full access to this account, so make sure you know who is asking
        for it. The server logs that you made it, and the person sees in the list of sign-ins that
        you added the browser.
      </p>
      {fault && <Problem>{fault.message}</Problem>}
      <Button variant="primary" busy={busy} onClick={() => void make()}>
        Make code
      </Button>
    </div>
  );
}
