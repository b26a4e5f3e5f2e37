/** Adds an agent: its name, then its key, shown once, with setup instructions. */

import { type FormEvent, useState, useSyncExternalStore } from "react";
import {
  forgetNewKeySecret,
  makeKey,
  type NewKeySecret,
  newKeySecret,
  onNewKeySecret,
} from "../state/new-key-secrets.ts";
import { Button, ButtonLink } from "../ui/button.tsx";
import { SelectField, TextField } from "../ui/field.tsx";
import { FormProblem, Heading } from "../ui/parts.tsx";
import { Secret, Snippet } from "../ui/secret.tsx";
import { useAction } from "../ui/use-action.ts";
import { publicUrl, SET_UPS } from "./set-up.ts";
import { useSession } from "./use-store.ts";

export function NewAgent() {
  const made = useSyncExternalStore(onNewKeySecret, newKeySecret);
  return made ? <Made {...made} /> : <Form />;
}

function Form() {
  const { api, store } = useSession();
  const { busy, fault, run } = useAction();
  const [label, setLabel] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(() =>
      makeKey(async () => {
        const { key, secret } = await api.keys.create.mutate({ label });
        store.put("keys", key);
        return { id: key.id, label: key.label, secret };
      }),
    );
  };
  return (
    <>
      <Heading>New agent</Heading>
      <form onSubmit={submit} className="card space-y-5 p-5 sm:p-6">
        <TextField
          label="Name"
          name="label"
          required
          autoFocus
          value={label}
          onChange={({ target }) => setLabel(target.value)}
          hint="For example: Claude on my laptop."
          error={fault?.fields.label}
        />
        <FormProblem fault={fault} />
        <div className="flex flex-wrap gap-3">
          <Button type="submit" variant="primary" busy={busy}>
            Create agent
          </Button>
          <ButtonLink href="#/agents">Cancel</ButtonLink>
        </div>
      </form>
    </>
  );
}

function Made({ id, label, secret }: NewKeySecret) {
  const [client, setClient] = useState(SET_UPS[0]!.client);
  const { where, text } = SET_UPS.find((one) => one.client === client)!;
  return (
    <>
      <Heading>
        Key for <bdi dir="auto">{label}</bdi>
      </Heading>
      <div className="card space-y-7 p-5 sm:p-6">
        <section>
          <h2 className="font-semibold text-base">Copy the key now</h2>
          <p className="mt-1 mb-3 text-soft">
            It's shown only once. Anyone who has it can act as this agent.
          </p>
          <Secret text={secret} name="key" />
        </section>
        <section>
          <h2 className="mb-3 font-semibold text-base">Connect the agent</h2>
          <div className="space-y-4">
            <SelectField
              label="Client"
              value={client}
              onChange={({ target }) => setClient(target.value)}
              options={SET_UPS.map((one) => [one.client, one.client] as const)}
            />
            <div>
              <p className="mb-1.5 text-faint text-sm">{where}</p>
              <Snippet name={`${client} setup`} text={text(`${publicUrl()}/mcp`, secret)} />
            </div>
          </div>
        </section>
        <ButtonLink
          variant="primary"
          href={`#/agents/${id}`}
          onClick={({ ctrlKey, metaKey, shiftKey }) => {
            // A click that opens a new tab leaves this one as it is.
            if (!ctrlKey && !metaKey && !shiftKey) forgetNewKeySecret(id);
          }}
        >
          Done
        </ButtonLink>
      </div>
    </>
  );
}
