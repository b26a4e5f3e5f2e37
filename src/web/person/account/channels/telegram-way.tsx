/** The set-up of Telegram: a link to the operator's bot or an own one, and the confirmation of who opened it. */

import { type FormEvent, useEffect, useState } from "react";
import { every } from "../../../clock.ts";
import type { Channel, ChannelLink } from "../../../state/api.ts";
import { Button, ButtonLink } from "../../../ui/button.tsx";
import { TextField } from "../../../ui/field.tsx";
import { FormProblem, Problem, Skeleton } from "../../../ui/parts.tsx";
import { QrImage } from "../../../ui/qr-image.tsx";
import { timeLeft } from "../../../ui/time.ts";
import { useAction } from "../../../ui/use-action.ts";
import { useLoaded } from "../../../ui/use-loaded.ts";
import { useNow } from "../../../ui/use-now.ts";
import { useSession } from "../../use-store.ts";
import { ProblemNote, problemOf } from "./channel-problem.tsx";

/** Seconds between two looks whether somebody opened the link. */
const LOOK_EVERY = 1;
const NEW = { type: "telegram", label: "Telegram" } as const;

export function TelegramWay({ onAdded }: { onAdded: (channel: Channel) => void }) {
  const { api } = useSession();
  const [token, setToken] = useState<string | null>(null);
  /** A link that was made by an own bot, or again. */
  const [next, setNext] = useState<ChannelLink | null>(null);
  const making = useAction();
  const make = (by: string | null) =>
    api.channels.createLink.mutate({ ...NEW, ...(by !== null && { token: by }) });
  // The server's own bot first: only if it has none, the person needs one.
  const { value: first, fault, load } = useLoaded("once", () => make(null));
  const link = next ?? first;
  if (link) {
    return (
      <>
        <Link
          key={link.id}
          link={link}
          busy={making.busy}
          onAgain={() => void making.run(async () => setNext(await make(token)))}
          onConfirmed={onAdded}
        />
        {making.fault && <Problem>{making.fault.message}</Problem>}
      </>
    );
  }
  if (fault?.fields.token !== undefined) {
    return (
      <OwnBot
        making={making}
        onToken={(given) =>
          void making.run(async () => {
            setNext(await make(given));
            setToken(given);
          })
        }
      />
    );
  }
  if (fault) {
    return (
      <div className="space-y-4">
        <FormProblem fault={fault} />
        <Button onClick={() => void load()}>Try again</Button>
      </div>
    );
  }
  return <Skeleton rows={3} label="Making a link" />;
}

interface OwnBotProps {
  readonly making: Pick<ReturnType<typeof useAction>, "busy" | "fault">;
  readonly onToken: (token: string) => void;
}

/** This server has no bot: the person makes one. */
function OwnBot({ making: { busy, fault }, onToken }: OwnBotProps) {
  const { api } = useSession();
  const [token, setToken] = useState("");
  // Before the person makes a bot that could not be used here.
  const { value: problem } = useLoaded("once", () => problemOf(api, { type: "telegram" }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onToken(token.trim());
  };
  return (
    <form onSubmit={submit} className="space-y-5">
      <ProblemNote problem={problem ?? null} />
      <p>This server has no bot of its own. Make one, which takes a minute:</p>
      <ol className="list-decimal space-y-1 pl-5">
        <li>
          {"Open "}
          <a
            href="https://t.me/BotFather"
            target="_blank"
            rel="noreferrer"
            className="font-medium text-accent underline"
          >
            @BotFather
          </a>
          {" in Telegram, and send it /newbot."}
        </li>
        <li>Choose a name and a username for your bot.</li>
        <li>Copy the token that BotFather sends you, and paste it here.</li>
      </ol>
      <TextField
        label="Token of the bot"
        name="token"
        type="password"
        autoComplete="off"
        required
        value={token}
        onChange={({ target }) => setToken(target.value)}
        placeholder="123456789:AA…"
        error={fault?.fields.token}
      />
      <FormProblem fault={fault} />
      <Button type="submit" variant="primary" busy={busy} className="w-full">
        Continue
      </Button>
    </form>
  );
}

interface LinkProps {
  readonly link: ChannelLink;
  /** True: another one is being made. */
  readonly busy: boolean;
  readonly onAgain: () => void;
  readonly onConfirmed: (channel: Channel) => void;
}

function Link({ link: made, busy, onAgain, onConfirmed }: LinkProps) {
  const { api } = useSession();
  const [link, setLink] = useState(made);
  const confirm = useAction();
  const { id, from } = link;
  const seconds = link.expires_at - useNow();
  const is_open = from === null && seconds > 0;
  useEffect(() => {
    if (!is_open) return undefined;
    let over = false;
    const look = async () => {
      const found = await api.channels.getLink.query({ link_id: id }).catch(() => null);
      if (found && !over) setLink(found);
    };
    const stop = every(LOOK_EVERY, () => void look());
    return () => {
      over = true;
      stop();
    };
  }, [api, id, is_open]);
  if (seconds <= 0) {
    return (
      <div className="space-y-4">
        <p role="status">This link has expired.</p>
        <Button variant="primary" busy={busy} onClick={onAgain}>
          New link
        </Button>
      </div>
    );
  }
  if (from === null) {
    return (
      <div className="space-y-4">
        <p>Scan this with your phone's camera, and press Start in the chat that opens:</p>
        <QrImage text={link.link} label="QR code that opens the chat in Telegram" />
        <ButtonLink href={link.link} target="_blank" rel="noreferrer">
          Open Telegram here
        </ButtonLink>
        <p role="status" className="text-soft">
          Waiting for you to press Start…
        </p>
        <p className="text-faint text-sm tabular-nums">
          {`Works once. Expires in ${timeLeft(seconds)}.`}
        </p>
      </div>
    );
  }
  const confirmed = async () => {
    const { channel } = await api.channels.confirmLink.mutate({ link_id: id });
    onConfirmed(channel);
  };
  return (
    <div className="space-y-4">
      <p role="status" className="font-medium text-lg">
        <bdi className="said">{from.name}</bdi>
        {from.username !== null && <bdi className="said text-soft">{` @${from.username}`}</bdi>}
        {" pressed Start. Is this you?"}
      </p>
      <p className="text-soft">
        Whoever you confirm gets your questions, and can answer them as you.
      </p>
      <div className="flex flex-wrap gap-3">
        <Button variant="primary" busy={confirm.busy} onClick={() => void confirm.run(confirmed)}>
          Yes, confirm
        </Button>
        <Button busy={busy} onClick={onAgain}>
          No, make a new link
        </Button>
      </div>
      {confirm.fault && <Problem>{confirm.fault.message}</Problem>}
    </div>
  );
}
