/**
 * The webhook that an agent's inbox items are posted to: shows, sets and removes it
 * (docs/interface.md §5.4.10).
 */

import { type FormEvent, useState } from "react";
import type { Key } from "../state/api.ts";
import { Button } from "../ui/button.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { Badge, FormProblem } from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";
import { useAction } from "../ui/use-action.ts";
import { useLoaded } from "../ui/use-loaded.ts";
import { STATE_NAMES } from "./channels/channel-words.ts";
import { forgetNewSecret, keepNewSecret, NewSecrets } from "./channels/new-secrets.tsx";
import { SentLines } from "./channels/sent-lines.tsx";
import { TrialNote, useTrialEnd } from "./trial.tsx";
import { useSession, useStore } from "./use-store.ts";

type Webhook = NonNullable<Key["webhook"]>;

/**
 * The webhook with its current state, which is read again after each connect, as its changes have
 * no event.
 */
function useWebhook({ id, webhook }: Key): Webhook | undefined {
  const { api } = useSession();
  const loads = useStore((store) => store.loads());
  const set_at = webhook?.created_at;
  const { value: current } = useLoaded(set_at === undefined ? null : `${set_at} ${loads}`, () =>
    api.keys.webhook.query({ key_id: id }),
  );
  return current && current.created_at === set_at ? current : webhook;
}

export function AgentWebhook({ agent }: { agent: Key }) {
  const { api, store } = useSession();
  const webhook = useWebhook(agent);
  const [editing, setEditing] = useState(false);
  const [removing, setRemoving] = useState(false);
  const in_trial = useTrialEnd() !== null;
  const remove = async () => {
    await api.keys.removeWebhook.mutate({ key_id: agent.id });
    const { webhook: _, ...rest } = agent;
    store.put("keys", rest);
    forgetNewSecret(agent.id);
    toast("Webhook removed");
  };
  return (
    <section className="card p-5">
      <h2 className="font-semibold text-base">Webhook</h2>
      <p className="mt-1 mb-4 text-soft">
        New items in this agent's inbox are posted to a URL, so that it doesn't have to poll.
      </p>
      <NewSecrets wants={(id) => id === agent.id} />
      {webhook ? <Details webhook={webhook} /> : !editing && <p className="text-faint">None</p>}
      {editing && <Form agent={agent} onDone={() => setEditing(false)} />}
      {!editing && (
        <div className="mt-4 flex flex-wrap gap-3">
          {!in_trial && (
            <Button onClick={() => setEditing(true)}>
              {webhook ? "Replace the webhook" : "Set a webhook"}
            </Button>
          )}
          {webhook && !in_trial && (
            <Button variant="warning" onClick={() => setRemoving(true)}>
              Remove the webhook
            </Button>
          )}
          <TrialNote what="set or remove webhooks" />
        </div>
      )}
      <Confirm
        open={removing}
        onClose={() => setRemoving(false)}
        title="Remove the webhook?"
        action="Remove"
        onConfirm={remove}
      >
        Items that weren't posted stay unread in the agent's inbox.
      </Confirm>
    </section>
  );
}

function Details({ webhook }: { webhook: Webhook }) {
  const { origin, hint, state } = webhook;
  const [tone, name] = STATE_NAMES[state];
  return (
    <div className="said space-y-0.5 text-faint text-sm">
      <p className="flex flex-wrap items-center gap-x-2">
        <span>{`${origin}/…${hint}`}</span>
        <Badge tone={tone}>{name}</Badge>
      </p>
      <SentLines of={webhook} noun="item" />
    </div>
  );
}

function Form({ agent, onDone }: { agent: Key; onDone: () => void }) {
  const { api, ended } = useSession();
  const { busy, fault, run } = useAction();
  const [url, setUrl] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const { id, label } = agent;
    const done = await run(async () => {
      const { secret } = await api.keys.setWebhook.mutate({ key_id: id, url: url.trim() });
      forgetNewSecret(id);
      keepNewSecret({ id, label, secret }, ended.signal);
    });
    if (done) onDone();
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="mt-4 space-y-3">
      <TextField
        label="URL"
        name="url"
        type="url"
        inputMode="url"
        required
        autoFocus
        value={url}
        onChange={({ target }) => setUrl(target.value)}
        placeholder="https://example.com/hook"
        hint="It gets a test first, then all unread items."
        error={fault?.fields.url}
      />
      <FormProblem fault={fault} />
      <div className="flex gap-3">
        <Button type="submit" variant="primary" busy={busy}>
          Save
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </div>
    </form>
  );
}
