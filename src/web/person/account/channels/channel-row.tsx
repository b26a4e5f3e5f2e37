/** One channel: its state, and buttons to test, edit and delete it. */

import type { LucideIcon } from "lucide-react";
import {
  BellRing,
  MessageCircle,
  MonitorSmartphone,
  Pencil,
  Send,
  Trash2,
  Webhook,
} from "lucide-react";
import { useState, useSyncExternalStore } from "react";
import type { Channel } from "../../../state/api.ts";
import { onPushChannel, pushChannelId } from "../../../state/push-channel.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Badge } from "../../../ui/parts.tsx";
import { ChannelTest } from "./channel-test.tsx";
import { STATE_NAMES, sendsText, TYPE_NAMES } from "./channel-words.ts";
import { SentLines } from "./sent-lines.tsx";

const ICONS: Readonly<Record<Channel["type"], LucideIcon>> = {
  ntfy: BellRing,
  web_push: MonitorSmartphone,
  webhook: Webhook,
  telegram: MessageCircle,
};

interface RowProps {
  readonly channel: Channel;
  /** True: this browser may not change or test the channel, unless it is its own. */
  readonly fixed: boolean;
  readonly onEdit: () => void;
  readonly onDelete: () => void;
  /** Called after a test, which may have changed the state of the channel. */
  readonly onTested: () => void;
}

export function ChannelRow({ channel, fixed, onEdit, onDelete, onTested }: RowProps) {
  const { id, type, label, state } = channel;
  const [tests, setTests] = useState(0);
  const [testing, setTesting] = useState(false);
  const [tone, name] = STATE_NAMES[state];
  const Icon = ICONS[type];
  const is_here = useSyncExternalStore(onPushChannel, pushChannelId) === id;
  return (
    <>
      <div className="flex items-start gap-3">
        <Icon aria-hidden className="mt-0.5 size-5 shrink-0 text-soft" />
        <div className="min-w-0 flex-1">
          <p className="flex flex-wrap items-center gap-x-2">
            <bdi dir="auto" className="said min-w-0 font-medium">
              {label}
            </bdi>
            {is_here && <Badge tone="accent">This browser</Badge>}
            <Badge tone={tone}>{name}</Badge>
          </p>
          <Details channel={channel} />
        </div>
      </div>
      <div className="pl-8">
        <div className="flex items-center">
          {(is_here || !fixed) && (
            <>
              <Button
                variant="quiet"
                className="-ml-4"
                busy={testing}
                onClick={() => {
                  setTesting(true);
                  setTests(tests + 1);
                }}
              >
                <Send aria-hidden className="size-4" />
                Send a test
                <span className="sr-only"> to {label}</span>
              </Button>
              <IconButton label={`Edit ${label}`} onClick={onEdit}>
                <Pencil aria-hidden className="size-4.5" />
              </IconButton>
              <IconButton label={`Delete ${label}`} onClick={onDelete}>
                <Trash2 aria-hidden className="size-4.5" />
              </IconButton>
            </>
          )}
        </div>
        {tests > 0 && (
          <ChannelTest
            key={tests}
            id={id}
            is_here={is_here}
            onDone={() => {
              setTesting(false);
              onTested();
            }}
          />
        )}
      </div>
    </>
  );
}

function Details({ channel }: { channel: Channel }) {
  const { type, origin, hint, quiet_hours, state } = channel;
  return (
    <div className="said space-y-0.5 text-faint text-sm">
      {/* The address of a push service means nothing to the person. */}
      <p>{type === "web_push" ? TYPE_NAMES[type] : `${TYPE_NAMES[type]} · ${origin}/…${hint}`}</p>
      <p>
        {sendsText(channel)}
        {/* A webhook has no sound. */}
        {quiet_hours &&
          type !== "webhook" &&
          ` · Silent from ${quiet_hours.from} to ${quiet_hours.to}, ${quiet_hours.time_zone}`}
      </p>
      <SentLines of={channel} noun="event" />
      {state === "gone" && (
        <p className="text-warn">
          {type === "web_push"
            ? "This browser no longer accepts notifications. It reconnects when you next open Relay there."
            : "Nothing more is sent until a test succeeds."}
        </p>
      )}
    </div>
  );
}
