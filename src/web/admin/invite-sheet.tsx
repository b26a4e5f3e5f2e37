/** Makes an invitation, and shows its link this once. */

import { type FormEvent, useState } from "react";
import { serverUrl } from "../state/server-url.ts";
import { Button } from "../ui/button.tsx";
import { Sheet } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { FormProblem } from "../ui/parts.tsx";
import { QrImage } from "../ui/qr-image.tsx";
import { Snippet } from "../ui/secret.tsx";
import { dayOf } from "../ui/time.ts";
import { useAction } from "../ui/use-action.ts";
import type { AdminApi, Outputs } from "./api.ts";

interface InviteSheetProps {
  readonly api: AdminApi;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onMade: () => Promise<void>;
}

export function InviteSheet({ open, onClose, ...rest }: InviteSheetProps) {
  return (
    <Sheet open={open} onClose={onClose} title="Invite somebody">
      {open && <Contents {...rest} />}
    </Sheet>
  );
}

function Contents({ api, onMade }: Pick<InviteSheetProps, "api" | "onMade">) {
  const [name, setName] = useState("");
  const [made, setMade] = useState<Outputs["invite"] | null>(null);
  const { busy, fault, run } = useAction();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    void run(async () => setMade(await api.invite.mutate({ name: name.trim() || null }))).then(
      onMade,
    );
  };
  if (made) return <Made invitation={made} />;
  return (
    <form onSubmit={submit} className="space-y-5">
      <p>
        Makes a link that creates one account, also where this server otherwise accepts no new ones.
        It works once, within 7 days.
      </p>
      <TextField
        label="Name"
        name="name"
        maxLength={80}
        value={name}
        onChange={({ target }) => setName(target.value)}
        hint="What you call the person. Only you see it, and you can change it later."
        error={fault?.fields.name}
      />
      <FormProblem fault={fault} />
      <Button type="submit" variant="primary" busy={busy}>
        Make link
      </Button>
    </form>
  );
}

function Made({ invitation }: { invitation: Outputs["invite"] }) {
  const { name, url, no_url_reason, code, expires_at } = invitation;
  const link = url ?? serverUrl(`./#/invite/${code}`);
  return (
    <div className="space-y-5">
      <p role="status" className="said">
        {name === null ? "Send this link:" : "Send this link to "}
        {name !== null && <bdi className="font-medium">{name}</bdi>}
        {name !== null && ":"}
      </p>
      <Snippet text={link} name="the link" />
      {url !== null && <QrImage text={url} label="QR code of the invitation" />}
      {no_url_reason !== null && (
        <p className="rounded-xl bg-sunken px-4 py-3 text-soft">
          This link works on this machine only. {no_url_reason}
        </p>
      )}
      <p className="text-soft">
        {`The link is shown only now. It creates one account, and is valid until ${dayOf(expires_at)}. Whoever has it can use it, so send it to the person alone.`}
      </p>
    </div>
  );
}
