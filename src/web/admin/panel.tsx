/** A panel of the dashboard. */

import type { ReactNode } from "react";
import type { Fault } from "../state/api.ts";
import { Problem, Skeleton } from "../ui/parts.tsx";

interface PanelProps<Data> {
  readonly title: string;
  /** Which processes the figures cover. */
  readonly of: "this process" | "all processes" | "both";
  readonly data: Data | null | undefined;
  readonly fault: Fault | undefined;
  readonly children: (data: Data) => ReactNode;
}

/** Shows the latest data and, above it, why the last refresh failed. */
export function Panel<Data>({ title, of, data, fault, children }: PanelProps<Data>) {
  return (
    <section aria-label={title} className="card min-w-0 p-5">
      <div className="mb-4 flex flex-wrap items-baseline justify-between gap-x-3">
        <h2 className="font-semibold text-base">{title}</h2>
        <span className="text-faint text-sm">
          {of === "both" ? "this process and the shared store" : of}
        </span>
      </div>
      {fault && (
        <div className="mb-4">
          <Problem>{fault.message}</Problem>
        </div>
      )}
      {data === null || data === undefined
        ? !fault && <Skeleton rows={2} label={`Loading ${title.toLowerCase()}`} />
        : children(data)}
    </section>
  );
}
