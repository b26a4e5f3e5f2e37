/** Relative times, with the exact time on request. */

import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { ago, fullTime } from "./time.ts";
import { useNow } from "./use-now.ts";

/** Pixels between a time and its tooltip, and between the tooltip and the edge of the window. */
const GAP = 6;

/** Relative time. The exact time shows on hover, focus and tap; Escape hides it. */
export function Ago({ at }: { at: number }) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const hide = () => setOpen(false);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!open || event.key !== "Escape") return;
    // Escape closes only the tooltip, not the dialog around it.
    event.stopPropagation();
    hide();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        data-time
        aria-describedby={open ? id : undefined}
        onPointerEnter={({ pointerType }) => pointerType === "mouse" && setOpen(true)}
        onPointerLeave={({ pointerType }) => pointerType === "mouse" && hide()}
        onFocus={() => setOpen(true)}
        onBlur={hide}
        // Safari does not focus buttons that are clicked.
        onClick={() => setOpen(true)}
        onKeyDown={onKeyDown}
        className="rounded-sm text-left"
      >
        <RelativeTime at={at} />
      </button>
      {open && <ExactTime id={id} at={at} of={button.current!} onHide={hide} />}
    </>
  );
}

/**
 * Relative time inside a link, which cannot contain a control: the exact time shows only on hover.
 * A tap or Enter follows the link, to a view that shows the time as an {@link Ago}.
 */
export function AgoInLink({ at }: { at: number }) {
  return <RelativeTime at={at} title={fullTime(at)} />;
}

interface LineWithAgoProps {
  readonly at: number;
  /** Stands between the two; with its spaces. */
  readonly separator: string;
  readonly children: ReactNode;
}

/**
 * One line of phrasing content inside a link, with its time at the end. The content is cut if it is too long, but not
 * the time. Names and texts in it need a `bdi`.
 */
export function LineWithAgo({ at, separator, children }: LineWithAgoProps) {
  return (
    <span className="flex min-w-0 flex-1">
      <span className="truncate">{children}</span>
      <span className="shrink-0 whitespace-pre">
        {separator}
        <AgoInLink at={at} />
      </span>
    </span>
  );
}

function RelativeTime({ at, title }: { at: number; title?: string }) {
  const now = useNow(15);
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={title}>
      {ago(at, now)}
    </time>
  );
}

interface ExactTimeProps {
  readonly id: string;
  readonly at: number;
  readonly of: HTMLElement;
  readonly onHide: () => void;
}

/** The tooltip. It is a popover, since the card around it would clip a positioned element. */
function ExactTime({ id, at, of, onHide }: ExactTimeProps) {
  const tip = useRef<HTMLSpanElement>(null);
  const hide = useRef(onHide);
  hide.current = onHide;
  useEffect(() => {
    const { current: shown } = tip;
    if (!shown) return;
    // Safari before 17 has no popovers: there it is positioned like one, but a dialog may cover it.
    if ("popover" in shown) {
      shown.popover = "manual";
      shown.showPopover();
    }
    const place = () => {
      const around = of.getBoundingClientRect();
      const { width, height } = shown.getBoundingClientRect();
      const room = document.documentElement.clientWidth - width - GAP;
      const left = around.left + (around.width - width) / 2;
      const above = around.top - height - GAP;
      shown.style.left = `${Math.max(GAP, Math.min(left, room))}px`;
      shown.style.top = `${above < GAP ? around.bottom + GAP : above}px`;
    };
    place();
    const onPointerDown = ({ target }: Event) => {
      if (!of.contains(target as Node)) hide.current();
    };
    window.addEventListener("scroll", place, { capture: true, passive: true });
    window.addEventListener("pointerdown", onPointerDown);
    return () => {
      window.removeEventListener("scroll", place, { capture: true });
      window.removeEventListener("pointerdown", onPointerDown);
    };
  }, [of]);
  return (
    <span
      ref={tip}
      id={id}
      role="tooltip"
      className="pointer-events-none fixed m-0 max-w-[calc(100vw-0.75rem)] rounded-lg bg-ink px-2.5 py-1.5 font-medium text-bg text-xs leading-4 shadow-lift"
    >
      {fullTime(at)}
    </span>
  );
}
