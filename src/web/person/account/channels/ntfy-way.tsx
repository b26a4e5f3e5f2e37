/** The set-up of ntfy: a topic that Relay makes, or the person's own, subscribed to in the app. */

import { type FormEvent, useState } from "react";
import type { Channel } from "../../../state/api.ts";
import { Button } from "../../../ui/button.tsx";
import { Switch, TextField } from "../../../ui/field.tsx";
import { FormProblem } from "../../../ui/parts.tsx";
import { QrImage } from "../../../ui/qr-image.tsx";
import { Snippet } from "../../../ui/secret.tsx";
import { useAction } from "../../../ui/use-action.ts";
import { useSession } from "../../use-store.ts";
import { ProblemNote, useChannelCheck } from "./channel-problem.tsx";
import { ProvenTest } from "./proven-test.tsx";

/** Where to get the app. */
const APPS = [
  ["Google Play", "https://play.google.com/store/apps/details?id=io.heckel.ntfy"],
  ["F-Droid", "https://f-droid.org/packages/io.heckel.ntfy/"],
  ["App Store", "https://apps.apple.com/app/ntfy/id1625396347"],
] as const;

/** What lets phones write replies to a server that protects its topics (§19.8.4). */
const GRANT = "ntfy access everyone 'relay-reply-*' write-only";

interface WayProps {
  readonly onAdded: (channel: Channel) => void;
  readonly onReached: () => void;
}

interface Made {
  readonly channel: Channel;
  /** The topic that Relay made; null for a topic of the person's own, to which they have subscribed. */
  readonly url: string | null;
}

export function NtfyWay({ onAdded, onReached }: WayProps) {
  const [made, setMade] = useState<Made | null>(null);
  const [subscribed, setSubscribed] = useState(false);
  if (!made) {
    return (
      <NtfyForm
        onMade={(next) => {
          setMade(next);
          onAdded(next.channel);
        }}
      />
    );
  }
  const { channel, url } = made;
  return (
    <>
      {url !== null && !subscribed && (
        <Topic url={url} channel={channel} onSubscribed={() => setSubscribed(true)} />
      )}
      {(url === null || subscribed) && (
        <ProvenTest id={channel.id} is_here={false} onReached={onReached} />
      )}
    </>
  );
}

function NtfyForm({ onMade }: { onMade: (made: Made) => void }) {
  const { api } = useSession();
  const { busy, fault, run } = useAction();
  const [own, setOwn] = useState(false);
  const [url, setUrl] = useState("");
  const [token, setToken] = useState("");
  /** Whether questions to the person's own topic have buttons; null: if there is a token. */
  const [chosen, setButtons] = useState<boolean | null>(null);
  const given = own ? url.trim() : "";
  const has_topic = given.replace(/^https?:\/\/[^/]*\/?/, "") !== "";
  const buttons = chosen ?? token.trim() !== "";
  const check = useChannelCheck({ type: "ntfy", ...(given !== "" && { url: given }) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      if (!(await check.passes())) return;
      const { channel, url: made } = await api.channels.create.mutate({
        type: "ntfy",
        label: "ntfy",
        ...(given !== "" && { url: given }),
        ...(own && token.trim() !== "" && { token: token.trim() }),
        // Nobody else knows a topic that Relay makes.
        buttons: has_topic ? buttons : true,
      });
      onMade({ channel, url: made ?? null });
    });
  };
  return (
    <form onSubmit={submit} className="space-y-5">
      <p>
        Relay makes a topic with a name that nobody can guess, and you subscribe to it in the ntfy
        app.
      </p>
      <Switch
        label="Use my own server or topic"
        hint="Otherwise, the topic is on the server that this Relay uses."
        checked={own}
        onChange={({ target }) => setOwn(target.checked)}
      />
      {own && (
        <>
          <TextField
            label="URL of the server or topic"
            name="url"
            type="url"
            inputMode="url"
            required
            value={url}
            onChange={({ target }) => setUrl(target.value)}
            placeholder="https://ntfy.example.com"
            hint={
              has_topic
                ? "Anyone who knows the topic can read it."
                : "Without a topic, Relay makes one there."
            }
            error={fault?.fields.url}
          />
          <TextField
            label="Access token"
            name="token"
            type="password"
            autoComplete="off"
            value={token}
            onChange={({ target }) => setToken(target.value)}
            hint={
              has_topic ? "Only if the topic is protected." : "Only if the server is protected."
            }
            error={fault?.fields.token}
          />
          {has_topic ? (
            <Switch
              label="Buttons to answer questions"
              hint="Anyone who reads the topic can use them: protect it with an access token."
              checked={buttons}
              onChange={({ target }) => setButtons(target.checked)}
            />
          ) : (
            token.trim() !== "" && (
              <div className="space-y-2 text-soft text-sm">
                <p>
                  On a protected server, the token's user must be allowed to read and write{" "}
                  <code className="font-mono">relay-*</code>, and phones to send answers. Run there:
                </p>
                <Snippet text={GRANT} name="command" />
              </div>
            )
          )}
        </>
      )}
      <FormProblem fault={fault} />
      <ProblemNote problem={check.problem} />
      <Button type="submit" variant="primary" busy={busy} className="w-full">
        {check.problem?.refused === false
          ? "Add it anyway"
          : has_topic
            ? "Add this topic"
            : "Make a topic"}
      </Button>
    </form>
  );
}

interface TopicProps extends Pick<Made, "channel"> {
  readonly url: string;
  readonly onSubscribed: () => void;
}

/** How to subscribe to a topic that was made. */
function Topic({ url, channel, onSubscribed }: TopicProps) {
  const { host, protocol, origin, pathname } = new URL(url);
  const topic = pathname.slice(1);
  const link = `ntfy://${host}/${topic}${protocol === "http:" ? "?secure=false" : ""}`;
  return (
    <div className="space-y-4">
      <p>
        {"1. Get the ntfy app: "}
        {APPS.map(([name, href], at) => (
          <span key={name}>
            {at > 0 && " · "}
            <a
              href={href}
              target="_blank"
              rel="noreferrer"
              className="font-medium text-accent underline"
            >
              {name}
            </a>
          </span>
        ))}
      </p>
      <div className="space-y-3">
        <p>
          {"2. On Android, scan this with the camera, or "}
          <a href={link} className="font-medium text-accent underline">
            open it on this phone
          </a>
          .
        </p>
        <QrImage text={link} label="QR code that subscribes to the topic in the ntfy app" />
        <p>On an iPhone, tap + in the app and enter this topic:</p>
        <Snippet text={topic} name="topic" />
        <p className="text-soft text-sm">
          {origin === "https://ntfy.sh"
            ? "The server is ntfy.sh, the app's default."
            : `Choose “Use another server” there, and enter ${origin}.`}
        </p>
      </div>
      <p className="rounded-xl bg-sunken px-4 py-3 text-soft text-sm">
        {channel.replies
          ? "Your answers come back through the ntfy server, so this works in any network. Questions that ask for text can be answered only on this page. Requests for permission can be allowed only here, unless the topic has an access token."
          : "The buttons call Relay at its own address, so they work wherever your phone can reach it."}
      </p>
      <Button variant="primary" className="w-full" onClick={onSubscribed}>
        3. I've subscribed: send a test
      </Button>
    </div>
  );
}
