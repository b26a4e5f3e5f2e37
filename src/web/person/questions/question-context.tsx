/** What an agent adds to the prompt: context, a link, and what it does if nobody answers. */

import { ExternalLink, Quote } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Question } from "../../state/api.ts";
import { Button } from "../../ui/button.tsx";
import { Cut } from "../../ui/cut.tsx";
import { Prose } from "../../ui/prose.tsx";
import { timeLeft } from "../../ui/time.ts";
import { urlOf } from "../../ui/url.ts";
import { useNow } from "../../ui/use-now.ts";
import { labelOf, useKey } from "../use-store.ts";
import type { Details } from "./use-details.ts";

/** Lines of a context that are shown until the person opens it. */
const LINES = 16;
/** Lines of a fallback that are shown until the person opens it. */
const FALLBACK_LINES = 4;
/** Characters of a fallback, at most, that is shown on one line with its time. */
const SHORT = 60;

interface ContextProps {
  readonly question: Question;
  readonly details: Details;
}

export function QuestionContext({ question, details }: ContextProps) {
  const { url, context_omitted = question.context !== undefined } = question;
  if (url === undefined && !context_omitted) return null;
  return (
    <AgentWords key_id={question.key_id}>
      {context_omitted && <Context {...details} />}
      {url !== undefined && <QuestionLink url={url} />}
    </AgentWords>
  );
}

interface AgentWordsProps {
  readonly key_id: string;
  /** Before the name of the agent. */
  readonly what?: string;
  readonly children: ReactNode;
}

/** A frame that says which agent wrote the words in it (§2.5.4). */
export function AgentWords({ key_id, what = "From ", children }: AgentWordsProps) {
  const key = useKey(key_id);
  return (
    // Not a section: there may be several, and landmarks need unique names.
    <figure
      aria-label={`${what}the agent`}
      className="isolate mt-3 overflow-clip rounded-xl border border-edge border-dashed bg-sunken"
    >
      <p className="flex items-center gap-1.5 border-edge border-b border-dashed px-3.5 py-1.5 text-soft text-sm">
        <Quote aria-hidden className="size-3.5 shrink-0" />
        <span className="said min-w-0">
          {what}
          <bdi>{labelOf(key)}</bdi>
        </span>
      </p>
      {children}
    </figure>
  );
}

function Context({ context: text, failed, retry }: Details) {
  const [open, setOpen] = useState(false);
  return (
    <div className="px-3.5 py-2.5">
      {text !== null ? (
        <Prose
          text={text}
          with_source
          around={(context) => (
            <Cut lines={LINES} open={open} onOpen={setOpen} notice="The end isn't shown.">
              {context}
            </Cut>
          )}
        />
      ) : failed ? (
        <div className="flex flex-wrap items-center gap-x-3 text-soft text-sm">
          The context didn't load.
          <Button variant="quiet" onClick={retry}>
            Try again
          </Button>
        </div>
      ) : (
        <p className="text-soft text-sm">Loading context…</p>
      )}
    </div>
  );
}

/** A link to another site. It shows the host in full, or its end, which identifies the site. */
function QuestionLink({ url: address }: { url: string }) {
  const url = urlOf(address);
  if (!url || !/^https?:$/.test(url.protocol)) return null;
  const { host, pathname, search, hash } = url;
  const rest = `${pathname}${search}${hash}`;
  return (
    <p className="px-3.5 py-1.5">
      <a
        href={url.href}
        target="_blank"
        rel="noopener noreferrer"
        className="flex min-h-8 max-w-full items-start gap-1.5 py-0.5 text-accent hover:underline"
      >
        <ExternalLink aria-hidden className="mt-1 size-4 shrink-0" />
        <span className="min-w-0">
          <bdi dir="ltr" className="break-all font-medium">
            {host}
          </bdi>
          {rest !== "/" && (
            <bdi dir="ltr" className="block truncate text-soft text-sm">
              {rest}
            </bdi>
          )}
        </span>
      </a>
    </p>
  );
}

/** What the agent does without an answer, and when (§2.5.3). */
export function Fallback({ question }: { question: Question }) {
  const { fallback, expires_at, status } = question;
  const seconds = expires_at - useNow();
  const [open, setOpen] = useState(false);
  if (fallback === undefined) return null;
  const words = (
    <bdi dir="auto" className="said whitespace-pre-wrap font-medium text-ink">
      {fallback}
    </bdi>
  );
  const is_open = status === "pending" && seconds > 0;
  const title = is_open ? "If you don't answer" : "Without an answer";
  const time = is_open && <span className="tabular-nums">{` (${timeLeft(seconds)} left)`}</span>;
  if (fallback.length <= SHORT && !fallback.includes("\n")) {
    return (
      <p className="mt-3 text-soft text-sm">
        {`${title}: `}
        {words}
        {time}
      </p>
    );
  }
  // The time comes first, so that a long text cannot push it out of view.
  return (
    <div className="mt-3 text-soft text-sm">
      <p>
        {title}
        {time}:
      </p>
      <Cut lines={FALLBACK_LINES} open={open} onOpen={setOpen} notice="The end isn't shown.">
        <p>{words}</p>
      </Cut>
    </div>
  );
}
