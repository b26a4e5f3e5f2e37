/** "How should Relay reach you?": the ways, each with what it needs, and the set-up of the one chosen. */

import type { LucideIcon } from "lucide-react";
import {
  ArrowLeft,
  BellRing,
  ChevronRight,
  MessageCircle,
  MonitorSmartphone,
  Webhook,
} from "lucide-react";
import { type ReactNode, useState, useSyncExternalStore } from "react";
import type { Channel } from "../../../state/api.ts";
import { serverKey } from "../../../state/push.ts";
import { onPushChannel, pushChannelId } from "../../../state/push-channel.ts";
import { Button } from "../../../ui/button.tsx";
import { useLoaded } from "../../../ui/use-loaded.ts";
import { useSession, useStore } from "../../use-store.ts";
import { NewWebhookForm } from "./channel-form.tsx";
import { NtfyWay } from "./ntfy-way.tsx";
import { ProvenTest } from "./proven-test.tsx";
import { pushSupport } from "./push-support.ts";
import { TelegramWay } from "./telegram-way.tsx";
import { Impossible, NotOnServer, ThisDevice } from "./this-device.tsx";

type Way = "browser" | "telegram" | "ntfy" | "webhook";

interface About {
  readonly icon: LucideIcon;
  readonly name: string;
  /** What it needs. */
  readonly needs: string;
  /** Who can see what is sent. */
  readonly seen: string;
}

const ABOUT: Readonly<Record<Way, About>> = {
  browser: {
    icon: MonitorSmartphone,
    name: "This browser",
    needs: "Nothing to install. Notifications arrive while the browser runs.",
    seen: "Who sees what: messages are encrypted for this browser. Its maker's push service sees only when a message is sent.",
  },
  telegram: {
    icon: MessageCircle,
    name: "Telegram",
    needs: "The Telegram app. You can answer every question there, from any network.",
    seen: "Who sees what: Telegram, and whoever runs the bot, can read your questions and answers.",
  },
  ntfy: {
    icon: BellRing,
    name: "ntfy",
    needs: "The ntfy app, without an account. Questions with up to 3 options have buttons.",
    seen: "Who sees what: whoever runs the ntfy server, and anyone who knows the topic, can read your questions and press their buttons.",
  },
  webhook: {
    icon: Webhook,
    name: "Webhook",
    needs: "A program of your own. It gets each event, signed.",
    seen: "Who sees what: only the receiver. It gets the full content.",
  },
};

interface WaysProps {
  /** Ways that are offered besides the others. */
  readonly webhook?: boolean;
  /** Called with each channel that was added. `secret`: of a webhook. */
  readonly onAdded: (channel: Pick<Channel, "id" | "label">, secret: string | null) => void;
  /** Called when a test has reached the person. */
  readonly onReached: () => void;
}

export function Ways({ webhook = false, onAdded, onReached }: WaysProps) {
  const [chosen, choose] = useState<Way | null>(null);
  const [added, setAdded] = useState<string | null>(null);
  const add = (channel: Pick<Channel, "id" | "label">, secret: string | null = null) => {
    setAdded(channel.id);
    onAdded(channel, secret);
  };
  if (chosen === null) {
    const more = webhook ? (["webhook"] as const) : [];
    return (
      <>
        <h2 className="sr-only">Ways</h2>
        <ul aria-label="Ways" className="space-y-3">
          <li>
            <BrowserCard onChoose={() => choose("browser")} />
          </li>
          {(["telegram", "ntfy", ...more] as const).map((way) => (
            <li key={way}>
              <Card way={way} onChoose={() => choose(way)} />
            </li>
          ))}
        </ul>
      </>
    );
  }
  const { icon: Icon, name, seen } = ABOUT[chosen];
  return (
    <section aria-label={name} className="space-y-5">
      <div className="flex flex-wrap items-center gap-3">
        <Icon aria-hidden className="size-6 shrink-0 text-accent" />
        <h2 className="font-semibold text-lg">{name}</h2>
        <Button
          variant="quiet"
          className="ml-auto"
          onClick={() => {
            choose(null);
            setAdded(null);
          }}
        >
          <ArrowLeft aria-hidden className="size-4" />
          Other ways
        </Button>
      </div>
      {chosen === "browser" && <BrowserWay onReached={onReached} />}
      {chosen === "telegram" && added === null && <TelegramWay onAdded={add} />}
      {chosen === "ntfy" && <NtfyWay onAdded={add} onReached={onReached} />}
      {chosen === "webhook" && <NewWebhookForm onCreated={add} />}
      {chosen === "telegram" && added !== null && (
        <ProvenTest id={added} is_here={false} onReached={onReached} />
      )}
      <p className="text-faint text-sm">{seen}</p>
    </section>
  );
}

function Card({ way, onChoose }: { way: Way; onChoose: () => void }) {
  const { icon: Icon, name, needs } = ABOUT[way];
  return (
    <button
      type="button"
      onClick={onChoose}
      className="flex w-full items-center gap-3 rounded-xl border border-edge/60 bg-surface px-4 py-3 text-left transition-colors hover:bg-sunken"
    >
      <Icon aria-hidden className="size-6 shrink-0 text-accent" />
      <span className="min-w-0 flex-1">
        <span className="block font-medium">{name}</span>
        <span className="block text-soft text-sm">{needs}</span>
      </span>
      <ChevronRight aria-hidden className="size-5 shrink-0 text-faint" />
    </button>
  );
}

/** A way that cannot work here says why, and what would make it work, in place of a choice. */
function BrowserCard({ onChoose }: { onChoose: () => void }) {
  const { api } = useSession();
  const loads = useStore((store) => store.loads());
  const support = pushSupport();
  const asks = support === "supported";
  const { value: server } = useLoaded(asks ? loads : null, async () => ({
    key: await serverKey(api),
  }));
  if (!asks)
    return (
      <Unusable>
        <Impossible why={support} />
      </Unusable>
    );
  if (server?.key === null)
    return (
      <Unusable>
        <NotOnServer />
      </Unusable>
    );
  return <Card way="browser" onChoose={onChoose} />;
}

const Unusable = ({ children }: { children: ReactNode }) => (
  <div className="rounded-xl border border-line border-dashed px-4 py-3">{children}</div>
);

function BrowserWay({ onReached }: { onReached: () => void }) {
  const id = useSyncExternalStore(onPushChannel, pushChannelId);
  return (
    <>
      <ThisDevice />
      {id !== null && <ProvenTest key={id} id={id} is_here onReached={onReached} />}
    </>
  );
}
