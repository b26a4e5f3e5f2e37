/** Small components shared by several views. */

import { ChevronLeft, CloudOff, type LucideIcon } from "lucide-react";
import { type MouseEventHandler, type ReactNode, useEffect, useRef } from "react";
import type { Fault } from "../state/api.ts";
import { Button } from "./button.tsx";
import { classes } from "./classes.ts";

const TONES = {
  plain: "bg-sunken text-soft",
  accent: "bg-accent-soft text-accent",
  ok: "bg-ok-soft text-ok",
  warn: "bg-warn-soft text-warn",
  danger: "bg-danger-soft text-danger",
} as const;
export type Tone = keyof typeof TONES;

export function Badge({ tone = "plain", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={classes(
        "inline-flex shrink-0 items-center gap-1 rounded-full px-2 py-0.5 font-medium text-xs leading-5",
        TONES[tone],
      )}
    >
      {children}
    </span>
  );
}

interface ProgressProps {
  readonly value: number;
  readonly label: string;
  /** A thin bar along the edge of its container. */
  readonly thin?: boolean;
}

export function ProgressBar({ value, label, thin }: ProgressProps) {
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuenow={value}
      aria-valuemin={0}
      aria-valuemax={100}
      className={classes("overflow-hidden bg-sunken", thin ? "h-[3px]" : "h-1.5 rounded-full")}
    >
      <div
        className={classes(
          "h-full origin-left transition-transform duration-300",
          thin ? "bg-accent/60" : "rounded-full bg-accent",
        )}
        style={{ transform: `scaleX(${value / 100})` }}
      />
    </div>
  );
}

/** Empty state: what is missing, and what to do about it. */
export function Empty({
  icon: Icon,
  title,
  children,
}: {
  icon: LucideIcon;
  title: string;
  children?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center px-6 py-14 text-center">
      <span className="mb-4 flex size-12 items-center justify-center rounded-2xl bg-accent-soft text-accent">
        <Icon aria-hidden className="size-6" />
      </span>
      <h2 className="font-semibold text-base">{title}</h2>
      <div className="mt-1 max-w-sm text-balance text-soft">{children}</div>
    </div>
  );
}

/** Empty state without a connection. `what` is missing, such as `Tasks`. */
export const NotConnected = ({ what }: { what: string }) => (
  <Empty icon={CloudOff} title="Not connected">
    {what} will load once the server is reachable.
  </Empty>
);

interface MoreProps {
  readonly onClick: () => void;
  readonly busy?: boolean;
  readonly children?: string;
}

export const More = ({ onClick, busy = false, children = "Show more" }: MoreProps) => (
  <Button variant="quiet" busy={busy} className="mt-3 w-full" onClick={onClick}>
    {children}
  </Button>
);

/** Placeholder while loading. */
export function Skeleton({ rows = 3, label }: { rows?: number; label: string }) {
  return (
    <div role="status" aria-label={label} className="space-y-3">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are identical.
        <div key={row} className="h-20 animate-pulse rounded-2xl bg-sunken" />
      ))}
    </div>
  );
}

/**
 * Heading of a view. It takes the focus on navigation, so that screen readers announce it, unless
 * an input field has it.
 */
export function Heading({ children, actions }: { children: ReactNode; actions?: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (document.activeElement?.matches(":is(nav, main) :not(input), main")) {
      heading.current?.focus({ preventScroll: true });
    }
  }, []);
  return (
    <div className="mb-5 flex min-h-11 flex-wrap items-center gap-3">
      <h1
        ref={heading}
        tabIndex={-1}
        className="said min-w-0 flex-[1_1_5rem] font-semibold text-2xl leading-tight tracking-tight"
      >
        {children}
      </h1>
      {actions && <div className="flex max-w-full flex-wrap items-center gap-3">{actions}</div>}
    </div>
  );
}

interface BackLinkProps {
  readonly href: string;
  readonly onClick?: MouseEventHandler;
  readonly children: string;
}

/** Link above a heading to the list that the view belongs to. */
export const BackLink = ({ href, onClick, children }: BackLinkProps) => (
  <a
    href={href}
    onClick={onClick}
    className="mb-1 inline-flex min-h-6 max-w-full items-center gap-1 text-faint text-sm hover:underline"
  >
    <ChevronLeft aria-hidden className="size-4 shrink-0" />
    <bdi className="truncate">{children}</bdi>
  </a>
);

export function Problem({ children }: { children: ReactNode }) {
  return (
    <p role="alert" className="rounded-xl bg-danger-soft px-4 py-3 text-danger">
      {children}
    </p>
  );
}

/** Shows a form's error, unless it belongs to fields, which show their own. */
export function FormProblem({ fault }: { fault: Fault | null }) {
  if (!fault || Object.keys(fault.fields).length > 0) return null;
  return <Problem>{fault.message}</Problem>;
}

export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="card p-5">
      <h2 className="mb-4 font-semibold text-base">{title}</h2>
      {children}
    </section>
  );
}

export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-2.5">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-faint">{name}</dt>
          <dd className="said text-right">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
