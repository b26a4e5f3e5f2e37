/** The frame of each part of the dashboard. */

import type { ReactNode } from "react";
import type { Fault } from "../state/api.ts";
import { classes } from "../ui/classes.ts";
import { Problem, Skeleton } from "../ui/parts.tsx";

interface PanelProps<Told> {
  readonly title: string;
  /** Whose figures they are. */
  readonly of: "this process" | "all processes" | "both";
  readonly told: Told | null;
  readonly fault: Fault | undefined;
  readonly className?: string;
  readonly children: (told: Told) => ReactNode;
}

const WHOSE = {
  "this process": "this process",
  "all processes": "all processes",
  both: "this process and the store it shares",
} as const;

/** Shows what was told last, and above it why nothing newer was. */
export function Panel<Told>({ title, of, told, fault, className, children }: PanelProps<Told>) {
  return (
    <section aria-label={title} className={classes("card min-w-0 p-5", className)}>
      <div className="mb-4 flex flex-wrap items-baseline justify-between gap-x-3">
        <h2 className="font-semibold text-base">{title}</h2>
        <span className="text-faint text-sm">{WHOSE[of]}</span>
      </div>
      {fault && (
        <div className="mb-4">
          <Problem>{fault.message}</Problem>
        </div>
      )}
      {told === null
        ? !fault && <Skeleton rows={2} label={`Loading ${title.toLowerCase()}`} />
        : children(told)}
    </section>
  );
}
