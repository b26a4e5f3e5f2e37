/** The sign-ins of the account: list, labels, signing out, adding a device. */

import { LogOut, MonitorSmartphone, Pencil, Plus } from "lucide-react";
import { useEffect, useState } from "react";
import { every } from "../../clock.ts";
import type { SignIn } from "../../state/api.ts";
import { Ago } from "../../ui/ago.tsx";
import { Button, IconButton } from "../../ui/button.tsx";
import { FieldForm } from "../../ui/field-form.tsx";
import { Badge, Skeleton } from "../../ui/parts.tsx";
import { useNow } from "../../ui/use-now.ts";
import { useSession, useSignIns, useStore } from "../use-store.ts";
import { AddDevice } from "./add-device.tsx";
import { ConfirmButton, useMayConfirm } from "./confirm-sign-in.tsx";
import { EndSignIn } from "./end-sign-in.tsx";
import { useTrialEnd } from "./trial.tsx";

/** Seconds between refreshes of `last_used_at` and of labels, which have no events. */
const EVERY = 60;

/** Seconds after which a sign-in without a use is shown as never used. */
const UNUSED_AFTER = 120;

const MADE_BY: Readonly<Record<SignIn["made_by"], string>> = {
  account: "Created with the account",
  pairing: "Added with a code",
  administrator: "Added by the administrator",
  recovery: "Signed in with the recovery code",
};

export function SignInList() {
  const { api, signIns } = useSession();
  const all = useSignIns();
  const in_trial = useTrialEnd() !== null;
  const live = useStore((store) => store.connection() === "live");
  const [adding, setAdding] = useState(false);
  const [ending, setEnding] = useState<SignIn | null>(null);
  const [renaming, setRenaming] = useState<string | null>(null);
  useEffect(() => {
    const refresh = () => void signIns.load(api).catch(() => null);
    if (!live) return;
    refresh();
    return every(EVERY, refresh);
  }, [api, signIns, live]);
  // This browser first.
  const shown = all?.toSorted((a, b) => Number(b.current) - Number(a.current));
  return (
    <>
      {shown ? (
        <ul className="divide-y divide-line">
          {shown.map((one) => (
            <li key={one.id} className="py-2">
              {renaming === one.id ? (
                <FieldForm
                  label="Name"
                  name="label"
                  initial={one.label}
                  save={async (label) =>
                    signIns.put(await api.sessions.update.mutate({ session_id: one.id, label }))
                  }
                  onDone={() => setRenaming(null)}
                  className="py-1"
                />
              ) : (
                <Row
                  signIn={one}
                  fixed={in_trial && !one.current}
                  onRename={() => setRenaming(one.id)}
                  onEnd={() => setEnding(one)}
                />
              )}
            </li>
          ))}
        </ul>
      ) : (
        <Skeleton rows={1} label="Loading sign-ins" />
      )}
      {!in_trial && (
        <Button variant="primary" className="mt-3" onClick={() => setAdding(true)}>
          <Plus aria-hidden className="size-4.5" />
          Add a device
        </Button>
      )}
      <AddDevice open={adding} onClose={() => setAdding(false)} />
      <EndSignIn signIn={ending} onClose={() => setEnding(null)} />
    </>
  );
}

interface RowProps {
  readonly signIn: SignIn;
  /** True: this browser may not change the sign-in. */
  readonly fixed: boolean;
  readonly onRename: () => void;
  readonly onEnd: () => void;
}

function Row({ signIn, fixed, onRename, onEnd }: RowProps) {
  const { label, current, made_by, created_at, last_used_at, address } = signIn;
  const may_confirm = useMayConfirm(signIn);
  const now = useNow(15);
  /** The first use is known only after the next load, so wait before saying that there was none. */
  const is_unused = last_used_at === null && created_at < now - UNUSED_AFTER;
  return (
    <div className="flex items-center gap-3">
      <MonitorSmartphone aria-hidden className="size-5 shrink-0 text-soft" />
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-x-2">
          <bdi dir="auto" className="said min-w-0 font-medium">
            {label}
          </bdi>
          {current && <Badge tone="accent">This browser</Badge>}
          {may_confirm && <Badge tone="warn">Not confirmed</Badge>}
        </p>
        <p className="said text-faint text-sm">
          {`${MADE_BY[made_by]}, `}
          <Ago at={created_at} />
          {is_unused && " · Never used"}
          {last_used_at !== null && " · Last used "}
          {last_used_at !== null && <Ago at={last_used_at} />}
          {address !== null && ` · From ${address}`}
        </p>
        {may_confirm && <ConfirmButton signIn={signIn} className="mt-2" />}
      </div>
      {!fixed && (
        <IconButton label={`Rename ${label}`} onClick={onRename}>
          <Pencil aria-hidden className="size-4.5" />
        </IconButton>
      )}
      {/* This browser signs out at the end of the view, where the consequences are explained. */}
      {!current && !fixed && (
        <IconButton label={`Sign out ${label}`} onClick={onEnd}>
          <LogOut aria-hidden className="size-4.5" />
        </IconButton>
      )}
    </div>
  );
}
