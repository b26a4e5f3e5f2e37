/** The notification channels of the account (§19). */

import { Plus } from "lucide-react";
import { useEffect, useState } from "react";
import { every } from "../../../clock.ts";
import type { Channel } from "../../../state/api.ts";
import { unsubscribe } from "../../../state/push.ts";
import { onPushChannel, pushChannelId } from "../../../state/push-channel.ts";
import { noteReach } from "../../../state/reach.ts";
import { Button } from "../../../ui/button.tsx";
import { Confirm, Sheet } from "../../../ui/dialog.tsx";
import { Problem, Skeleton } from "../../../ui/parts.tsx";
import { useLoaded } from "../../../ui/use-loaded.ts";
import { useSession, useStore } from "../../use-store.ts";
import { useTrialEnd } from "../trial.tsx";
import { EditChannelForm } from "./channel-form.tsx";
import { ChannelRow } from "./channel-row.tsx";
import { forgetNewSecret, keepNewSecret, NewSecrets } from "./new-secrets.tsx";
import { ThisDevice } from "./this-device.tsx";
import { Ways } from "./ways.tsx";

/** Seconds between two loads of the channels, which have no events. */
const EVERY = 30;

/** The channels, newest first; null before the first load. */
function useChannels() {
  const { api } = useSession();
  const live = useStore((store) => store.connection() === "live");
  const loads = useStore((store) => store.loads());
  const { value, fault, load } = useLoaded(loads, async () => {
    const found = await api.channels.list.query({});
    noteReach(found.channels);
    return found;
  });
  // This browser's own channel was made or deleted.
  useEffect(() => onPushChannel(() => void load()), [load]);
  useEffect(() => (live ? every(EVERY, () => void load()) : undefined), [live, load]);
  return { all: value?.channels ?? null, fault, load };
}

export function ChannelSettings() {
  const { api, ended } = useSession();
  const { all, fault, load } = useChannels();
  const in_trial = useTrialEnd() !== null;
  const [adding, setAdding] = useState(false);
  const [editing, setEditing] = useState<Channel | null>(null);
  const [deleting, setDeleting] = useState<Channel | null>(null);
  const remove = async ({ id }: Channel) => {
    try {
      if (id === pushChannelId()) await unsubscribe(api);
      else await api.channels.delete.mutate({ channel_id: id });
      forgetNewSecret(id);
    } finally {
      // The channel may be gone even though the response was lost.
      await load();
    }
  };
  return (
    <div className="space-y-4">
      <ThisDevice />
      <h3 className="border-line border-t pt-4 font-semibold">Channels</h3>
      {fault && <Problem>{fault.message}</Problem>}
      <NewSecrets wants={(id) => id.startsWith("chn_")} />
      {all === null ? (
        !fault && <Skeleton rows={1} label="Loading channels" />
      ) : all.length === 0 ? (
        <p className="text-soft">
          No channels yet. A channel reaches you while this page is closed: through a browser,
          Telegram, the ntfy app or your own program.
        </p>
      ) : (
        <ul aria-label="Channels" className="divide-y divide-line">
          {all.map((channel) => (
            <li key={channel.id} className="py-3 first:pt-0">
              <ChannelRow
                channel={channel}
                fixed={in_trial}
                onEdit={() => setEditing(channel)}
                onDelete={() => setDeleting(channel)}
                onTested={() => void load()}
              />
            </li>
          ))}
        </ul>
      )}
      {!in_trial && (
        <Button onClick={() => setAdding(true)}>
          <Plus aria-hidden className="size-4.5" />
          Add a channel
        </Button>
      )}
      <Sheet open={adding} onClose={() => setAdding(false)} title="How should Relay reach you?">
        <Ways
          webhook
          onAdded={({ id, label }, secret) => {
            void load();
            if (secret === null) return;
            keepNewSecret({ id, label, secret }, ended.signal);
            setAdding(false);
          }}
          onReached={() => void load()}
        />
      </Sheet>
      <Sheet open={editing !== null} onClose={() => setEditing(null)} title="Edit channel">
        {editing && (
          <EditChannelForm
            channel={editing}
            onSaved={() => {
              setEditing(null);
              void load();
            }}
          />
        )}
      </Sheet>
      <Confirm
        open={deleting !== null}
        onClose={() => setDeleting(null)}
        title={
          <>
            Delete <bdi>{deleting?.label ?? "this channel"}</bdi>?
          </>
        }
        action="Delete channel"
        onConfirm={() => remove(deleting!)}
      >
        Notifications still waiting for it won't be sent.
      </Confirm>
    </div>
  );
}
