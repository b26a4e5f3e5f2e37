/**
 * The content of a permission prompt: the whole command, diff or arguments, and where it would run.
 * Texts of the agent are in a fixed-width font, apart from Relay's own (§2.5.5).
 */

import { Bot, Folder, Server, SquareTerminal } from "lucide-react";
import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { after } from "../../clock.ts";
import type { Question } from "../../state/api.ts";
import { Button } from "../../ui/button.tsx";
import { classes } from "../../ui/classes.ts";
import { diffColor } from "../../ui/code.tsx";
import { Cut } from "../../ui/cut.tsx";
import { MISCLICK_DELAY } from "../../ui/misclick-guard.ts";
import { useMeasured } from "../../ui/use-measured.ts";
import { linesOf, type Part, partsOf, Visible } from "../../ui/visible.tsx";
import { ANY, useInView } from "../use-in-view.ts";
import { type Action, FORMS, headlineOf, shortSession } from "./permission-words.ts";
import { AgentWords } from "./question-context.tsx";
import type { Details } from "./use-details.ts";

interface PermissionProps {
  readonly question: Question;
  readonly action: Action;
  readonly details: Details;
  /** Called once the end of the text has been in view. */
  readonly onRead?: ((read: true) => void) | undefined;
}

export function Permission({ question, action, details, onRead }: PermissionProps) {
  const { id, key_id } = question;
  const { tool, host, folder, session, agent, other_arguments = [], grants = [] } = action;
  return (
    <>
      <h2 id={`${id}-prompt`} className="mt-2 text-lg leading-snug">
        {headlineOf(action)}
      </h2>
      <div className="isolate mt-2 overflow-clip rounded-xl border border-edge bg-sunken">
        <div className="border-line border-b px-3.5 py-1.5 text-soft text-sm">
          <FixedWidth text={tool} />
          {other_arguments.map((argument) => (
            <div key={argument}>
              <FixedWidth text={argument} />
            </div>
          ))}
        </div>
        {details.text !== null ? (
          <ActionText id={id} form={action.form} text={details.text} onRead={onRead} />
        ) : (
          <div
            id={`${id}-read`}
            className="flex flex-wrap items-center gap-x-3 px-3.5 py-2 text-soft text-sm"
          >
            {details.failed ? (
              <>
                {`The ${FORMS[action.form]} didn't load.`}
                <Button variant="quiet" onClick={details.retry}>
                  Try again
                </Button>
              </>
            ) : (
              `Loading ${FORMS[action.form]}…`
            )}
          </div>
        )}
      </div>
      <dl className="mt-3 space-y-1 text-sm">
        <Place icon={Server} name="Host">
          {host && <Name text={host} />}
        </Place>
        <Place icon={Folder} name="Folder">
          {folder && <FixedWidth text={folder} />}
        </Place>
        <Place icon={SquareTerminal} name="Session">
          {session && <Name text={shortSession(session)} />}
        </Place>
        <Place icon={Bot} name="Subagent">
          {agent === undefined ? null : <Name text={agent} />}
        </Place>
      </dl>
      {details.context && (
        <AgentWords key_id={key_id}>
          <Description text={details.context} />
        </AgentWords>
      )}
      {grants.length > 0 && <Grants grants={grants} />}
    </>
  );
}

/** What "Allow for this session" permits beyond this one use. */
function Grants({ grants }: { grants: readonly string[] }) {
  return (
    <div className="mt-3 text-sm">
      <p className="text-soft">“Allow for this session” also allows, until the session ends:</p>
      <ul className="mt-1 list-disc space-y-0.5 pl-5 marker:text-faint">
        {[...new Set(grants)].map((grant) => (
          <li key={grant}>
            <FixedWidth text={grant} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function FixedWidth({ text }: { text: string }) {
  const parts = useMemo(() => partsOf(text), [text]);
  return (
    <span dir="ltr" translate="no" className="said whitespace-pre-wrap font-mono text-[0.8125rem]">
      <Visible parts={parts} />
    </span>
  );
}

/** Lines of a description that are shown until the person opens it. */
const LINES = 6;

/**
 * What the agent says about its request. Plain text, since Markdown could imitate the page by links
 * and headings.
 */
function Description({ text }: { text: string }) {
  const parts = useMemo(() => partsOf(text), [text]);
  const [open, setOpen] = useState(false);
  return (
    <div className="px-3.5 py-2.5">
      <Cut lines={LINES} open={open} onOpen={setOpen} notice="The end isn't shown.">
        <p dir="auto" className="said whitespace-pre-wrap">
          <Visible parts={parts} />
        </p>
      </Cut>
    </div>
  );
}

/** A name from the agent's machine that no decision depends on, and that can be shown in full. */
function Name({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  return (
    <Cut lines={2} open={open} onOpen={setOpen} notice="The end isn't shown.">
      <FixedWidth text={text} />
    </Cut>
  );
}

interface PlaceProps {
  readonly icon: typeof Server;
  readonly name: string;
  /** Null if the client did not say it. */
  readonly children: ReactNode;
}

function Place({ icon: Icon, name, children }: PlaceProps) {
  if (children === null) return null;
  return (
    <div className="flex items-start gap-2">
      <dt className="flex w-24 shrink-0 items-center gap-2 text-faint">
        <Icon aria-hidden className="size-4 shrink-0" />
        {name}
      </dt>
      <dd className="min-w-0 flex-1">{children}</dd>
    </div>
  );
}

interface ActionTextProps extends Pick<PermissionProps, "onRead"> {
  readonly id: string;
  readonly form: Action["form"];
  readonly text: string;
}

/**
 * The text, in a frame that scrolls until the person opens it. It counts as read once its beginning has been in view and
 * then its end, for {@link MISCLICK_DELAY}: the keys that move between cards, and the one that opens the frame, can bring
 * the end into view alone.
 */
function ActionText({ id, form, text, onRead }: ActionTextProps) {
  const frame = useRef<HTMLElement>(null);
  const beginning = useRef<HTMLSpanElement>(null);
  const end = useRef<HTMLSpanElement>(null);
  const [open, setOpen] = useState(false);
  const [read, setRead] = useState(false);
  const at_beginning = useInView(beginning, ANY);
  const [begun, setBegun] = useState(false);
  const at_end = useInView(end, ANY);
  const is_higher = useMeasured(frame, open, (one) => one.scrollHeight > one.clientHeight + 1);
  const is_long = is_higher || open;
  const lines = useMemo(() => linesOf(partsOf(text)), [text]);
  useEffect(() => {
    if (at_beginning) setBegun(true);
  }, [at_beginning]);
  // What opens above the window would push its end into view.
  useLayoutEffect(() => {
    const { current: shown } = frame;
    if (open && shown && shown.getBoundingClientRect().top < 0) shown.scrollIntoView();
  }, [open]);
  useEffect(() => {
    if (!begun || !at_end || read) return;
    return after(MISCLICK_DELAY, () => {
      setRead(true);
      onRead?.(true);
    });
  }, [begun, at_end, read, onRead]);
  const what = FORMS[form];
  return (
    <>
      <figure
        ref={frame}
        aria-label={`The ${what}`}
        dir="ltr"
        // What would run is shown as it is.
        translate="no"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys scroll it.
        tabIndex={0}
        // Elsewhere in a card, the arrow keys move between cards.
        onKeyDown={(event) => event.key.startsWith("Arrow") && event.stopPropagation()}
        className={classes(
          "overflow-y-auto overflow-x-clip py-2 font-mono text-[0.8125rem] leading-5 -outline-offset-2",
          !open && "max-h-[45dvh]",
        )}
      >
        <span ref={beginning} className="block h-px -mb-px" />
        {lines.map((line, at) => (
          <Line
            // biome-ignore lint/suspicious/noArrayIndexKey: lines of a text have no ids.
            key={at}
            line={line}
            color={form === "diff" && line[0] && "text" in line[0] ? diffColor(line[0].text) : ""}
          />
        ))}
        <span ref={end} className="block h-px" />
      </figure>
      {is_long && (
        <p className="flex flex-wrap items-center gap-x-2 border-line border-t px-3.5 py-1.5 text-sm">
          <span id={`${id}-read`} className={read || !onRead ? "text-soft" : "text-warn"}>
            {read || !onRead
              ? `The whole ${what}: ${sizeOf(text)}.`
              : `Scroll to the end of the ${what} to allow it: ${sizeOf(text)}.`}
          </span>
          <button
            type="button"
            data-cut
            aria-expanded={open}
            onClick={() => setOpen(!open)}
            className="min-h-6 font-medium text-accent hover:underline"
          >
            {open ? "Show less" : "Show all"}
          </button>
        </p>
      )}
    </>
  );
}

/** A line, with all characters from left to right; the rest of a wrapped line is indented. */
function Line({ line, color }: { line: readonly Part[]; color: string }) {
  return (
    <div
      className={classes(
        "min-h-5 whitespace-pre-wrap pr-3.5 pl-8 -indent-4.5 wrap-anywhere [tab-size:4] [unicode-bidi:bidi-override]",
        color,
      )}
    >
      <Visible parts={line} />
    </div>
  );
}

function sizeOf(text: string): string {
  const lines = text.replace(/\n$/, "").split("\n").length;
  const characters = [...text].length.toLocaleString("en-US");
  return `${lines === 1 ? "1 line" : `${lines.toLocaleString("en-US")} lines`}, ${characters} characters`;
}
