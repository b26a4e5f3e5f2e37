/** A panel of the dashboard. */

import type { ReactNode } from "react";
import type { Fault } from "../state/api.ts";
import { classes } from "../ui/classes.ts";
import { Problem, Skeleton } from "../ui/parts.tsx";

interface PanelProps<Data> {
  readonly title: string;
  /** Which processes the figures cover. */
  readonly of: "this process" | "all processes" | "both";
  readonly data: Data | null;
  readonly fault: Fault | undefined;
  readonly className?: string;
  readonly children: (data: Data) => ReactNode;
}

const WHOSE = {
  "this process": "this process",
  "all processes": "all processes",
  both: "this process and the shared store",
} as const;

/** Shows the latest data and, above it, why the last refresh failed. */
export function Panel<Data>({ title, of, data, fault, className, children }: PanelProps<Data>) {
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
      {data === null
        ? !fault && <Skeleton rows={2} label={`Loading ${title.toLowerCase()}`} />
        : children(data)}
    </section>
  );
}
