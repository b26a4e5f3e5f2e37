/**
 * The webhook that an agent's inbox items are posted to: shows, sets and removes it
 * (§5.4.10).
 */

import { useState } from "react";
import type { Key } from "../../state/api.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { FieldForm } from "../../ui/field-form.tsx";
import { Badge } from "../../ui/parts.tsx";
import { toast } from "../../ui/toast.tsx";
import { useLoaded } from "../../ui/use-loaded.ts";
import { ProblemNote, useChannelCheck } from "../account/channels/channel-problem.tsx";
import { STATE_NAMES } from "../account/channels/channel-words.ts";
import { forgetNewSecret, keepNewSecret, NewSecrets } from "../account/channels/new-secrets.tsx";
import { SentLines } from "../account/channels/sent-lines.tsx";
import { TrialNote, useTrialEnd } from "../account/trial.tsx";
import { useSession, useStore } from "../use-store.ts";

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
  const { api, store, ended } = useSession();
  const webhook = useWebhook(agent);
  const [editing, setEditing] = useState(false);
  const [removing, setRemoving] = useState(false);
  const in_trial = useTrialEnd() !== null;
  const set = async (url: string) => {
    const { id, label } = agent;
    const { secret } = await api.keys.setWebhook.mutate({ key_id: id, url });
    forgetNewSecret(id);
    keepNewSecret({ id, label, secret }, ended.signal);
  };
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
        Relay posts new items of this agent's inbox to a URL, so the agent doesn't have to poll.
      </p>
      <NewSecrets wants={(id) => id === agent.id} />
      {webhook ? <Details webhook={webhook} /> : !editing && <p className="text-faint">None</p>}
      {editing && <UrlForm save={set} onDone={() => setEditing(false)} />}
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
        Items not posted yet stay unread in the agent's inbox.
      </Confirm>
    </section>
  );
}

interface UrlFormProps {
  readonly save: (url: string) => Promise<void>;
  /** Called when the URL is saved, or the person cancels. */
  readonly onDone: () => void;
}

/** Asks for the URL, and says before it saves what would not work here. */
function UrlForm({ save, onDone }: UrlFormProps) {
  const [typed, setTyped] = useState("");
  const url = typed.trim();
  const check = useChannelCheck({ type: "webhook", url });
  return (
    <FieldForm
      label="URL"
      name="url"
      type="url"
      inputMode="url"
      placeholder="https://example.com/hook"
      hint="It gets a test first, then all unread items."
      initial=""
      onType={setTyped}
      save={async () => ((await check.passes()) ? save(url) : false)}
      note={<ProblemNote problem={check.problem} />}
      action={check.problem?.refused === false ? "Save anyway" : "Save"}
      onDone={onDone}
      className="mt-4"
    />
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
